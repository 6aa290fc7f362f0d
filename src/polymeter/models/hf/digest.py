"""Digests of a checkpoint's content, so that a run recognises its model in any folder."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path

_SMALL = (".json", ".txt", ".jinja", ".model", ".py")
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_WHOLE_BYTES = 2 * 2**30
_BLOCK = 64 * 1024
_N_BLOCKS = 256


def checkpoint_digest(folder: Path) -> str:
    """Hex digest of a checkpoint's files: configuration, tokenizer, templates, code and weights, by name and content.

    Weights of up to 2 GiB in all count by every byte. Of larger ones each file counts by its size, its first 64 KiB
    (in safetensors: names, shapes and places of the tensors) and 256 blocks of 64 KiB evenly spaced over it:
    fine-tuning changes every matrix, and reading hundreds of gigabytes before each run is not worth its time.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in (*_SMALL, *_WEIGHTS))
    weights = [path for path in files if path.suffix in _WEIGHTS]
    is_whole = sum(path.stat().st_size for path in weights) <= _WHOLE_BYTES
    state = hashlib.blake2b(digest_size=16)
    for path in files:
        size = path.stat().st_size
        state.update(json.dumps([path.name, size]).encode())
        if path in weights and not is_whole:
            _add_blocks(state, path, size)
        else:
            _add_all(state, path)
    return state.hexdigest()


def folder_digest(folder: Path) -> str:
    """Hex digest of a checkpoint that lies in several folders, as pipelines of Diffusers do: its own files and those of
    each folder in it, by name and content.
    """
    state = hashlib.blake2b(checkpoint_digest(folder).encode(), digest_size=16)
    for part in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        state.update(json.dumps([part.name, checkpoint_digest(part)]).encode())
    return state.hexdigest()


def file_digest(path: Path) -> str:
    """Hex digest of one file of weights or settings, by content: every byte, of more than 2 GiB as in
    ``checkpoint_digest``.
    """
    size = path.stat().st_size
    state = hashlib.blake2b(str(size).encode(), digest_size=16)
    if size > _WHOLE_BYTES:
        _add_blocks(state, path, size)
    else:
        _add_all(state, path)
    return state.hexdigest()


def package_version(package: str) -> str:
    """The version of an installed package; empty when it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _add_all(state: hashlib.blake2b, path: Path) -> None:
    with path.open("rb") as file:
        while block := file.read(2**20):
            state.update(block)


def _add_blocks(state: hashlib.blake2b, path: Path, size: int) -> None:
    with path.open("rb") as file:
        for number in range(_N_BLOCKS + 1):
            file.seek(number * max(0, size - _BLOCK) // _N_BLOCKS)
            state.update(file.read(_BLOCK))
