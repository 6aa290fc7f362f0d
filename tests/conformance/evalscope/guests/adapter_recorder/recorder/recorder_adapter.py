import json

from evalscope.benchmarks import Benchmark, DataAdapter

RECORDED = [
    'load', 'load_from_disk', 'gen_prompts', 'gen_prompt', 'get_gold_answer', 'parse_pred_result',
    'llm_parse_pred_result', 'match', 'llm_match', 'compute_metric', 'gen_report', 'post_process_report'
]
DATA = {
    'one': {'dev': [{'q': 'shot', 'a': 'x'}], 'test': [{'q': f'one {i}', 'a': str(i)} for i in range(3)]},
    'two': {'dev': [{'q': 'shot', 'a': 'y'}], 'test': [{'q': f'two {i}', 'a': str(i)} for i in range(2)]},
}


@Benchmark.register(
    name='recorder',
    dataset_id='example/recorder',
    subset_list=['one', 'two'],
    metric_list=['AverageAccuracy'],
    few_shot_num=1,
    train_split='dev',
    eval_split='test',
)
class RecorderAdapter(DataAdapter):
    """Writes down how each of its methods is called: name, number of positionals, names of keywords, and values."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.log = kwargs.get('extra_params', {}).get('log')
        self.records = {}

    def _wrote(self, name, args, kwargs):
        with open(self.log, 'a', encoding='utf-8') as f:
            f.write(json.dumps({'name': name, 'n': len(args), 'keys': list(kwargs), 'args': repr((args, kwargs))}) + '\n')

    def load(self, *args, **kwargs):
        self._wrote('load', args, kwargs)
        return super().load(*args, **kwargs)

    def load_from_disk(self, *args, **kwargs):
        self._wrote('load_from_disk', args, kwargs)
        return DATA

    def gen_prompts(self, *args, **kwargs):
        self._wrote('gen_prompts', args, kwargs)
        return super().gen_prompts(*args, **kwargs)

    def gen_prompt(self, *args, **kwargs):
        self._wrote('gen_prompt', args, kwargs)
        kwargs['input_d']['changed'] = True
        self.records[kwargs['input_d']['q']] = id(kwargs['input_d'])
        return self.gen_prompt_data(kwargs['input_d']['q'])

    def get_gold_answer(self, *args, **kwargs):
        self._wrote('get_gold_answer', args, kwargs)
        assert args[0]['changed'] and self.records[args[0]['q']] == id(args[0])
        return args[0]['a']

    def parse_pred_result(self, *args, **kwargs):
        self._wrote('parse_pred_result', args, kwargs)
        assert self.records[args[1]['q']] == id(args[1])
        return args[0]

    def llm_parse_pred_result(self, *args, **kwargs):
        self._wrote('llm_parse_pred_result', args, kwargs)
        return kwargs['result']

    def match(self, *args, **kwargs):
        self._wrote('match', args, kwargs)
        return float(args[0] == args[1])

    def llm_match(self, *args, **kwargs):
        self._wrote('llm_match', args, kwargs)
        return super().llm_match(*args, **kwargs)

    def compute_metric(self, *args, **kwargs):
        self._wrote('compute_metric', args, kwargs)
        return super().compute_metric(*args, **kwargs)

    def gen_report(self, *args, **kwargs):
        self._wrote('gen_report', args, kwargs)
        return super().gen_report(*args, **kwargs)

    def post_process_report(self, *args, **kwargs):
        self._wrote('post_process_report', args, kwargs)
        raise RuntimeError('no chart today')
