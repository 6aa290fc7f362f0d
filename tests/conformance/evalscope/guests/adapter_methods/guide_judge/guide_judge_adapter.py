@Benchmark.register(
    name='guide_judge',
    dataset_id='example/guide_judge',
    subset_list=['cats', 'dogs'],
    metric_list=['AverageAccuracy'],
    few_shot_num=1,
    train_split='dev',
    eval_split='test',
    prompt_template='{query}',
)
class GuideJudgeAdapter(DataAdapter):

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        shots = ''.join(f"{d['question']} {d['answer']}\n" for d in few_shot_list)
        return self.gen_prompt_data(self.prompt_template.format(query=shots + input_d['question']))

    def get_gold_answer(self, input_d):
        return input_d['answer']

    def match(self, gold, pred):
        return exact_match(gold, pred)

    def llm_match(self, gold: Any, pred: Any, judge: Optional[LLMJudge] = None, **kwargs) -> float:
        """
        Use LLM as a judge to evaluate predicted answers
    
        Args:
            gold: Standard answer
            pred: Predicted answer
            judge: LLM judge instance
    
        Returns:
            Scoring result, usually a floating number between 0 and 1
        """
        # Default judge handling
        if judge is None:
            return 0
    
        # Build judgement prompt and get score
        prompt = judge.build_prompt(pred, gold, kwargs.get('raw_input', {}).get('question'))
        score = judge(prompt)
        return judge.get_score(score)

    def load_from_disk(self, dataset_path, subset_list, work_dir, **kwargs) -> dict:
        """
        Load dataset from local disk
    
        Args:
            dataset_path: Local dataset path
            subset_list: Subset list
            work_dir: Working directory
    
        Returns:
            Data dictionary, format: {'subset_name': {'train': train_dataset, 'test': test_dataset}}
        """
        # Example: Load data from local JSON files
        import json
        import os
    
        data_dict = {}
        for subset in subset_list:
            data_dict[subset] = {}
    
            # Load training set (few-shot examples)
            if self.train_split:
                train_path = os.path.join(dataset_path, f"{subset}_{self.train_split}.json")
                if os.path.exists(train_path):
                    with open(train_path, 'r', encoding='utf-8') as f:
                        data_dict[subset][self.train_split] = json.load(f)
    
            # Load test set
            if self.eval_split:
                test_path = os.path.join(dataset_path, f"{subset}_{self.eval_split}.json")
                if os.path.exists(test_path):
                    with open(test_path, 'r', encoding='utf-8') as f:
                        data_dict[subset][self.eval_split] = json.load(f)
    
        return data_dict
