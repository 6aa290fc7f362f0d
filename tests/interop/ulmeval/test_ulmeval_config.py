"""What commands of ULMEvalKit may say, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.ulmeval import config as configs
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig, dataset_of, read_config
from polymeter.interop.ulmeval.model_names import choose_model

PLAIN = UlmevalConfig((NamedObject("m"),), (NamedObject("d"),))


def written(folder: Path, content: Any) -> Path:
    file = folder / "config.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_a_file_names_models_and_datasets(tmp_path: Path) -> None:
    content = {
        "model": {"warm": {"class": "Painter", "shade": 9}, "Janus-Pro-7B": {}},
        "data": {"red": {"class": "Shades", "dataset": "shades", "tint": "red"}, "GenEval": {}},
    }
    models, datasets = read_config(written(tmp_path, content))
    assert models == (NamedObject("warm", "Painter", {"shade": 9}), NamedObject("Janus-Pro-7B"))
    assert [item.class_name for item in datasets] == ["Shades", ""]
    assert [dataset_of(item) for item in datasets] == [("shades", {"tint": "red"}), ("GenEval", {})]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ([], "an object with 'model' and 'data'"),
        ({"model": {"m": {}}, "dta": {}}, "no section 'dta'"),
        ({"model": {"m": {}}}, "'data' must be an object that names something"),
        ({"model": {"m": []}, "data": {"d": {}}}, "The entry of 'm' must be an object"),
        ({"model": {"m": {"class": 3}}, "data": {"d": {}}}, "The class of 'm' must be a name, not 3"),
    ],
)
def test_a_file_of_another_form_is_refused(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=message):
        read_config(written(tmp_path, content))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no configuration file"):
        read_config(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "evl"}, "no mode 'evl'"),
        ({"models": ()}, "--model names nothing"),
        ({"datasets": ()}, "--data names nothing"),
        ({"models": (NamedObject("m"), NamedObject("m"))}, "'m' is named twice"),
        ({"datasets": (NamedObject(".."),)}, "'..' is not a usable name"),
        ({"result_files": (Path("a"), Path("b"))}, "2 result files for 1 models"),
        ({"num_generations": 0}, "0 is not a positive number"),
        ({"api_nproc": 0}, "0 is not a positive number"),
        ({"retry": -1}, "-1 must not be negative"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    assert PLAIN.settled() is PLAIN
    with pytest.raises(PlanError, match=message):
        replace(PLAIN, **change).settled()


def test_the_environment_has_a_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SEED", "MMEVAL_ROOT", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert configs.seed_of(None) is None
    assert configs.work_folder("out") == Path("out")
    monkeypatch.setenv("SEED", "7")
    monkeypatch.setenv("MMEVAL_ROOT", "/elsewhere")
    assert (configs.seed_of(None), configs.seed_of(3)) == (7, 3)
    assert configs.work_folder("out") == Path("/elsewhere")
    monkeypatch.setenv("SEED", "many")
    with pytest.raises(PlanError, match="'many' is not a seed"):
        configs.seed_of(None)


@pytest.mark.parametrize(("size", "is_refused"), [("", False), ("1", False), ("4", True)])
def test_one_of_several_processes_is_refused(size: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", size)
    if not is_refused:
        configs.refuse_world()
        return
    with pytest.raises(PlanError, match="one of 4 processes"):
        configs.refuse_world()


def test_a_judges_key_is_not_shown() -> None:
    assert "sk-secret" not in repr(replace(PLAIN, judge_args={"key": "sk-secret"}))


def test_an_endpoint_has_its_address_from_base_url() -> None:
    config = replace(PLAIN, base_url="http://localhost:8000/v1")
    assert choose_model(NamedObject("openai:x"), config).spec.args == {"base_url": "http://localhost:8000/v1"}
    with pytest.raises(PlanError, match="'m' is not a model at an endpoint"):
        choose_model(NamedObject("m"), config)
