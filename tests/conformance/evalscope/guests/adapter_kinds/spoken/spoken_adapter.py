from evalscope.benchmarks import Benchmark, DataAdapter

PIXEL = (
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')


@Benchmark.register(
    name='spoken',
    dataset_id='example/spoken',
    metric_list=['AverageAccuracy'],
    eval_split='test',
)
class SpokenAdapter(DataAdapter):

    def load(self, **kwargs):
        return {'default': {'test': [{'q': 'What is shown?'}]}}

    def gen_prompt(self, input_d, **kwargs):
        content = [{'type': 'text', 'text': input_d['q']},
                   {'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,' + PIXEL}}]
        return self.gen_prompt_data('', messages=[{'role': 'system', 'content': 'Look.'},
                                                  {'role': 'user', 'content': content}])

    def get_gold_answer(self, input_d):
        return input_d

    def match(self, gold, pred):
        return 1.0
