from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType
from PIL import Image


@Benchmark.register(
    name='drawn',
    dataset_id='example/drawn',
    model_adapter=OutputType.IMAGE_GENERATION,
    output_types=[OutputType.IMAGE_GENERATION],
    metric_list=['AverageAccuracy'],
    eval_split='test',
)
class DrawnAdapter(DataAdapter):
    def load(self, **kwargs):
        return {'default': {'test': [{'prompt': f'picture number {n}'} for n in range(12)]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d['prompt'])

    def get_gold_answer(self, input_d):
        return input_d['prompt']

    def match(self, gold, pred):
        with Image.open(pred) as picture:
            return picture.convert('RGB').getpixel((0, 0))[0] / 255
