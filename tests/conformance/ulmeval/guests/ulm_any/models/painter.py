from PIL import Image

from .base import BaseModel

ASKED = []


class Painter(BaseModel):
    """Paints a picture of the colour in the prompt."""

    def generate_inner(self, message, dataset=None):
        ASKED.append(dataset)
        colours = [x for x in message[-1]['value'].split() if x in ('red', 'green', 'blue')]
        return Image.new('RGB', (24, 12), colours[0] if colours else 'gray')
