"""The list of a copy of VLMEvalKit with one class and one collection."""

from vlmeval.smp import load

from .image_base import ImageBaseDataset
from .parts import Part


class ConcatDataset(ImageBaseDataset):
    DATASET_SETS = {"Whole": ["Part_a", "Part_b"]}

    @classmethod
    def supported_datasets(cls):
        return list(cls.DATASET_SETS)


DATASET_CLASSES = [Part, ConcatDataset]
