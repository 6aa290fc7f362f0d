"""How often the models of a command of ULMEvalKit are loaded, and when they are let go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig
from polymeter.interop.ulmeval.evaluation import UlmevalResult, evaluate_ulmeval
from tests.helpers.painting import PROMPTS, drawn, studio

HEAVY = """
import os
import signal

from PIL import Image
from ulmeval.ulm.base import BaseModel


def note(text):
    with open('heavy.log', 'a') as log:
        log.write(text + '\\n')


class Heavy(BaseModel):
    def __init__(self, shade=100):
        note(f'loaded {shade}')
        self.shade = shade
        if os.environ.get('FULL') == str(shade):
            raise MemoryError('no room')

    def __del__(self):
        note(f'freed {self.shade}')

    def generate_inner(self, message, dataset=None):
        note(f'drew for {dataset}')
        if os.environ.get('INTERRUPTED_IN') == dataset:
            del os.environ['INTERRUPTED_IN']  # once: a second Ctrl-C would meet the run while it is closed
            os.kill(os.getpid(), signal.SIGINT)
        return Image.new('RGB', (8, 8), (self.shade, 0, 0))
"""
TWO = (NamedObject("dark", "Heavy", {"shade": 3}), NamedObject("light", "Heavy", {"shade": 250}))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "heavy.py").write_text(HEAVY)
    return studio(tmp_path, monkeypatch)


def config(*models: NamedObject) -> UlmevalConfig:
    return UlmevalConfig(
        models or (NamedObject("Heavy"),),
        (NamedObject("shades"), NamedObject("shadesPP")),
        work_dir=Path("out"),
        model_path="heavy.py",
        include_paths=(Path("bench"),),
    )


def run(told: UlmevalConfig, day: str = "20260101") -> UlmevalResult:
    return evaluate_ulmeval(told, day=day)


def notes(here: Path) -> list[str]:
    """What models were loaded and freed, and for which datasets they drew meanwhile."""
    lines = (here / "heavy.log").read_text().splitlines()
    return [line for place, line in enumerate(lines) if place == 0 or line != lines[place - 1]]


def test_a_model_is_loaded_once_for_all_datasets(here: Path) -> None:
    assert run(config()).exit_code == 0
    assert notes(here) == ["loaded 100", "drew for shades", "drew for shadesPP", "freed 100"]


def test_a_model_is_freed_before_the_next_one_is_loaded(here: Path) -> None:
    assert run(config(*TWO)).exit_code == 0
    each = [[f"loaded {n}", "drew for shades", "drew for shadesPP", f"freed {n}"] for n in (3, 250)]
    assert notes(here) == [*each[0], *each[1]]


def test_nothing_is_loaded_where_everything_is_answered(here: Path) -> None:
    run(config())
    assert run(config()).exit_code == 0
    assert len(notes(here)) == 4


def test_a_dataset_that_fails_costs_no_second_loading(here: Path) -> None:
    (here / "data" / "broken.tsv").write_text("prompt\nno index\n")
    text = (here / "bench" / "shades.py").read_text()
    (here / "bench" / "shades.py").write_text(text.replace("'shadesPP': ''", "'broken': '', 'shadesPP': ''"))
    told = replace(config(), datasets=tuple(map(NamedObject, ("shades", "broken", "shadesPP"))))
    assert [pair.exit_code for pair in run(told).pairs] == [0, 1, 0]
    assert notes(here) == ["loaded 100", "drew for shades", "drew for shadesPP", "freed 100"]


def test_a_model_that_cannot_be_loaded_fails_its_pairs_alone(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FULL", "3")
    result = run(config(*TWO))
    assert [pair.exit_code for pair in result.pairs] == [1, 1, 0, 0]
    assert "no room" in str(result.pairs[1].error)
    assert notes(here)[:4] == ["loaded 3", "freed 3"] * 2
    assert notes(here)[-4:] == ["loaded 250", "drew for shades", "drew for shadesPP", "freed 250"]


@pytest.mark.parametrize("dataset", ["shades", "shadesPP"])
def test_an_interrupted_command_frees_the_model(dataset: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERRUPTED_IN", dataset)
    assert run(config()).exit_code == 130
    assert notes(here).count("loaded 100") == notes(here).count("freed 100") == 1
    assert notes(here)[-1] == "freed 100"
    monkeypatch.delenv("INTERRUPTED_IN", raising=False)
    assert run(config()).exit_code == 0


def test_what_the_command_is_told_of_a_pair_may_fail_and_the_model_is_freed(here: Path) -> None:
    def fail(pair: object) -> None:
        raise RuntimeError("the watcher's own")

    with pytest.raises(RuntimeError, match="the watcher's own"):
        evaluate_ulmeval(config(), day="20260101", on_end=fail)
    assert notes(here) == ["loaded 100", "drew for shades", "freed 100"]


def test_a_judge_that_cannot_be_made_is_told_before_anything_is_spent(here: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(PlanError, match="nowhere"):
        run(replace(config(), judge="hf:./nowhere"))
    assert not (here / "heavy.log").exists()


def test_a_module_of_models_is_named_by_its_dotted_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(here))
    (here / "kit").mkdir()
    (here / "kit" / "__init__.py").write_text("")
    (here / "painter.py").rename(here / "kit" / "dotted_painter.py")
    told = replace(
        config(), models=(NamedObject("Painter"),), datasets=(NamedObject("shades"),), model_path="kit.dotted_painter"
    )
    assert run(told).exit_code == 0
    assert sorted(drawn(here)) == sorted(PROMPTS)
