from .image_base import ImageBaseDataset
from .text_base import TextBaseDataset
from ..smp import *

CHANNELS = dict(red=0, green=1, blue=2)


class AnyDrawnDataset(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'AnyDrawn': 'AnyDrawn.tsv'}
    DATASET_MD5 = {'AnyDrawn': None}
    METRICS = {'has_colour': True}

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        pixels = np.asarray(prediction[0].convert('RGB')).astype(int)
        own = pixels[..., CHANNELS[line['colour']]]
        rest = np.delete(pixels, CHANNELS[line['colour']], axis=-1).max(axis=-1)
        share = (own > rest + 60).mean()
        return dict(has_colour=share > 0.01, explanation=f'{share:.0%} of the picture')


class AnyAskedDataset(ImageBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {'AnyAsked': 'AnyAsked.tsv'}
    DATASET_MD5 = {'AnyAsked': None}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        right = [str(p).strip().lower() == str(a) for p, a in zip(data['prediction'], data['answer'])]
        return dict(accuracy=np.mean(right) * 100, rows=len(data))
