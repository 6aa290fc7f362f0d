from polymeter.judge import LLMJudge

from .text_base import TextBaseDataset
from ..smp import *


class Portraits(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'portraits': ''}
    DATASET_MD5 = {'portraits': None}
    METRICS = {'liked': True}

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        judge = LLMJudge()
        colours = [image.convert('RGB').getpixel((0, 0)) for image in prediction]
        return {'liked': judge.get_score(judge(judge.build_prompt(str(colours), line['prompt'], 'like?')))}
