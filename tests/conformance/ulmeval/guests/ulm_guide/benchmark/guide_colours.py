from .image_base import ImageBaseDataset
from .text_base import TextBaseDataset
from ..smp import *

COLOURS = dict(red=(255, 0, 0), orange=(255, 165, 0), blue=(0, 0, 255), violet=(238, 130, 238), green=(0, 128, 0))


class GuideColoursDataset(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'GuideColours': 'https://example.org/data/GuideColours.tsv'}
    DATASET_MD5 = {'GuideColours': 'e98bf91d6e635345e3e2c9d9b0c3bb35'}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        question = line['prompt']
        msgs = []
        msgs.append(dict(type='text', value=question))
        return msgs

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        hits = defaultdict(list)
        for _, item in data.iterrows():
            for image in item['prediction']:
                hit = image.convert('RGB').getpixel((0, 0)) == COLOURS[item['answer']]
                hits[item['category']].append(hit)
        result = dict(category=[], accuracy=[], images=[])
        for category in sorted(hits):
            result['category'].append(category)
            result['accuracy'].append(np.mean(hits[category]) * 100)
            result['images'].append(len(hits[category]))
        result = pd.DataFrame(result)
        dump(result, eval_file.replace('.pkl', '_acc.csv'))
        return result


class GuideEditsDataset(ImageBaseDataset):
    TYPE = 'IT2I'
    DATASET_URL = {'GuideEdits': 'https://example.org/data/GuideEdits.tsv'}
    DATASET_MD5 = {'GuideEdits': 'e3946b7c3f748d75a24aff14dc62aa3f'}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        IMAGE_PTH = self.dump_image(line)[0]
        prompt = line['prompt']
        return [dict(type='image', value=IMAGE_PTH), dict(type='text', value=prompt)]

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        painted, kept = [], []
        for _, item in data.iterrows():
            source = np.array(decode_base64_to_image(item['image']))
            for image in item['prediction']:
                pixels = np.array(image.convert('RGB'))
                half = pixels.shape[1] // 2
                painted.append((pixels[:, :half] == COLOURS[item['answer']]).all())
                kept.append((pixels[:, half:] == source[:, half:]).all())
        return dict(painted=np.mean(painted), kept=np.mean(kept), rows=np.int64(len(data)))


class GuideReusedDataset(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'GuideReused': 'https://example.org/data/GuideReused.tsv'}
    DATASET_MD5 = {'GuideReused': None}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        return {'rows': len(data), 'images': sum(len(x) for x in data['prediction'])}
