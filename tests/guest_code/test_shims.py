"""Tables of aliases and refused names as any system may write them."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.names.systems import ImportRoot, System
from polymeter.guests.shims import finder as shims
from polymeter.guests.shims import tables as shim_tables

ALIASES = {
    "toy_bench": {"__version__": "toy_ours:VERSION", "Shape": "toy_ours:Shape"},
    "toy_bench.tools": "toy_ours",
    "toy_bench.models.base": {"Shape": "toy_ours:Shape", "codec": "json"},
    "toy_bench.models.simple": {},
    "toy_bench.registry": {"*": "toy_ours"},
    "toy_bench.late": {"*": "toy_ours:LATE"},
}
REFUSED = {"toy_bench.server.Server": "Name an endpoint.", "toy_bench.server.launch()": "Use 'polymeter run'."}
OLDER = {"toy_older.models": {"Older": "toy_ours:Shape"}}
OURS = """
VERSION = "3"
count = 0
__all__ = ["Shape", "area"]


class Shape:
    pass


def area():
    return 1


def __getattr__(name):
    global count
    if name == "counted":
        count += 1
        return count
    raise AttributeError(name)


class _Late:
    __all__ = ["first"]
    first = 1


LATE = _Late()
"""


@pytest.fixture(autouse=True)
def _toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "toy_ours.py").write_text(OURS)
    here = ModuleType("toy_tables")
    vars(here).update(ALIASES=ALIASES, REFUSED=REFUSED, OLDER=OLDER)
    here.__spec__ = importlib.util.spec_from_loader("toy_tables", loader=None, origin="/tables.py")
    monkeypatch.setitem(sys.modules, "toy_tables", here)
    monkeypatch.syspath_prepend(str(tmp_path))
    system = System(
        "toy",
        "Toy Bench",
        "",
        import_roots={
            "toy_bench": ImportRoot("toy_tables:ALIASES", "toy_tables:REFUSED"),
            "toy_older": ImportRoot("toy_tables:OLDER", otherwise="toy_bench", title="Older"),
            "toy_same": ImportRoot(otherwise="toy_bench"),
        },
        absent={"models.": "Wrappers come from their authors."},
    )
    records = {root: (system, record) for root, record in system.import_roots.items()}
    monkeypatch.setattr(shim_tables, "import_roots", lambda: records)
    monkeypatch.setattr(
        sys, "meta_path", [finder for finder in sys.meta_path if type(finder).__name__ != "_ShimFinder"]
    )
    shims.switch_on_shims()
    yield
    for name in [name for name in sys.modules if name.startswith("toy_")]:
        del sys.modules[name]


def test_nothing_of_a_table_is_imported_before_it_is_used() -> None:
    module = importlib.import_module("toy_bench.models.base")
    assert "toy_ours" not in sys.modules
    assert module.codec is importlib.import_module("json")
    assert "toy_ours" not in sys.modules
    assert module.Shape is importlib.import_module("toy_ours").Shape


def test_one_class_under_all_its_names() -> None:
    scope: dict[str, object] = {}
    exec(
        "import toy_bench\nfrom toy_bench import Shape, models\nfrom toy_bench.models.base import Shape as B\n"
        "import toy_bench.tools as tools",
        scope,
    )
    assert scope["Shape"] is scope["B"] is scope["tools"].Shape is scope["toy_bench"].models.base.Shape  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(scope["Shape"])) is scope["Shape"]


def test_a_star_import_binds_what_is_public() -> None:
    def bound(module: str) -> set[str]:
        scope: dict[str, object] = {}
        exec(f"from {module} import *", scope)
        return {*scope} - {"__builtins__"}

    assert bound("toy_bench.models.base") == {"Shape", "codec"}
    assert bound("toy_bench.registry") == {"Shape", "area"}
    assert bound("toy_bench.late") == {"first"}
    assert bound("toy_bench.server") == {"Server", "launch"}
    assert bound("toy_bench.models.simple") == set()


def test_what_the_rest_answers_is_asked_for_anew() -> None:
    module = importlib.import_module("toy_bench.registry")
    assert (module.counted, module.counted) == (1, 2)


def test_packages_and_modules() -> None:
    for name, is_package in (
        ("toy_bench", True),
        ("toy_bench.models", True),
        ("toy_bench.models.simple", True),
        ("toy_bench.models.base", False),
        ("toy_bench.tools", False),
    ):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert (spec.submodule_search_locations is not None) == is_package
        assert hasattr(importlib.import_module(name), "__path__") == is_package


def test_another_root_answers_for_the_rest() -> None:
    assert importlib.import_module("toy_same") is importlib.import_module("toy_bench")
    assert importlib.import_module("toy_same.models.base") is importlib.import_module("toy_bench.models.base")
    older = importlib.import_module("toy_older.models")
    assert older.Older is importlib.import_module("toy_bench").Shape
    assert older.base is importlib.import_module("toy_bench.models.base")
    assert importlib.import_module("toy_older.tools") is importlib.import_module("toy_ours")


def test_a_refused_name_says_what_to_do() -> None:
    server = importlib.import_module("toy_bench.server")
    assert server.Server is importlib.import_module("toy_older.server").Server
    assert issubclass(type("Mine", (server.Server,), {}), server.Server)
    with pytest.raises(PlanError, match=r"Server of Toy Bench is not provided\. \[toy bench Server\] Name an endpoint"):
        server.Server(1)
    with pytest.raises(PlanError, match=r"launch of Toy Bench .* Use 'polymeter run'"):
        server.launch(1)


def test_a_missing_module_gets_near_names_and_the_systems_hint() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no module 'toy_bench.models.bse'\. Near: .*models.base"):
        importlib.import_module("toy_bench.models.bse")
    with pytest.raises(ModuleNotFoundError, match="Wrappers come from their authors") as caught:
        importlib.import_module("toy_same.models.llava")
    assert caught.value.name == "toy_same.models.llava"
    with pytest.raises(AttributeError, match="module 'toy_bench' has no attribute 'nothing'"):
        importlib.import_module("toy_bench").nothing  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from toy_bench.models.base import nothing")
