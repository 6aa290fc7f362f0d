"""``ImageEditAdapter``: edited images, drawn by the model or read from files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polymeter.interop.evalscope.v1.adapters.text_to_image import Text2ImageAdapter
from polymeter.interop.evalscope.v1.constants import FileConstants
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.utils.files import jsonl_to_list


class ImageEditAdapter(Text2ImageAdapter):
    """A benchmark of edited images. ``extra_params`` may name a file of images that exist: ``local_file``, and its keys
    ``id_key`` and ``image_key``.

    Attributes:
        local_file: The file, lines of JSON.
        id_key: The key of an image's id.
        image_key: The key of its path, relative to the file.
        local_data: The file's records by id.

    Raises:
        ValueError: if a record lacks a key.
        FileNotFoundError: if an image does not exist.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.local_file: str | None = self.extra_params.get("local_file")
        self.id_key: str = self.extra_params.get("id_key", FileConstants.ID)
        self.image_key: str = self.extra_params.get("image_key", FileConstants.IMAGE_PATH)
        self.local_data = self.load_local_file()

    def load_local_file(self) -> dict[Any, dict[str, Any]] | None:
        """Return the records of the file by id; ``None`` if there is no file."""
        if not self.local_file:
            return None
        found = {}
        for record in jsonl_to_list(self.local_file):
            lacking = next((key for key in (self.image_key, self.id_key) if key not in record), None)
            if lacking is not None:
                raise ValueError(f"A record of {self.local_file} has no {lacking!r}: {record}")
            image = Path(self.local_file).parent / record[self.image_key]
            if not image.exists():
                raise FileNotFoundError(f"{self.local_file} names an image that does not exist: {image}")
            found[record[self.id_key]] = record
        return found

    def get_image_path_from_id(self, image_id: Any) -> str | None:
        """Return the path of an image, from where the file is; ``None`` if the file has no such image."""
        record = (self.local_data or {}).get(image_id)
        return str(Path(self.local_file or "").parent / record[self.image_key]) if record else None

    def _post_process_samples(self) -> None:
        """Make the prompts, and note the paths of images that exist."""
        super()._post_process_samples()
        for subset in self.test_dataset.keys():  # noqa: SIM118  (a dataset by subset is no mapping)
            for sample in self.test_dataset[subset]:
                path = self.get_image_path_from_id(sample.metadata.get(FileConstants.ID))
                if path:
                    sample.metadata[FileConstants.IMAGE_PATH] = path

    def sample_filter(self, sample: Sample) -> bool:
        """Return whether a sample is kept: with a file, if that has its image."""
        number = sample.metadata.get(FileConstants.ID)
        return not self.local_data or bool(number and self.get_image_path_from_id(number))
