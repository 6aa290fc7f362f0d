from PIL import Image

from .base import BaseModel

NAMES = {(255, 0, 0): 'red', (0, 0, 255): 'blue', (0, 128, 0): 'green'}
ASKED = []


class Reader(BaseModel):
    """Answers with the name of a picture's colour."""
    INTERLEAVE = False

    def generate_inner(self, message, dataset=None):
        ASKED.append(dataset)
        prompt, image = self.message_to_promptimg(message, dataset=dataset)
        with Image.open(image) as picture:
            return NAMES[picture.convert('RGB').getpixel((0, 0))]


class OwnWords(Reader):
    def use_custom_prompt(self, dataset):
        return dataset == 'colours'

    def build_prompt(self, line, dataset=None):
        paths = self.dump_image(line, dataset)
        return [dict(type='image', value=p) for p in paths] + [dict(type='text', value='In my own words: ' + line['question'])]
