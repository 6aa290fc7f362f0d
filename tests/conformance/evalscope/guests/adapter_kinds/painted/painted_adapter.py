from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType


@Benchmark.register(
    name='painted',
    dataset_id='example/painted',
    model_adapter=OutputType.IMAGE_GENERATION,
    output_types=[OutputType.IMAGE_GENERATION],
    metric_list=['Width'],
    eval_split='test',
)
class PaintedAdapter(DataAdapter):

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        metric_registry.register(Metric(name='Width', object=mean))

    def load(self, **kwargs):
        return {'default': {'test': [{'prompt': 'a cat', 'id': 7}]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d['prompt'], id=input_d['id'])

    def get_gold_answer(self, input_d):
        return input_d['prompt']

    def match(self, gold, pred):
        from PIL import Image
        with Image.open(pred) as picture:
            return float(picture.width)
