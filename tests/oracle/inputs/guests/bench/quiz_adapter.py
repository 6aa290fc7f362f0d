import json
import os

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType
from evalscope.metrics import exact_match


class Base(DataAdapter):
    def load(self, dataset_name_or_path=None, subset_list=None, work_dir=None, **kwargs):
        here, found = os.path.dirname(os.path.abspath(__file__)), {}
        for subset in self.subset_list:
            with open(os.path.join(here, f'{subset}.json')) as file:
                found[subset] = {'test': json.load(file)}
        return found

    def get_gold_answer(self, input_d):
        return str(input_d['n'] * 2)

    def match(self, gold, pred):
        return exact_match(gold, pred)


@Benchmark.register(
    name='quiz',
    pretty_name='Quiz',
    tags=['Knowledge'],
    description='Doubles of numbers of countries.',
    dataset_id='example/quiz',
    model_adapter=OutputType.GENERATION,
    subset_list=['near', 'far'],
    metric_list=['AverageAccuracy'],
    eval_split='test',
    prompt_template='{country} stands for {n} + {n}: how much?',
)
class QuizAdapter(Base):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(self.prompt_template.format(**input_d))

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result.rpartition(' ')[2]


@Benchmark.register(
    name='quiz_choice',
    pretty_name='Quiz with choices',
    tags=['Knowledge'],
    description='The same, by log-likelihood.',
    dataset_id='example/quiz',
    model_adapter=OutputType.MULTIPLE_CHOICE,
    output_types=[OutputType.MULTIPLE_CHOICE],
    subset_list=['near', 'far'],
    metric_list=['AverageAccuracy'],
    eval_split='test',
    prompt_template='{country} stands for {n} + {n}: A or B?',
)
class QuizChoiceAdapter(Base):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(self.prompt_template.format(**input_d), choices=['A', 'B'])

    def get_gold_answer(self, input_d):
        return 'AB'[input_d['n'] % 2]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result
