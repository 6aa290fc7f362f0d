import random

from PIL import Image

from ulmeval.ulm.base import BaseModel

PAINTS = dict(red=(255, 0, 0), blue=(0, 0, 255), green=(0, 128, 0), orange=(250, 160, 0))


class GuideBatch(BaseModel):
    """Forgets the colour of every second picture."""

    def batch_generation_inner(self, msgs, dataset, num_generations):
        prompt = '\n'.join(x['value'] for x in msgs if x['type'] == 'text')
        paint = next((PAINTS[word] for word in prompt.split() if word in PAINTS), (128, 128, 128))
        pictures = [Image.new('RGB', (16, 16), (0, 0, 0) if j % 2 else paint) for j in range(num_generations)]
        for picture in pictures:
            picture.putpixel((15, 15), (random.randrange(256), 0, 0))
        return pictures
