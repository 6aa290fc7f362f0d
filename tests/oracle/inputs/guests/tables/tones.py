from .text_base import TextBaseDataset
from ..smp import *


class Tones(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'tones': ''}
    DATASET_MD5 = {'tones': None}
    METRICS = {'dark': False}

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        tones = [np.asarray(picture.convert('L')).mean() for picture in prediction]
        return {'dark': float(np.mean([tone < 96 for tone in tones])), 'explanation': f'{len(tones)} tones'}
