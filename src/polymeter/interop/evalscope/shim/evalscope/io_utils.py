"""Reading and writing small files in the formats that adapters use."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.text.yaml_text import read_yaml

_STAMP = re.compile(r"\d{8}_\d{6}")


class OutputsStructure:
    """The folders in a work folder; each is made at first access.

    Args:
        outputs_dir: The work folder.
        is_make: Whether to make folders.
    """

    LOGS_DIR = "logs"
    PREDICTIONS_DIR = "predictions"
    REVIEWS_DIR = "reviews"
    REPORTS_DIR = "reports"
    CONFIGS_DIR = "configs"

    def __init__(self, outputs_dir: str, is_make: bool = True) -> None:
        self.outputs_dir = outputs_dir
        self.is_make = is_make

    @property
    def logs_dir(self) -> str:
        """Logs."""
        return self._folder(self.LOGS_DIR)

    @property
    def predictions_dir(self) -> str:
        """Answers of models."""
        return self._folder(self.PREDICTIONS_DIR)

    @property
    def reviews_dir(self) -> str:
        """Scored answers."""
        return self._folder(self.REVIEWS_DIR)

    @property
    def reports_dir(self) -> str:
        """Reports."""
        return self._folder(self.REPORTS_DIR)

    @property
    def configs_dir(self) -> str:
        """Configurations."""
        return self._folder(self.CONFIGS_DIR)

    def _folder(self, name: str) -> str:
        folder = Path(self.outputs_dir) / name
        if self.is_make:
            folder.mkdir(parents=True, exist_ok=True)
        return str(folder)


def jsonl_to_list(jsonl_file: str | Path, skip_invalid: bool = False) -> list[Any]:
    """The values of a file with one JSON value in each line; empty lines are skipped.

    Args:
        jsonl_file: The file.
        skip_invalid: Skip lines that are no JSON objects, too.

    Raises:
        json.JSONDecodeError: if a line is no JSON.
    """
    text = Path(jsonl_file).read_text(encoding="utf-8-sig")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not skip_invalid:
        return [json.loads(line) for line in lines]
    return [value for line in lines if isinstance(value := _value(line), dict)]


def dump_jsonl_data(data_list: Any, jsonl_file: str | Path, dump_mode: str = "overwrite") -> None:
    """Write values, one to a line.

    Args:
        data_list: A list of values, or a single value.
        jsonl_file: The file.
        dump_mode: ``overwrite`` or ``append``.
    """
    path = Path(jsonl_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if dump_mode == "append" else "w", encoding="utf-8") as file:
        for item in data_list if isinstance(data_list, list) else [data_list]:
            file.write(json.dumps(item, ensure_ascii=False) + "\n")


def csv_to_list(csv_file: str | Path) -> list[dict[str, str]]:
    """The rows of a CSV file, with the names in its first line as keys."""
    with Path(csv_file).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def csv_to_jsonl(csv_file: str | Path, jsonl_file: str | Path) -> None:
    """Write the rows of a CSV file as JSON lines."""
    dump_jsonl_data(list(csv_to_list(csv_file)), jsonl_file)


def jsonl_to_csv(jsonl_file: str | Path, csv_file: str | Path) -> None:
    """Write JSON lines as a CSV file, with all their names as its columns, in the order in which they first occur."""
    records = jsonl_to_list(jsonl_file)
    if not records:
        return
    with Path(csv_file).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for record in records for name in record)))
        writer.writeheader()
        writer.writerows(records)


def yaml_to_dict(yaml_file: str | Path) -> Any:
    """The content of a YAML file."""
    return read_yaml(Path(yaml_file))


def dict_to_yaml(d: Mapping[str, Any], yaml_file: str | Path) -> None:
    """Write a YAML file."""
    import yaml

    text = yaml.safe_dump(dict(d), allow_unicode=True, default_flow_style=False)
    Path(yaml_file).write_text(text, encoding="utf-8")


def json_to_dict(json_file: str | Path) -> Any:
    """The content of a JSON file."""
    return json.loads(Path(json_file).read_text(encoding="utf-8"))


def dict_to_json(d: Mapping[str, Any], json_file: str | Path) -> None:
    """Write a JSON file."""
    Path(json_file).write_text(json.dumps(d, indent=4, ensure_ascii=False), encoding="utf-8")


def get_latest_folder_path(work_dir: str | Path) -> str | None:
    """The subfolder that is named for the latest time (``20250131_235959``); ``None`` if none is."""
    names = [path.name for path in Path(work_dir).iterdir() if path.is_dir() and _STAMP.fullmatch(path.name)]
    return str(Path(work_dir) / max(names)) if names else None


def gen_hash(name: str, bits: int = 32) -> str:
    """The first digits of a text's MD5: a label, not a protection."""
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()[:bits]


def get_valid_list(input_list: Iterable[Any], candidate_list: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Split values into those that are among the candidates and those that are not."""
    items = list(input_list)
    return [item for item in items if item in candidate_list], [item for item in items if item not in candidate_list]


def _value(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
