"""Finding wrappers: files, folders, names that files add, arguments, and the errors on the way."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import weights_from
from polymeter.core.names.registries import MODELS
from polymeter.interop.ulmeval.models import UlmModel, ulm_model
from polymeter.interop.ulmeval.models.loading import find_wrapper
from polymeter.interop.ulmeval.models.native import supported_ULM

ONE = """
from ulmeval.ulm.base import BaseModel

class Mine(BaseModel):
    def __init__(self, model_path="org/mine", steps=4):
        self.model_path, self.steps = model_path, steps

    def generate_inner(self, message, dataset=None):
        return f"{self.model_path} {self.steps}"
"""
RELATIVE = """
from .base import BaseModel
from ..smp import *

class Placed(BaseModel):
    INTERLEAVE = True

    def batch_generation_inner(self, msgs, dataset, num_generations):
        return [osp.basename("a/b")] * num_generations
"""
DUCK = """
class Duck:
    def generate_inner(self, message, dataset=None):
        return "quack"

class Helper:
    pass
"""


def written(folder: Path, text: str, name: str = "mine.py") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(textwrap.dedent(text))
    return str(folder / name)


def made(name: str, path: str, **arguments: Any) -> Any:
    model = UlmModel(name, path, **arguments)
    model.load()
    return model._wrapper


def test_a_class_is_found_by_name_or_because_it_is_the_only_one(tmp_path: Path) -> None:
    path = written(tmp_path, ONE)
    assert find_wrapper("Mine", path).name == "Mine"
    assert find_wrapper("", path).cls.__name__ == "Mine"
    assert find_wrapper("", written(tmp_path, RELATIVE, "placed.py")).name == "Placed"
    assert find_wrapper("", written(tmp_path, DUCK, "duck.py")).name == "Duck"


def test_a_class_with_generate_alone_is_found_by_name_beside_others(tmp_path: Path) -> None:
    whole = "\nclass Whole:\n    def generate(self, message, dataset=None):\n        return 'all'\n"
    path = written(tmp_path, DUCK + whole)
    assert find_wrapper("Whole", path).name == "Whole"
    assert find_wrapper("", path).name == "Duck"
    with pytest.raises(PlanError, match="has no model 'Helper'"):
        find_wrapper("Helper", path)


def test_of_a_folder_only_the_file_that_is_meant_is_loaded(tmp_path: Path) -> None:
    written(tmp_path, ONE)
    written(tmp_path, "import a_package_that_nobody_has\nclass Other:\n    pass\n", "other.py")
    assert find_wrapper("Mine", str(tmp_path)).name == "Mine"
    with pytest.raises(PlanError, match=r"No file in .* defines 'Mina'\..* Did you mean 'Mine'"):
        find_wrapper("Mina", str(tmp_path))
    with pytest.raises(PlanError, match="a_package_that_nobody_has"):
        find_wrapper("Other", str(tmp_path))


def test_a_dotted_name_is_looked_for_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "wrappers_of_mine", ONE, "inner.py")
    monkeypatch.chdir(tmp_path)
    assert find_wrapper("Mine", "wrappers_of_mine.inner").name == "Mine"


@pytest.mark.parametrize(
    ("name", "path", "said"),
    [
        ("", "", "Which wrapper is meant?"),
        ("Janus-Pro-1C", "", "There is no ulm model 'Janus-Pro-1C'. [--model] Did you mean 'Janus-Pro-1B'"),
        ("Mine", "mime.py", "There is no file, folder or module 'mime.py'. [--model-path] Did you mean 'mine.py'"),
        ("Miner", "mine.py", "'mine.py' has no model 'Miner'. [--model] Did you mean 'Mine'?"),
        ("Far", "mine.py", "'mine.py' has no model 'Far'. [--model] It has: Mine."),
        ("", "two.py", "'two.py' has several models: One, Two."),
        ("", "none.py", "'none.py' defines no model."),
        ("", "broken.py", "Loading broken.py raised ZeroDivisionError"),
    ],
)
def test_what_cannot_be_found_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, path: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, ONE)
    written(tmp_path, DUCK.replace("Duck", "One") + DUCK.replace("Duck", "Two"), "two.py")
    written(tmp_path, "x = 1\n", "none.py")
    written(tmp_path, "1 / 0\n", "broken.py")
    with pytest.raises(PlanError) as caught:
        find_wrapper(name, path)
    assert said in str(caught.value)


def test_arguments_are_checked_before_anything_is_made(tmp_path: Path) -> None:
    path = written(tmp_path, ONE)
    assert made("Mine", path, steps=9).steps == 9
    with pytest.raises(
        PlanError, match=r"Wrapper 'Mine' has no argument 'step'\. \[--model-args\] Did you mean 'steps'"
    ):
        UlmModel("Mine", path, step=9)
    needy = written(tmp_path, ONE.replace('model_path="org/mine", steps=4', "model_path, steps"), "needy.py")
    with pytest.raises(PlanError, match=r"Wrapper 'Mine' needs 'steps'\. \[--model-args\]"):
        UlmModel("Mine", needy, model_path="x")


def test_a_constructor_runs_once_and_not_before_it_is_needed(tmp_path: Path) -> None:
    body = ONE.replace("self.model_path, self.steps = model_path, steps", "1 / 0")
    model = UlmModel("Mine", written(tmp_path, body))
    with pytest.raises(PlanError, match="Making the wrapper 'Mine' raised ZeroDivisionError") as caught:
        model.load()
    assert caught.value.where.endswith("mine.py:6")
    good = UlmModel("Mine", written(tmp_path, ONE, "good.py"))
    good.load()
    wrapper = good._wrapper
    good.load()
    assert good._wrapper is wrapper


def test_what_a_constructor_draws_is_the_same_in_every_run(tmp_path: Path) -> None:
    body = "from random import random\n" + ONE.replace("= model_path, steps", "= random(), np.random.rand()")
    path = written(tmp_path, body)
    first, second = made("Mine", path), made("Mine", path)
    assert (first.model_path, first.steps) == (second.model_path, second.steps)


def test_local_files_stand_for_ids_also_in_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ONE)
    with weights_from({"org/mine": "/here", "org/other": "/there"}):
        default, told = UlmModel("Mine", path), UlmModel("Mine", path, model_path="org/other")
    for model, place in ((default, "/here"), (told, "/there")):
        model.load()
        assert model._wrapper.model_path == place
    assert default.identity == UlmModel("Mine", path).identity
    monkeypatch.setenv("POLYMETER_WEIGHTS", f"org/mine={tmp_path}")
    assert made("Mine", path).model_path == str(tmp_path)


def test_names_that_a_file_adds_are_found_with_their_arguments(tmp_path: Path) -> None:
    extra = """
    from functools import partial
    from ulmeval.config import supported_ULM
    supported_ULM["Mine-Fast"] = partial(Mine, steps=1)
    supported_ULM.update({"Mine-Slow": partial(Mine, "elsewhere", steps=99), "Mine-Made": lambda: Mine(steps=7)})
    """
    path = written(tmp_path, ONE + textwrap.dedent(extra))
    try:
        assert (made("Mine-Fast", path).steps, made("Mine-Fast", path, steps=2).steps) == (1, 2)
        assert (made("Mine-Slow", path).model_path, made("Mine-Slow", str(tmp_path)).steps) == ("elsewhere", 99)
        with weights_from({"org/mine": "/here", "elsewhere": "/there"}):
            assert made("Mine-Slow", path).model_path == "/there"
        assert made("Mine-Made", path).steps == 7
        assert made("Mine", path).steps == 4
        fast, slow = (UlmModel(name, path).identity for name in ("Mine-Fast", "Mine-Slow"))
        assert fast["arguments"] == {"steps": 1}
        assert slow["positional"] == ["elsewhere"]
        later = ulm_model("Mine-Fast")
        assert isinstance(later, UlmModel)
        assert later.identity == fast
        assert supported_ULM["Mine-Fast"]().generate("a") == ["org/mine 1"]
    finally:
        for name in list(supported_ULM.added):
            del supported_ULM[name]


def test_identity_holds_the_sources_and_arguments_but_not_the_machine(tmp_path: Path) -> None:
    path = written(tmp_path, ONE)
    plain, told = UlmModel("Mine", path).identity, UlmModel("Mine", path, steps=5).identity
    assert plain["backend"] == "ulm"
    assert plain != told
    elsewhere = UlmModel("Mine", written(tmp_path / "moved", ONE)).identity
    assert elsewhere == plain
    assert UlmModel("Mine", written(tmp_path / "edited", ONE + "\nX = 1\n")).identity != plain


def test_the_family_is_registered() -> None:
    assert MODELS.get("ulm") is ulm_model
