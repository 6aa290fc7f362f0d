from evalscope.benchmarks import Benchmark, DataAdapter


@Benchmark.register(
    name='voted',
    dataset_id='example/voted',
    metric_list=['AverageAccuracy', 'Pass@2'],
    eval_split='test',
    filters={'remove_until': '</think>'},
)
class VotedAdapter(DataAdapter):

    def load(self, **kwargs):
        return {'default': {'test': [{'q': 'a'}, {'q': 'b'}]}}

    def gen_prompt(self, input_d, **kwargs):
        return self.gen_prompt_data(input_d['q'])

    def get_gold_answer(self, input_d):
        return 'yes'

    def match(self, gold, pred):
        return exact_match(gold, pred)


@Benchmark.register(
    name='reviewed',
    dataset_id='example/reviewed',
    metric_list=['unused'],
    eval_split='test',
)
class ReviewedAdapter(VotedAdapter):
    """Reads whole reviews, and names its metrics when it computes them."""

    def match(self, gold, pred):
        return {'right': exact_match(gold, pred), 'length': float(len(pred))}

    def compute_metric(self, review_res_list, **kwargs):
        seen = kwargs['reviews_list']
        assert [r['raw_input']['q'] for r in seen] == ['a', 'b'] and [r['index'] for r in seen] == [0, 1]
        assert all(r['choices'][0]['review']['gold'] == 'yes' for r in seen)
        assert all(r['choices'][0]['message']['content'] == 'yes' for r in seen)
        values = super().compute_dict_metric(review_res_list, **kwargs)
        return [{'metric_name': k, 'score': mean(v), 'num': len(v)} for k, v in values.items()]
