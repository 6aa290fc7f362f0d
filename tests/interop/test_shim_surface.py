"""Everything that can be imported under the names of other systems, held against a list of it.

The list, ``shim_surface.json``, holds the names of each module with what they lead to: a class or function with its
parameters, ``= other.name`` for what another module has as well, or the type of a value. Run this file as a script to
write it anew; a name that goes is a guest that breaks.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

import pytest

from polymeter.core.names.systems import import_roots, load
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.guests.shims.tables import ShimModule, ShimNames

pytestmark = pytest.mark.needs_system("evalscope", "lm_eval", "lmms_eval", "ulmeval")

LIST = Path(__file__).with_name("shim_surface.json")
ROOTS = ("lmms_eval", "evalscope", "ulmeval", "vlmeval")


def surface() -> dict[str, dict[str, str]]:
    """The public names of every module, and what they lead to."""
    switch_on_shims()
    shims = ShimNames()
    # lm-eval's own names alone, after all others: what it lacks is that of lmms-eval, as another test says.
    names = sorted(name for root in ROOTS for name in shims.modules(root))
    names += sorted(shims.tables_of("lm_eval").modules)
    first: dict[int, str] = {}
    kept: list[object] = []
    made: dict[str, dict[str, str]] = {}
    for name in names:
        module = importlib.import_module(name)
        if first.setdefault(id(module), name) != name:
            made[name] = {"": f"= {first[id(module)]}"}
            continue
        made[name] = {}
        for public in sorted(set(_public(module))):
            value = getattr(module, public)
            kept.append(value)
            is_shared = callable(value) or isinstance(value, ModuleType)
            earlier = first.setdefault(id(value), f"{name}.{public}") if is_shared else f"{name}.{public}"
            made[name][public] = _described(value) if earlier == f"{name}.{public}" else f"= {earlier}"
    return made


def _public(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [*listed]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _described(value: Any) -> str:
    if isinstance(value, ModuleType):
        return "module"
    if value is Any or get_origin(value) is not None:  # of other classes under each version of Python
        return "annotation"
    if inspect.isclass(value):
        is_plain = issubclass(value, (enum.Enum, BaseException)) or not value.__module__.startswith("polymeter")
        return "class" if is_plain else f"class({_parameters(value)})"
    return f"function({_parameters(value)})" if inspect.isroutine(value) else type(value).__name__


def _parameters(value: Any) -> str:
    try:
        return ", ".join(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return "?"


def test_what_can_be_imported_is_what_the_list_says() -> None:
    expected = json.loads(LIST.read_text("utf-8"))
    found = surface()
    assert sorted(found) == sorted(expected)
    assert {name: found[name] for name in found if found[name] != expected[name]} == {}


def test_what_lm_eval_lacks_is_that_of_lmms_eval() -> None:
    """Code of lmms-eval imports some names below ``lm_eval``."""
    switch_on_shims()
    others: Any = load(import_roots()["lmms_eval"][1].aliases)
    for other in others:
        name = "lm_eval" + other.removeprefix("lmms_eval")
        module, theirs = importlib.import_module(name), importlib.import_module(other)
        assert [public for public in _public(theirs) if getattr(module, public, None) is None] == [], name


@pytest.mark.parametrize("root", [*ROOTS, "lm_eval"])
def test_a_module_of_ours_under_a_second_name_has_no_modules_below_it(root: str) -> None:
    table: Any = load(import_roots()[root][1].aliases)
    whole = [name for name, entry in table.items() if not isinstance(entry, Mapping)]
    assert [name for name in whole if any(other.startswith(f"{name}.") for other in table)] == []


def test_every_file_of_the_shims_is_led_to() -> None:
    """What neither a table nor another file names is dead."""
    source = Path(importlib.import_module("polymeter").__file__ or "").parent
    targets: set[str] = set()
    for root in (*ROOTS, "lm_eval"):
        table: Any = load(import_roots()[root][1].aliases)
        for entry in table.values():
            targets.update(
                target.partition(":")[0] for target in ([entry] if isinstance(entry, str) else entry.values())
            )
    texts = {file: file.read_text("utf-8") for file in source.rglob("*.py")}
    dotted = {
        file: ".".join(("polymeter", *file.relative_to(source).with_suffix("").parts))
        for file in source.glob("interop/*/shim/*/**/*.py")
        if file.name != "__init__.py"
    }
    dead = [
        name
        for file, name in dotted.items()
        if name not in targets and not any(name in text for other, text in texts.items() if other != file)
    ]
    assert dead == []


def test_modules_of_names_are_ordinary_modules() -> None:
    switch_on_shims()
    module = importlib.import_module("lmms_eval.api.model")
    assert isinstance(module, ShimModule)
    assert module.__spec__ is not None
    assert (module.__spec__.name, module.__name__) == ("lmms_eval.api.model", "lmms_eval.api.model")
    assert Path(str(module.__file__)).name == "aliases.py"
    assert {"CacheHook", "lmms"} <= {*dir(module)}
    assert inspect.getmodule(module.lmms).__name__ == "polymeter.interop.lmms_eval.models.base"  # type: ignore[union-attr]


if __name__ == "__main__":
    LIST.write_text(json.dumps(surface(), indent=1, ensure_ascii=False) + "\n", "utf-8")
