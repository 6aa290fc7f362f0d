"""Parts that a checkpoint does not contain because they are published elsewhere: HiDream reads prompts with a Llama."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.models.diffusers.index import PipelineKind

_WHERE = "--model-args parts"


def check_parts(parts: Mapping[str, str], kind: PipelineKind | None) -> None:
    """Check that a pipeline has parts of these names.

    Args:
        parts: Names of parts, each with a folder or a hub id.
        kind: The uses of the pipeline; ``None``: only its own code determines them.

    Raises:
        PlanError: if it has no such part, or its parts are unknown.
    """
    if parts and kind is None:
        raise PlanError("The parts of a pipeline with its own code are unknown.", where=_WHERE)
    classes = _classes(kind) if kind is not None and parts else {}
    for name in parts:
        if name not in classes:
            hint = did_you_mean(name, classes) or f"It has: {', '.join(classes)}."
            raise PlanError(f"The pipeline has no part {name!r}.", where=_WHERE, hint=hint)


def missing_parts(parts: Mapping[str, str], kind: PipelineKind | None, folder: Path, dtype: Any) -> dict[str, Any]:
    """Read the parts that a checkpoint does not contain.

    Args:
        parts: As above, checked.
        kind: As above.
        folder: The folder of the checkpoint.
        dtype: The type in which weights are read.

    Raises:
        PlanError: if one of them cannot be read.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerBase

    parts_read: dict[str, Any] = {}
    classes = _classes(kind) if kind is not None and parts else {}
    for name, source in parts.items():
        if (folder / name).is_dir():
            continue
        made_by = classes[name]
        hint = "" if Path(source).is_dir() else f"Offline, name its files: --weights {source}=PATH."
        with boundary(PlanError, f"Reading the part {name!r} from {source!r}", hint=hint):
            if issubclass(made_by, PreTrainedTokenizerBase):
                parts_read[name] = AutoTokenizer.from_pretrained(source)
            else:
                parts_read[name] = made_by.from_pretrained(source, torch_dtype=dtype)
    return parts_read


def _classes(kind: PipelineKind) -> dict[str, Any]:
    """The parts of a pipeline that are read from files, each with its class."""
    hints = get_type_hints(kind.roles[0].made_by.__init__)  # type: ignore[misc]
    classes = {}
    for name, hint in hints.items():
        every = [one for one in (hint, *get_args(hint)) if isinstance(one, type) and hasattr(one, "from_pretrained")]
        if every:
            classes[name] = every[0]
    return classes
