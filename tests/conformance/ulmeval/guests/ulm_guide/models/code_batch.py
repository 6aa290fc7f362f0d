from PIL import Image

from ..smp import *
from .base import BaseModel


class CodeBatch(BaseModel):
    """Has a constructor that calls nobody's."""

    INTERLEAVE = False

    def __init__(self, paints='red,blue,green', **kwargs):
        self.paints = paints.split(',')

    def batch_generate_inner(self, message, dataset, num_generations):
        prompt, image = self.message_to_promptimg(message, dataset=dataset)
        paint = next((x for x in self.paints if listinstr([x], prompt)), 'gray')
        return [Image.new('RGB', (16, 16), paint) for _ in range(num_generations)]
