"""Which model and which judge a name of ULMEvalKit's command lines means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig
from polymeter.interop.ulmeval.model_names import JUDGE_KEY, choose_judge, choose_model, file_name, judge_arguments
from tests.helpers.painting import studio

PLAIN = UlmevalConfig()
ADDED = """
from functools import partial
from ulmeval.config import supported_ULM
from ulmeval.ulm.base import BaseModel


class Crayon(BaseModel):
    def __init__(self, retry=1, verbose=False, **kwargs):
        super().__init__()

    def generate_inner(self, message, dataset=None):
        raise NotImplementedError


supported_ULM['crayon-red'] = partial(Crayon, retry=2)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return studio(tmp_path, monkeypatch)


def test_specs_are_taken_as_they_are() -> None:
    assert choose_model(NamedObject("openai:gpt-4.1"), PLAIN).spec == ModelSpec("openai", "gpt-4.1")
    assert choose_model(NamedObject("mock"), PLAIN).spec == ModelSpec("mock")
    assert choose_model(NamedObject("mock", arguments={"mode": "echo"}), PLAIN).spec == ModelSpec(
        "mock", "", {"mode": "echo"}
    )


def test_models_of_ulmevalkit_draw_with_its_settings() -> None:
    chosen = choose_model(NamedObject("flux.1_schnell"), PLAIN)
    assert chosen.spec == ModelSpec("ulm", "FLUX.1-schnell")
    assert chosen.settings == {"size": (1024, 1024), "num_inference_steps": 50, "guidance_scale": 3.5}
    told = NamedObject("mine", "Flux", {"model_path": "/weights", "num_inference_steps": 4, "retry": 3})
    chosen = choose_model(told, PLAIN)
    assert chosen.spec == ModelSpec("ulm", "FLUX.1-dev", {"model_path": "/weights"})
    assert chosen.settings["num_inference_steps"] == 4
    assert choose_model(NamedObject("ulm:Qwen-Image"), PLAIN).settings["true_cfg_scale"] == 4.0


def test_a_class_of_a_file_may_name_which_of_its_models() -> None:
    told = NamedObject("x", "JanusPro", {"model_path": "/weights", "model": "Janus-Pro-7B", "temperature": 0.5})
    chosen = choose_model(told, PLAIN)
    assert chosen.spec == ModelSpec("ulm", "Janus-Pro-7B", {"model_path": "/weights"})
    assert chosen.settings["temperature"] == 0.5


def test_a_users_file_comes_first(here: Path) -> None:
    config = UlmevalConfig((NamedObject("Painter"),), (NamedObject("shades"),), model_path="painter.py").settled()
    file = str(here / "painter.py")
    assert choose_model(NamedObject("Painter"), config).spec == ModelSpec("ulm", "Painter", path=file)
    assert choose_model(NamedObject("red", "Painter", {"shade": 1}), config).spec == ModelSpec(
        "ulm", "Painter", {"shade": 1}, file
    )
    assert choose_model(NamedObject("Qwen-Image"), config).spec == ModelSpec("ulm", "Qwen-Image")
    assert choose_model(NamedObject("mock:"), config).spec == ModelSpec("mock")


def test_a_module_of_models_leaves_the_other_names_as_they_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(here))
    (here / "painters_module.py").write_text((here / "painter.py").read_text())
    config = UlmevalConfig(model_path="painters_module")
    assert choose_model(NamedObject("Painter"), config).spec.path == "painters_module"
    assert choose_model(NamedObject("Qwen-Image"), config).spec == ModelSpec("ulm", "Qwen-Image")
    with pytest.raises(PlanError, match="no file, folder or module 'painters_modul'"):
        choose_model(NamedObject("Qwen-Image"), UlmevalConfig(model_path="painters_modul"))


def test_retry_and_verbose_reach_what_names_them(here: Path) -> None:
    (here / "crayon.py").write_text(ADDED)
    config = UlmevalConfig(model_path="crayon.py", retry=5, verbose=True)
    assert choose_model(NamedObject("crayon-red"), config).spec.args == {"retry": 5}
    assert choose_model(NamedObject("Crayon"), config).spec.args == {}


@pytest.mark.parametrize(
    ("named", "message", "hint"),
    [
        (NamedObject("Paintr"), "no model 'Paintr'", "Painter"),
        (NamedObject("x", "Paintr"), "no model 'Paintr'", "Painter"),
    ],
)
def test_a_miss_in_a_file_names_the_nearest(named: NamedObject, message: str, hint: str, here: Path) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        choose_model(named, UlmevalConfig(model_path="painter.py"))
    assert hint in caught.value.hint


def test_a_broken_file_is_told_also_where_the_name_is_known(here: Path) -> None:
    (here / "painter.py").write_text("from ulmeval.ulm.base import BaseModel\nraise RuntimeError('broken')\n")
    with pytest.raises(PlanError, match="broken"):
        choose_model(NamedObject("Qwen-Image"), UlmevalConfig(model_path="painter.py"))


@pytest.mark.parametrize(
    ("named", "message", "hint"),
    [
        (NamedObject("Janus-Pr0-1B"), "no model 'Janus-Pr0-1B'", "Janus-Pro-1B"),
        (NamedObject("x", "Fluxx"), "no model class 'Fluxx'", "Flux"),
        (NamedObject("x", "GPT4V"), "names no model of GPT4V", "Add 'model'"),
    ],
)
def test_a_miss_names_the_nearest(named: NamedObject, message: str, hint: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        choose_model(named, PLAIN)
    assert hint in caught.value.hint


def test_names_in_files() -> None:
    assert file_name("Janus-Pro-1B") == "Janus-Pro-1B"
    assert file_name("openai:gpt-4.1") == "gpt-4.1"
    assert file_name("diffusers:/weights/tiny/") == "tiny"
    assert file_name("org/name").startswith("org_name")


@pytest.fixture
def keyless(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def judge(dataset: str = "d", **told: Any) -> Any:
    chosen = choose_judge(UlmevalConfig(**told), dataset)
    return chosen and (str(chosen.spec), dict(chosen.spec.args), dict(chosen.keys))


def test_a_judge_is_an_endpoint_or_a_spec(keyless: pytest.MonkeyPatch) -> None:
    assert judge() is None
    assert judge(judge="mock") == ("mock", {}, {})
    assert judge(judge="hf:org/x") == ("hf:org/x", {}, {})
    told = {"model": "gpt-4o", "api_base": "http://h/v1/chat/completions", "key": "sk-1"}
    expected = ("openai:gpt-4o", {"base_url": "http://h/v1", "api_key_env": JUDGE_KEY}, {JUDGE_KEY: "sk-1"})
    assert judge(judge_args=told) == expected
    keyless.setenv("OPENAI_API_KEY", "sk-2")
    assert judge(judge="gpt-4o") == ("openai:gpt-4o", {}, {})
    keyless.setenv("OPENAI_API_BASE", "http://h/v1/chat/completions")
    assert judge(judge="gpt-4o") == ("openai:gpt-4o", {"base_url": "http://h/v1"}, {})


@pytest.mark.parametrize("name", ["WISE_all", "GenEvalPP", "ImagineBench", "OmniContext"])
def test_benchmarks_that_need_a_judge_have_one_or_say_so(name: str, keyless: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match=f"'{name}' is scored by 'gpt-4o', which needs a key") as caught:
        judge(name)
    assert "OPENAI_API_KEY" in caught.value.hint
    keyless.setenv("OPENAI_API_KEY", "sk-2")
    assert judge(name) == ("openai:gpt-4o", {}, {})


def test_a_judge_without_key_and_a_detector_are_refused(keyless: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlanError, match="judge 'gpt-4o' needs a key"):
        judge(judge="gpt-4o")
    with pytest.raises(PlanError, match="'mask2former' is a model that does not come with Polymeter"):
        judge(judge="mask2former")


def test_what_evaluate_is_told() -> None:
    told = {"model": "gpt-4o", "key": "sk-1", "api_base": "http://h", "temperature": 0}
    config = UlmevalConfig(judge_args=told, api_nproc=8, retry=2, verbose=True)
    assert judge_arguments(config) == {"temperature": 0, "nproc": 8, "retry": 2, "verbose": True}
    assert judge_arguments(UlmevalConfig()) == {}
