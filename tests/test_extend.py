"""The public extension API: what it says it has, it has, and it costs nothing to import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from polymeter import extend

SOURCE = Path(extend.__file__).parent
HEAVY = ("numpy", "pandas", "PIL", "torch", "datasets", "transformers", "pydantic")


def test_every_name_resolves_to_what_its_home_has() -> None:
    for home, names in extend._HOMES.items():
        for name in names:
            assert getattr(extend, name) is getattr(sys.modules[home], name)


def test_the_documented_table_is_what_there_is() -> None:
    _, _, table = (extend.__doc__ or "").partition("Errors\n")
    assert set(re.findall(r"``(\w+)``", table)) == set(extend.__all__)
    assert [name for names in extend._HOMES.values() for name in names] == [
        name for home in typed_imports() for name in home
    ]
    assert sorted(extend.__all__) == sorted(name for names in extend._HOMES.values() for name in names)
    assert set(extend.__all__) <= set(dir(extend))


def typed_imports() -> Iterator[list[str]]:
    """What type checkers are told, module by module."""
    tree = ast.parse(Path(extend.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        yield [item.name for item in node.names]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'polymeter\.extend' has no attribute 'Engine'"):
        extend.Engine  # noqa: B018


def test_importing_it_costs_nothing() -> None:
    code = (
        "import sys, polymeter.extend\n"
        "few = {'polymeter.extend', 'polymeter.core', 'polymeter.core.names', 'polymeter.core.names.lazy'}\n"
        "assert {name for name in sys.modules if name.startswith('polymeter.')} == few\n"
        "from polymeter.extend import BatchModel, Format, Image, System, Task, register_metric\n"
        f"print(sorted(set({HEAVY!r}) & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def library_files() -> list[Path]:
    return sorted((SOURCE / "library").rglob("*.py"))


@pytest.mark.parametrize("file", library_files(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_the_library_imports_it_alone(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [item.name for item in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            is_allowed = module == "polymeter.extend" or module.startswith("polymeter.library.")
            assert is_allowed or module.partition(".")[0] != "polymeter", f"{file.name} imports {module}"


def test_ruff_bans_every_other_package_for_the_library() -> None:
    settings = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    banned = set(re.findall(r'^"polymeter\.(\w+)"\.msg = "The library imports', settings, re.M))
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {"interop"}
    assert banned == packages - {"library"}
