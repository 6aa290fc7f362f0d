@Benchmark.register(
    name='guide_load',
    dataset_id='example/guide_load',
    subset_list=['cats', 'dogs'],
    metric_list=['AverageAccuracy'],
    few_shot_num=1,
    train_split='dev',
    eval_split='test',
    prompt_template='{query}',
)
class GuideLoadAdapter(DataAdapter):

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        shots = ''.join(f"{d['question']} {d['answer']}\n" for d in few_shot_list)
        return self.gen_prompt_data(self.prompt_template.format(query=shots + input_d['question']))

    def get_gold_answer(self, input_d):
        return input_d['answer']

    def match(self, gold, pred):
        return exact_match(gold, pred)

    def load(self, dataset_name_or_path: str = None, subset_list: list = None, work_dir: Optional[str] = DEFAULT_DATASET_CACHE_DIR, **kwargs) -> dict:
        """
        Custom dataset loading logic
    
        Args:
            dataset_name_or_path: Dataset path or name
            subset_list: Subset list
            work_dir: Working directory
    
        Returns:
            Data dictionary, format: {'subset_name': {'train': train_dataset, 'test': test_dataset}}
        """
        # Implement custom data loading and processing logic here
        # For example: loading data from local files, filtering data, reorganizing data structure, etc.
    
        # Call parent method to load base data
        data_dict = super().load(dataset_name_or_path, subset_list, work_dir, **kwargs)
    
        # Perform custom processing, such as subset division based on specific fields
        return self.reformat_subset(data_dict, subset_key='your_category_field')
