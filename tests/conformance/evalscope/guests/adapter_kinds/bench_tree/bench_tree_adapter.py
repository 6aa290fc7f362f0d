from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.benchmarks.bench_tree.helper import GOLD
from evalscope.benchmarks.utils import load_file_with_extension

from .utils import PREFIX


@Benchmark.register(name='bench_tree', dataset_id='example/tree', metric_list=['AverageAccuracy'], eval_split='test')
class BenchTreeAdapter(DataAdapter):

    def load(self, **kwargs):
        from evalscope.benchmarks.bench_tree import helper
        assert helper.GOLD == GOLD and callable(load_file_with_extension)
        return {'default': {'test': [{'q': PREFIX}]}}

    def gen_prompt(self, input_d, **kwargs):
        return self.gen_prompt_data(input_d['q'])

    def get_gold_answer(self, input_d):
        return GOLD

    def match(self, gold, pred):
        return exact_match(gold, pred)
