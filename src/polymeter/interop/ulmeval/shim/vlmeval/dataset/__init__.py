"""Stand-in for ``vlmeval.dataset``: the base classes and those that come with Polymeter, and datasets by name."""

from __future__ import annotations

from typing import Any

from polymeter.interop.ulmeval.shim.ulmeval.dataset._known import (
    DATASET_CLASSES,
    DATASET_MODALITY,
    DATASET_TYPE,
    IMAGE_DATASET,
    TEXT_DATASET,
    build_dataset,
    class_named,
    infer_dataset_basename,
    supported_datasets,
)
from polymeter.interop.ulmeval.shim.ulmeval.dataset.image_base import ImageBaseDataset, img_root_map
from polymeter.interop.ulmeval.shim.ulmeval.dataset.text_base import TextBaseDataset
from polymeter.interop.ulmeval.shim.vlmeval.dataset.image_mcq import CustomMCQDataset, ImageMCQDataset
from polymeter.interop.ulmeval.shim.vlmeval.dataset.image_vqa import CustomVQADataset, ImageVQADataset
from polymeter.interop.ulmeval.shim.vlmeval.dataset.image_yorn import ImageYORNDataset
from polymeter.interop.ulmeval.shim.vlmeval.dataset.text_mcq import CustomTextMCQDataset, TextMCQDataset
from polymeter.interop.ulmeval.shim.vlmeval.dataset.utils import (
    DEBUG_MESSAGE,
    build_judge,
    extract_answer_from_item,
    prefetch_answer,
)
from polymeter.interop.ulmeval.shim.vlmeval.dataset.video_base import VideoBaseDataset

__all__ = [
    "DATASET_CLASSES",
    "DATASET_MODALITY",
    "DATASET_TYPE",
    "DEBUG_MESSAGE",
    "IMAGE_DATASET",
    "SUPPORTED_DATASETS",
    "TEXT_DATASET",
    "CustomMCQDataset",
    "CustomTextMCQDataset",
    "CustomVQADataset",
    "ImageBaseDataset",
    "ImageMCQDataset",
    "ImageVQADataset",
    "ImageYORNDataset",
    "TextBaseDataset",
    "TextMCQDataset",
    "VideoBaseDataset",
    "build_dataset",
    "build_judge",
    "extract_answer_from_item",
    "img_root_map",
    "infer_dataset_basename",
    "prefetch_answer",
]


def __getattr__(name: str) -> Any:
    if name == "SUPPORTED_DATASETS":  # asked for anew each time: files of the user's may have come
        return supported_datasets()
    found = None if name.startswith("_") else class_named(name)
    if found is not None:
        return found
    raise AttributeError(f"module 'vlmeval.dataset' has no attribute {name!r}")
