"""``ulmeval.smp.file``: reading and writing tables, the folder of data, paths.

Pickles are read only as data, downloads are verified and bounded, and nothing is passed to a shell.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.media.sources import is_elsewhere, mime_of_suffix, on_disk
from polymeter.data import formats
from polymeter.data.base64_images import decode_base64_to_image_file
from polymeter.data.fetching.fetch import download, fetched_image, md5_of
from polymeter.data.formats import dump
from polymeter.data.tables.stored_text import in_memory
from polymeter.tasks.table.files.cells import read_images
from polymeter.tasks.table.files.image_files import write_images
from polymeter.tasks.table.files.roots import LMUDataRoot, image_root, is_offline_here

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "INFER_FAIL_MSG",
    "RUN_STATUS_NAME",
    "HFCacheRoot",
    "LMUDataRoot",
    "MMBenchOfficialServer",
    "NumpyEncoder",
    "download_file",
    "dump",
    "fetch_aux_files",
    "file_size",
    "get_eval_file_format",
    "get_file_extension",
    "get_intermediate_file_path",
    "get_pred_file_format",
    "get_pred_file_path",
    "last_modified",
    "load",
    "localize_df",
    "ls",
    "md5",
    "mrlines",
    "mwlines",
    "parquet_to_tsv",
    "parse_file",
    "prepare_reuse_files",
]

INFER_FAIL_MSG = "Failed to obtain answer"
RUN_STATUS_NAME = "status.json"
_UNITS = {"GB": 2**30, "MB": 2**20, "KB": 2**10}
_FORMATS = {
    ("_tmp", "_response", "_processed"): "pkl",
    ("_rating", "_config", "_meta"): "json",
}


class NumpyEncoder(json.JSONEncoder):
    """Writes NumPy's numbers and arrays as JSON."""

    def default(self, o: Any) -> Any:
        """The JSON form of a value that JSON does not know."""
        import numpy as np

        if isinstance(o, np.ndarray):
            return o.tolist()
        if isinstance(o, np.complexfloating):
            return {"real": o.real.item(), "imag": o.imag.item()}
        if isinstance(o, np.void):
            return None
        return o.item() if isinstance(o, np.generic) else super().default(o)


def load(f: str | os.PathLike[str], fmt: str | None = None) -> Any:
    """The content of a file; see ``polymeter.data.formats.load``. A URL is fetched once, into the data folder."""
    return formats.load(os.fspath(f), fmt, folder=Path(LMUDataRoot()) / "files")


def download_file(url: str, filename: str | None = None) -> str:
    """Fetch a file and return its path.

    Raises:
        DataError: if it cannot be fetched.
    """
    target = filename or url.rsplit("/", 1)[-1]
    download(url, Path(target), md5=None, is_offline=is_offline_here())
    return target


def md5(s: str) -> str:
    """The MD5 of a file, or of the text itself if there is no such file."""
    return md5_of(Path(s)) if os.path.exists(s) else hashlib.md5(s.encode(), usedforsecurity=False).hexdigest()


def file_size(f: str, unit: str = "GB") -> float:
    """The size of a file in ``GB``, ``MB`` or ``KB``, as powers of 1,024."""
    return os.stat(f).st_size / _UNITS[unit]


def parse_file(s: str) -> tuple[str | None, str]:
    """The MIME type and file of a message's text: ``('url', text)`` for a URL of unknown type, ``(None, text)`` for
    plain text, also if it is the name of a folder.

    Raises:
        DataError: if the URL of an image cannot be fetched.
    """
    if _is_file(s):
        return _mime(s) or "unknown", s
    files = Path(LMUDataRoot()) / "files"
    if s.startswith("data:image/"):
        target = files / f"{md5(s)}.png"
        if not target.is_file():
            decode_base64_to_image_file(s.partition("base64,")[2], str(target))
        return "image/png", str(target)
    if not is_elsewhere(s):
        return None, s
    mime = _mime(s)
    return (
        (mime, str(fetched_image(s, files, is_offline=is_offline_here())))
        if mime and mime.startswith("image/")
        else ("url", s)
    )


def ls(dirname: str = ".", match: str | Sequence[str] = (), mode: str = "all", level: int | str = 1) -> list[str]:
    """The content of a folder.

    Args:
        dirname: The folder.
        match: Texts that paths must contain, or must not contain if they begin with ``!``.
        mode: ``all``, ``dir`` or ``file``.
        level: The depth; ``"2+"`` for the files of all levels up to 2.
    """
    if isinstance(level, str):
        depths = range(1, int(level.removesuffix("+")) + 1)
        return [path for depth in depths for path in ls(dirname, match, "file", depth)]
    names = os.listdir(dirname)
    paths = names if dirname == "." else [os.path.join(dirname, name) for name in names]
    if level > 1:
        return [inner for path in paths if os.path.isdir(path) for inner in ls(path, match, mode, level - 1)]
    for text in filter(None, [match] if isinstance(match, str) else match):
        must_contain = not text.startswith("!")
        paths = [path for path in paths if (text.removeprefix("!") in path) == must_contain]
    return [path for path in paths if mode == "all" or os.path.isdir(path) == (mode == "dir")]


def mrlines(fname: str, sp: str = "\n") -> list[str]:
    """The lines of a file, without empty ones at the end."""
    lines = Path(fname).read_text(encoding="utf-8").split(sp)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def mwlines(lines: Iterable[str], fname: str) -> None:
    """Write lines to a file."""
    Path(fname).write_text("\n".join(lines), encoding="utf-8")


def last_modified(pth: str) -> str:
    """The time of a file's last change, as ``yymmddHHMMSS``."""
    return time.strftime("%y%m%d%H%M%S", time.localtime(os.path.getmtime(pth)))


def parquet_to_tsv(file_path: str) -> None:
    """Write a Parquet file as TSV beside it."""
    import pandas as pd

    source = Path(file_path)
    target = source.with_name(f"{source.name.split('.')[0]}.tsv")
    pd.read_parquet(source).to_csv(target, sep="\t", index=False, quoting=csv.QUOTE_ALL)


def get_file_extension(file_path: str) -> str:
    """The part after the last dot."""
    return str(file_path).rsplit(".", 1)[-1]


def get_pred_file_format() -> str:
    """The format of prediction files: ``pkl``, which keeps images and long texts unchanged."""
    return "pkl"


def get_pred_file_path(work_dir: str, model_name: str, dataset_name: str, use_env_format: bool = True) -> str:
    """The path of a prediction file."""
    return os.path.join(work_dir, f"{model_name}_{dataset_name}.{get_pred_file_format()}")


def get_eval_file_format() -> str:
    """The format of score tables: ``csv``, or the value of ``EVAL_FORMAT``."""
    return os.environ.get("EVAL_FORMAT", "csv")


def get_intermediate_file_path(eval_file: str, suffix: str, target_format: str | None = None) -> str:
    """The path of a file that an evaluation writes beside the predictions.

    Args:
        eval_file: The predictions.
        suffix: The text appended to the name.
        target_format: Its file format; default: by the suffix.
    """
    if target_format is None:
        by_suffix = [kind for endings, kind in _FORMATS.items() if suffix.endswith(endings)]
        is_score = suffix.endswith(("_acc", "_fine", "_metrics", "_score"))
        target_format = by_suffix[0] if by_suffix else get_eval_file_format() if is_score else get_pred_file_format()
    return f"{eval_file.removesuffix('.' + get_file_extension(eval_file))}{suffix}.{target_format}"


def fetch_aux_files(eval_file: str) -> list[str]:
    """The files of the same model and dataset beside a prediction file."""
    path = Path(eval_file)
    return sorted(
        str(file) for file in path.parent.iterdir() if file.name.startswith((f"{path.stem}.", f"{path.stem}_"))
    )


def files_of(eval_file: Path, dataset_name: str) -> list[Path]:
    """A prediction file and the files that evaluations have written beside it, without those of other datasets whose
    names begin with this one's (``X_VAL`` beside ``X``).
    """
    from polymeter.interop.ulmeval.shim.ulmeval.datasets import supported_datasets

    model = eval_file.stem.removesuffix(dataset_name)
    others = tuple(f"{model}{name}" for name in supported_datasets() if name.startswith(f"{dataset_name}_"))
    files = [Path(file) for file in fetch_aux_files(str(eval_file))] if eval_file.parent.is_dir() else []
    return [file for file in files if not (others and file.name.startswith(others))]


def prepare_reuse_files(
    pred_root_meta: str, eval_id: str, model_name: str, dataset_name: str, reuse: bool, reuse_aux: bool | int | str
) -> None:
    """Prepare the folder of a script's evaluation: with ``reuse`` it gets the predictions of the latest earlier one;
    without it, its own predictions are moved into its subfolder ``earlier``.

    Args:
        pred_root_meta: The model's folder, with a folder for each evaluation.
        eval_id: Name of this evaluation's folder.
        model_name: Name of the model.
        dataset_name: Name of the dataset.
        reuse: Whether to copy earlier predictions.
        reuse_aux: Whether to copy the files that evaluations have written beside them too.
    """
    here = Path(pred_root_meta, eval_id)
    own = here / f"{model_name}_{dataset_name}.pkl"
    if not reuse:
        for file in files_of(own, dataset_name):
            target = here / "earlier" / file.name
            target.parent.mkdir(exist_ok=True)
            file.replace(target)
    folders = sorted((path for path in here.parent.iterdir() if path.is_dir() and path != here), reverse=True)
    latest = next((folder / own.name for folder in folders if (folder / own.name).is_file()), None)
    if not reuse or latest is None or own.is_file():
        return
    here.mkdir(parents=True, exist_ok=True)
    for file in files_of(latest, dataset_name) if reuse_aux and reuse_aux != "none" else [latest]:
        shutil.copy2(file, here)


def HFCacheRoot() -> str:
    """The folder of the Hugging Face hub's cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return str(HF_HUB_CACHE)


def MMBenchOfficialServer(dataset_name: str) -> bool:
    """Return whether the local file of a benchmark contains the answers."""
    import pandas as pd

    names = {dataset_name, dataset_name.replace("_TEST_EN", "").replace("_TEST", "")}
    for file in (Path(LMUDataRoot()) / f"{name}.tsv" for name in sorted(names)):
        if file.is_file():
            data = load(str(file))
            if "answer" in data and not pd.isna(data["answer"]).any():
                return True
    return False


def localize_df(data: pd.DataFrame, dname: str, nproc: int = 32) -> pd.DataFrame:
    """A table with the paths of its images in place of their base64.

    Args:
        data: The table; it is not changed.
        dname: Name of the dataset, into whose image folder they are written.
        nproc: Not used: rows are done in order.

    Raises:
        DataError: if a cell is not an image.
    """
    from polymeter.data.stored_column import held_cells

    count = len(data)
    own_paths = list(data["image_path"]) if "image_path" in data else [None] * count
    images = read_images(list(data["index"]), held_cells(data["image"]))
    root = image_root(dname)
    written = [
        write_images(index, in_memory(cell), path, root)
        for index, cell, path in zip(data["index"], images, own_paths, strict=True)
    ]
    localised = data.drop(columns=["image"])
    if "image_path" not in data:
        localised["image_path"] = [paths[0] if len(paths) == 1 else str(paths) for paths in written]
    return localised


def _is_file(text: str) -> bool:
    if os.path.isfile(text):
        return True
    is_named = bool(os.path.splitext(text)[1]) or os.sep in text  # other texts are prompts
    return is_named and len(text) < 4096 and "\n" not in text and os.path.isfile(on_disk(text))


def _mime(text: str) -> str | None:
    return mime_of_suffix(os.path.splitext(text.partition("?")[0])[1].lower())
