"""The names of VLMEvalKit's ``supported_VLM``: which class makes each model, with which arguments.

``supported.json`` holds the names of the tool's ``config.py`` at commit ``e8e78f0``. Keys, machine paths, retries and
prompts are left out. The entries of a checkout are read from its own ``config.py``; nothing of it is run.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean

_API = "api"
_FILE = "supported.json"
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {ast.Pow: operator.pow, ast.Mult: operator.mul}
_LARGEST_POWER = 64
_CHECKED_OUT = ("config.py", "vlmeval/config.py", "../config.py", "../../config.py")
_NATIVE = frozenset(
    {
        "Aria",
        "Cosmos",
        "GLMThinking",
        "Gemma3",
        "GraniteVision3",
        "IDEFICS",
        "IDEFICS2",
        "Kosmos2",
        "LFM2VL",
        "LLaVA_Next",
        "LLaVA_OneVision_HF",
        "PaliGemma",
        "Qwen2VLChat",
        "Qwen3VLChat",
        "SmolVLM",
        "SmolVLM2",
        "VLAAThinkerChat",
        "VLMR1Chat",
        "VideoLLaVA_HF",
        "WeThinkVL",
        "llama4",
        "llama_vision",
    }
)
"""Classes whose published weights are of an architecture that Transformers has itself."""


@dataclass(frozen=True, slots=True)
class SupportedName:
    """An entry of ``supported_VLM``.

    Attributes:
        cls: The class that makes the model.
        is_api: Whether it calls an endpoint.
        arguments: Arguments of its constructor.
        level: The group of ``vlmutil mlist``, a version of Transformers; empty for most.
    """

    cls: str
    is_api: bool
    arguments: Mapping[str, Any] = field(default_factory=dict)
    level: str = ""

    @property
    def hub_id(self) -> str:
        """The id of weights that Transformers loads without the wrapper; empty if there are none."""
        place = self.arguments.get("model_path")
        return place if self.cls in _NATIVE and isinstance(place, str) and place.count("/") == 1 else ""


# Read once in a process: the file belongs to the installed package.
@lru_cache(maxsize=1)
def supported() -> Mapping[str, SupportedName]:
    """Every name of the tool, in its order."""
    text = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return {name: _entry(*row) for name, row in json.loads(text).items()}


def supported_name(name: str) -> str:
    """The exact name of an entry; empty if there is none. Case does not matter where it decides nothing."""
    if name in supported():
        return name
    same = [own for own in supported() if own.lower() == name.lower()]
    return same[0] if len(same) == 1 else ""


def nearest_name(name: str) -> str:
    """A hint with the nearest names; empty if none is near."""
    return did_you_mean(name, supported())


def configuration_beside(path: Path) -> Path | None:
    """The tool's ``config.py`` for a checkout, its package, or its folder of wrappers; ``None`` for any other place."""
    if not path.is_dir():
        return None
    files_there = [path / name for name in _CHECKED_OUT]
    found = (file.resolve() for file in files_there if file.is_file() and (file.resolve().parent / "smp").is_dir())
    return next(found, None)


def checked_out(config: Path) -> dict[str, SupportedName]:
    """The entries of a checkout's ``config.py``: those whose class and arguments are written out.

    Raises:
        PlanError: if the file is not Python.
    """
    try:
        tree = ast.parse(config.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise PlanError(f"The list of models is not valid Python: {error}.", where=str(config)) from None
    entries: dict[str, SupportedName] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            made = _partial(value)
            if made is not None and isinstance(key, ast.Constant) and isinstance(key.value, str):
                entries[key.value] = made
    return entries


def _partial(node: ast.expr) -> SupportedName | None:
    """The entry that ``partial(vlm.Class, argument=…)`` makes; ``None`` for any other expression."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "partial" or len(node.args) != 1:
        return None
    made = node.args[0]
    if not isinstance(made, ast.Attribute) or not isinstance(made.value, ast.Name):
        return None
    values = {word.arg: _value(word.value) for word in node.keywords if word.arg is not None}
    return _entry(f"{made.value.id}.{made.attr}", {name: value for name, value in values.items() if value is not None})


def _value(node: ast.expr) -> Any:
    """The value of a literal or a product or power of literals; ``None`` for what only running would give."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left), _value(node.right)
        is_power = isinstance(node.op, ast.Pow)
        if not isinstance(left, int) or not isinstance(right, int) or (is_power and right > _LARGEST_POWER):
            return None
        return _OPERATORS[type(node.op)](left, right)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def _entry(made: str, arguments: Mapping[str, Any], level: str = "") -> SupportedName:
    package, _, cls = made.partition(".")
    return SupportedName(cls, package == _API, arguments, level)
