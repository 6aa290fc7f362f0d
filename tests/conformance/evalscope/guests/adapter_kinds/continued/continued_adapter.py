import numpy as np

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType


@Benchmark.register(
    name='continued',
    dataset_id='example/continued',
    model_adapter=OutputType.CONTINUOUS,
    output_types=[OutputType.CONTINUOUS],
    metric_list=['AverageAccuracy'],
    eval_split='test',
)
class ContinuedAdapter(DataAdapter):

    def load(self, **kwargs):
        return {'default': {'test': [{'context': 'The sky is ', 'ends': ['green', 'blue', 'red'], 'gold': 1}]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data([(input_d['context'], end) for end in input_d['ends']] + [('Else', ' blue')])

    def get_gold_answer(self, input_d):
        return input_d['gold']

    def parse_pred_result(self, result, raw_input_d=None, eval_type='checkpoint'):
        assert isinstance(result, list) and len(result) == 4
        return int(np.argmax(result))

    def match(self, gold, pred):
        return gold == pred
