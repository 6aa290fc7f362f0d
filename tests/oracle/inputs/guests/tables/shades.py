from .text_base import TextBaseDataset
from ..smp import *


class Shades(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'shades': ''}
    DATASET_MD5 = {'shades': None}
    NUM_GENERATIONS = 2

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [dict(type='text', value=line['prompt'])]

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        shades = [np.asarray(images[0])[0, 0, 0] for images in data['prediction']]
        dump(pd.DataFrame({'index': data['index'], 'shade': shades}), eval_file.replace('.pkl', '_shades.csv'))
        return {'shade': np.mean(shades), 'images': sum(map(len, data['prediction']))}
