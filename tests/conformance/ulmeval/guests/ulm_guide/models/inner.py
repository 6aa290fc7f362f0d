from PIL import Image

from .base import BaseModel

PAINTS = dict(red=(255, 0, 0), blue=(0, 0, 255), green=(0, 128, 0), orange=(250, 160, 0))


class Inner(BaseModel):
    """Knows red, blue and green, takes a wrong orange, and paints what it does not know grey."""

    def generate_inner(self, msgs, dataset=None):
        images = [x['value'] for x in msgs if x['type'] == 'image']
        prompt = '\n'.join(x['value'] for x in msgs if x['type'] == 'text')
        paint = next((PAINTS[word] for word in prompt.split() if word in PAINTS), (128, 128, 128))
        if images:
            image = Image.open(images[0]).convert('RGB')
            image.paste(paint, (0, 0, image.width // 2, image.height))
            return image
        return Image.new('RGB', (16, 16), paint)
