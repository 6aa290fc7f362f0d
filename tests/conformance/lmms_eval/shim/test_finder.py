"""The finder: one module under two names, and clear words where there is none."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from types import ModuleType

import pytest

from polymeter.core.errors import PlanError
from polymeter.guests.shims import finder
from polymeter.guests.shims.tables import ShimNames


@pytest.fixture(autouse=True)
def installed() -> None:
    finder.switch_on_shims()


def test_both_names_are_one_module() -> None:
    import polymeter.interop.lmms_eval.shim.lmms_eval.registry as ours

    theirs = importlib.import_module("lmms_eval.api.registry")
    assert theirs is ours
    assert ours.__spec__ is not None
    assert ours.__spec__.name == "polymeter.interop.lmms_eval.shim.lmms_eval.registry"


@pytest.mark.needs_system("lm_eval")
def test_what_one_root_lacks_another_has() -> None:
    """Code of lmms-eval imports some names below ``lm_eval``, which has modules of its own for most of them."""
    assert importlib.import_module("lm_eval.protocol") is importlib.import_module("lmms_eval.protocol")
    own, other = importlib.import_module("lm_eval.utils"), importlib.import_module("lmms_eval.utils")
    assert own.weighted_f1_score.__module__.startswith("polymeter.interop.lm_eval")
    assert own.Collator is other.Collator
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_this_name'"):
        own.nothing_of_this_name  # noqa: B018


@pytest.mark.needs_system("lm_eval")
def test_a_root_whose_other_is_not_there_has_its_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ShimNames()
    monkeypatch.delitem(found.roots, "lmms_eval")
    assert found.serves("lm_eval.api.filter")
    assert not found.serves("lm_eval.protocol")


def test_every_form_of_import_gives_the_same_module() -> None:
    scope: dict[str, object] = {}
    exec("import lmms_eval.utils\nfrom lmms_eval import utils\nimport lmms_eval.utils as third", scope)
    assert scope["utils"] is scope["third"] is scope["lmms_eval"].utils  # type: ignore[attr-defined]


def test_classes_are_pickled_under_the_name_that_always_works() -> None:
    tokens = importlib.import_module("lmms_eval.api.instance").TokenCounts(1, 2)
    assert b"lmms_eval.api" not in pickle.dumps(tokens)
    assert pickle.loads(pickle.dumps(tokens)) == tokens


def test_installing_again_changes_nothing() -> None:
    before = list(sys.meta_path)
    finder.switch_on_shims()
    assert sys.meta_path == before
    assert sum(type(item).__name__ == "_ShimFinder" for item in sys.meta_path) == 1


def test_a_missing_module_names_the_near_ones() -> None:
    with pytest.raises(
        ModuleNotFoundError,
        match=r"stand-in for lmms_eval has no module 'lmms_eval.filters.extracton'.*"
        r"lmms_eval.filters.extraction",
    ) as caught:
        importlib.import_module("lmms_eval.filters.extracton")
    assert caught.value.name == "lmms_eval.filters.extracton"


def test_a_missing_task_says_where_tasks_belong() -> None:
    with pytest.raises(ModuleNotFoundError, match="put the two folders side by side"):
        importlib.import_module("lmms_eval.tasks.nobody.utils")


def test_a_module_is_no_package() -> None:
    with pytest.raises(ModuleNotFoundError, match="not a package"):
        importlib.import_module("lmms_eval.protocol.inner")


def test_other_names_are_left_to_others() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'lmms_evaluation'"):
        importlib.import_module("lmms_evaluation")


def test_the_real_package_must_not_be_there_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [item for item in sys.meta_path if type(item).__name__ != "_ShimFinder"])
    real = ModuleType("lmms_eval")
    real.__file__ = "/site-packages/lmms_eval/__init__.py"
    monkeypatch.setitem(sys.modules, "lmms_eval", real)
    with pytest.raises(PlanError, match=r"'lmms_eval' is loaded already.*/site-packages/lmms_eval/__init__.py"):
        finder.switch_on_shims()


def test_nothing_is_importable_before_it_is_switched_on() -> None:
    script = "import polymeter, sys; assert 'lmms_eval' not in sys.modules\nimport lmms_eval"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "No module named 'lmms_eval'" in done.stderr
