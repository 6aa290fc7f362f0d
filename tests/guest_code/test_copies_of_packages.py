"""Inside a copy of another system's package, the names that its shim supplies are the shim's, however they are imported
and whatever file the copy has in their place; and such a file, which is not loaded, needs no packages.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from polymeter.guests import contained, load_file
from polymeter.guests.loading import neighbours
from polymeter.guests.loading.neighbours import include_trees
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.reading.needed_packages import packages_behind
from polymeter.guests.shims.finder import switch_on_shims

REPLACED = "import zz_of_the_original\nraise RuntimeError('the file that the shim replaces was run')\n"
PACKAGES = {
    "vlmeval": ("smp", "dataset/utils/judge_util", "dataset/image_mcq", "dataset/utils/multiple_choice", "utils"),
    "ulmeval": ("smp", "dataset/utils/judge_util", "dataset/text_base", "utils"),
    "lmms_eval": ("llm_judge", "api/metrics", "utils"),
    "lm_eval": ("api/registry", "utils"),
    "evalscope": ("metrics/llm_judge", "benchmarks/data_adapter", "utils/logger"),
}
"""Of each package, the modules that a shim supplies and that the copy has as well."""
CASES: list[dict[str, str]] = json.loads(Path(__file__).with_name("copies_of_packages.json").read_text())
"""Of each case the file in the copy and what it says, a name, where the shim has that, and why."""


def copy_of(folder: Path, package: str, *, is_whole: bool = True) -> None:
    """A copy of a package, whose modules that the shim supplies must not be run, but for the name ``OWN`` in them.

    Args:
        folder: What the copy goes into.
        package: Its name.
        is_whole: Whether it has all of the package, and not only the folder of benchmarks.
    """
    for module in PACKAGES[package]:
        if is_whole or module.startswith("dataset/"):
            place = folder / package / module
            place.parent.mkdir(parents=True, exist_ok=True)
            is_package = module in ("smp", "utils", "llm_judge")
            file = place / "__init__.py" if is_package else place.with_suffix(".py")
            file.parent.mkdir(exist_ok=True)
            file.write_text(REPLACED)
    if is_whole:
        (folder / package / "__init__.py").write_text(REPLACED)


def with_own_name(folder: Path, package: str) -> None:
    """Give the modules from which a case wants ``OWN`` that name, and the shim's names as well."""
    text = "OWN = 'of the copy'\n" + "".join(f"def {name}(): ...\n" for name in ("build_judge", "get_server"))
    for module in ("dataset/utils/judge_util.py", "dataset/utils/__init__.py", "llm_judge/__init__.py"):
        file = folder / package / module
        if file.parent.is_dir():
            file.write_text(text)


def loaded(file: Path) -> object:
    if {"vlmeval", "ulmeval"} & {*file.parts}:
        from polymeter.interop.ulmeval.guest_files import load_guest_file  # absent where the system is

        return load_guest_file(file)
    with GUEST_LOCK, contained():
        switch_on_shims()
        return load_file(file)


@pytest.mark.needs_system("evalscope", "lm_eval", "lmms_eval", "ulmeval")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_the_shim_s_name_wins(tmp_path: Path, case: dict[str, str]) -> None:
    code, package = case["code"], case["file"].partition("/")[0]
    copy_of(tmp_path, package)
    if "OWN" in code:
        with_own_name(tmp_path, package)
    file = (tmp_path / case["file"]).with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code + "\n")
    assert [found.module for found in packages_behind([file])] == []
    made = loaded(file)
    assert getattr(made, case["name"]) is getattr(importlib.import_module(case["module"]), case["name"])
    if "OWN" in code:
        assert getattr(made, "OWN") == "of the copy"  # noqa: B009


@pytest.mark.needs_system("ulmeval")
def test_a_copy_of_the_folder_of_benchmarks_alone(tmp_path: Path) -> None:
    copy_of(tmp_path, "vlmeval", is_whole=False)
    file = tmp_path / "vlmeval" / "dataset" / "mine.py"
    file.write_text("from .utils.judge_util import build_judge\n")
    assert packages_behind([file]) == ()
    assert getattr(loaded(file), "build_judge") is importlib.import_module("vlmeval.dataset.utils").build_judge  # noqa: B009


@pytest.mark.needs_system("ulmeval")
def test_what_only_the_copy_has_is_followed(tmp_path: Path) -> None:
    copy_of(tmp_path, "vlmeval")
    with_own_name(tmp_path, "vlmeval")
    judges = tmp_path / "vlmeval" / "dataset" / "utils" / "judge_util.py"
    judges.write_text("import zz_needed\nOWN = 1\n")
    (judges.parent / "words.py").write_text("import zz_words\nfrom ...smp import load\n")
    file = tmp_path / "vlmeval" / "dataset" / "mine.py"
    file.write_text("from .utils.judge_util import build_judge, OWN\nfrom .utils.words import x\n")
    assert {found.module: found.is_certain for found in packages_behind([file])} == {
        "zz_needed": True,
        "zz_words": True,
    }


@pytest.mark.needs_system("lmms_eval")
def test_below_the_trees_of_tasks_the_copy_s_own_files_are_the_tasks(tmp_path: Path) -> None:
    tasks = tmp_path / "lmms_eval" / "tasks"
    (tasks / "mine").mkdir(parents=True)
    (tasks / "mmbench").mkdir()
    (tasks / "mmbench" / "mmbench_evals.py").write_text("import json\nMMBench_Evaluator = 'of the copy'\n")
    for number, code in enumerate(("lmms_eval.tasks.mmbench.mmbench_evals", "..mmbench.mmbench_evals")):
        file = tasks / "mine" / f"utils_{number}.py"
        file.write_text(f"from {code} import MMBench_Evaluator\n")
        assert getattr(loaded(file), "MMBench_Evaluator") == "of the copy"  # noqa: B009


@pytest.mark.needs_system("evalscope")
def test_a_folder_that_is_only_called_like_a_package_is_none(tmp_path: Path) -> None:
    mine = tmp_path / "evalscope" / "mine"
    mine.mkdir(parents=True)
    (tmp_path / "evalscope" / "run.py").write_text("run_task = 'mine'\n")
    (mine / "adapter.py").write_text("from ..run import run_task\n")
    assert getattr(loaded(mine / "adapter.py"), "run_task") == "mine"  # noqa: B009


@pytest.mark.needs_system("ulmeval")
@pytest.mark.parametrize(
    "statement",
    [
        "from .utils.score import half",
        "from .utils import score\n        half = score.half",
        "from .theirs import half",
    ],
)
def test_a_relative_import_of_one_checkout_takes_nothing_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    switch_on_shims()
    monkeypatch.setattr(neighbours, "_included", {})
    for place, value in (("first", "raise RuntimeError('of the other checkout')"), ("second", "half = 0.5")):
        copy_of(tmp_path / place, "ulmeval")
        dataset = tmp_path / place / "ulmeval" / "dataset"
        for file in ("utils/score.py", "theirs.py"):
            (dataset / file).write_text(f"{value}\n")
    include_trees([tmp_path / "first", tmp_path / "second"])
    code = f"from .text_base import TextBaseDataset\nclass Mine(TextBaseDataset):\n        {statement}\n"
    (tmp_path / "second" / "ulmeval" / "dataset" / "mine.py").write_text(code)
    with contained():
        module = loaded(tmp_path / "second" / "ulmeval" / "dataset" / "mine.py")
    assert getattr(module, "Mine").half == 0.5  # noqa: B009
