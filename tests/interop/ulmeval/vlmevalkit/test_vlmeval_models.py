"""Which model a name of VLMEvalKit means."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig
from polymeter.interop.ulmeval.model_names import MODEL_KEY, ListedModel, choose_model
from polymeter.interop.ulmeval.models.loading import find_wrapper
from polymeter.interop.ulmeval.models.native import supported_ULM
from polymeter.interop.ulmeval.models.vlmevalkit import listed_names
from polymeter.interop.ulmeval.models.vlmevalkit.endpoints import API_CLASSES, KEY, endpoint_of
from polymeter.interop.ulmeval.models.vlmevalkit.names import checked_out, configuration_beside, supported
from polymeter.interop.ulmeval.vlmevalkit.kit import VlmevalKit
from polymeter.interop.ulmeval.vlmevalkit.status import StatusFile
from tests.helpers.openai_stub import OpenAIStub, chat

PLAIN = UlmevalConfig()
KIT = VlmevalKit(StatusFile([], mode="all", reuse=False, reuse_aux="all"))
CONFIG = """
from functools import partial
import vlmeval.vlm as vlm
ROOT = None
series = {
    "Parrot-7B": partial(vlm.Parrot, size=2**3, root=ROOT, loud=True),
    "Lost": partial(vlm.Lost),
}
"""
PARROT = """
from ..base import BaseModel


class Parrot(BaseModel):
    def __init__(self, size=1, root=None, loud=False):
        self.size = size

    def generate_inner(self, message, dataset=None):
        return "B"
"""
MACAW = """
from vlmeval.vlm.birds.parrot import Parrot


class Macaw(Parrot):
    pass
"""


def model(name: str, config: UlmevalConfig = PLAIN, **arguments: Any) -> ListedModel:
    return KIT.model(NamedObject(name, arguments=arguments), config)


def of_class(cls: str, **arguments: Any) -> ListedModel:
    return KIT.model(NamedObject("mine", cls, arguments), PLAIN)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for own in (*(cls.key_env for cls in API_CLASSES.values()), "OPENAI_API_KEY", "XAI_API_KEY", "BAIDU_API_KEY"):
        if own:
            monkeypatch.setenv(own, "k")
    for own in (*(cls.base_env for cls in API_CLASSES.values()), "FWD_API"):
        if own:
            monkeypatch.delenv(own, raising=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "kit" / "vlmeval"
    for folder in ("smp", "vlm/birds", "dataset", "api"):
        (package / folder).mkdir(parents=True)
    for name in ("__init__.py", "vlm/__init__.py", "vlm/birds/__init__.py", "smp/__init__.py"):
        (package / name).write_text("")
    (package / "config.py").write_text(CONFIG)
    (package / "vlm" / "birds" / "parrot.py").write_text(PARROT)
    (package / "api" / "macaw.py").write_text(MACAW)
    return tmp_path / "kit"


def test_every_name_of_the_list_says_what_runs_it() -> None:
    names = listed_names()
    assert len(names) == 554
    assert names["GPT4o_20241120"] == "openai:gpt-4o-2024-11-20"
    assert names["Qwen2.5-VL-7B-Instruct"] == "hf:Qwen/Qwen2.5-VL-7B-Instruct"
    assert names["InternVL3-8B"] == "needs the wrapper InternVLChat: --model-path VLMEVALKIT"
    assert names["Bedrock_Claude3Opus"] == "needs the provider's package boto3"
    assert all(entry.cls in API_CLASSES for entry in supported().values() if entry.is_api)


@pytest.mark.skipif("VLMEVALKIT" not in os.environ, reason="VLMEVALKIT names no checkout")
def test_the_list_is_the_tools() -> None:
    config = configuration_beside(Path(os.environ["VLMEVALKIT"]))
    assert config is not None
    theirs = checked_out(config)
    assert {name: entry.cls for name, entry in theirs.items()}.items() <= {
        name: entry.cls for name, entry in supported().items()
    }.items()


@pytest.mark.usefixtures("keys")
def test_endpoints_of_the_list() -> None:
    chosen = model("GPT4o")
    assert chosen.spec == ModelSpec(
        "openai", "gpt-4o-2024-05-13", {"image_detail": "low", "max_image_side": 512, "api_key_env": "OPENAI_API_KEY"}
    )
    assert chosen.text_settings == {"temperature": 0, "max_new_tokens": 2048}
    grok = model("grok-4-0709")
    assert grok.spec.args["base_url"] == "https://api.x.ai/v1"
    assert grok.spec.args["api_key_env"] == "XAI_API_KEY"
    assert grok.options == {"timeout_s": 1200}
    assert model("ernie4.5-turbo").spec.args["base_url"] == "https://qianfan.baidubce.com/v2"
    assert model("Together_Qwen2-VL-72B").spec.args["api_key_env"] == "TOGETHER_API_KEY"
    assert model("Claude3-7V_Sonnet").spec.backend == "anthropic"
    assert model("GeminiFlash2-5").spec == ModelSpec("gemini", "gemini-2.5-flash", {"api_key_env": "GOOGLE_API_KEY"})
    zhinao = model("360zhinao3-vl")
    assert zhinao.spec.args["extra_body"] == {"thinking_budget": 18000}
    assert zhinao.text_settings["top_k"] == 20


def test_a_class_of_a_configuration() -> None:
    chosen = of_class("GPT4V", model="m", api_base="http://here/v1/chat/completions", key="secret", img_detail="high")
    assert chosen.spec == ModelSpec(
        "openai", "m", {"image_detail": "high", "base_url": "http://here/v1", "api_key_env": KEY}
    )
    assert chosen.keys == {KEY: "secret"}
    assert "secret" not in repr(chosen)
    served = of_class("LMDeployAPI", model="m", api_base="http://here/v1", max_tokens=9, retry=2, custom_prompt="qwen3")
    assert served.text_settings == {"temperature": 0, "max_new_tokens": 9}
    assert served.options == {"max_retries": 2}
    assert "custom_prompt of mine has no effect" in served.notes[0]


def test_fields_of_every_request() -> None:
    given = {"enable_thinking": True, "extra_body": {"temprature": 1}}
    chosen = of_class("LMDeployAPI", model="m", api_base="http://here/v1", **given)
    assert chosen.spec.args["extra_body"] == {"enable_thinking": True, "temprature": 1}


def test_a_class_of_ulmevalkits_configuration_may_be_one_of_an_endpoint() -> None:
    named = NamedObject("mine", "OpenAIWrapper", {"model": "m", "api_base": "http://here/v1"})
    assert choose_model(named, PLAIN).spec.args["base_url"] == "http://here/v1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("GPT4o_HGH", "There is no model 'GPT4o_HGH'"),
        ("InternVL3-8B", "needs the tool's wrapper InternVLChat"),
        ("LiteLLM_GPT4o", "needs the provider's package litellm"),
        ("Step1o", "needs a key"),
        ("api-kimi-vl", ""),
    ],
)
def test_names_that_cannot_be_run_say_why(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEPAI_API_KEY", raising=False)
    if message:
        with pytest.raises(PlanError) as caught:
            model(name)
        assert message in caught.value.what
        assert caught.value.hint
    else:
        assert model(name).spec.args["base_url"] == "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        ("GPT4", {"model": "m"}, "no model class 'GPT4'"),
        ("GPT4V", {}, "names no model"),
        ("LMDeployAPI", {"model": "m", "api_base": "http://here", "temprature": 1}, "Did you mean 'temperature'"),
        ("LMDeployAPI", {"model": "m", "api_base": "http://here", "clas": "x"}, "Did you mean 'class'"),
        ("InternVLChat", {}, "needs the tool's wrapper"),
        ("LMDeployAPI", {"model": "m"}, "at a server of your own"),
    ],
)
def test_classes_that_cannot_be_made(
    cls: str, arguments: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LMDEPLOY_API_BASE", raising=False)
    with pytest.raises(PlanError, match=message):
        of_class(cls, **arguments)


def test_an_address_takes_any_name() -> None:
    config = UlmevalConfig(base_url="http://here/v1/", key="k", endpoint={"video": "url"})
    chosen = model("org/any", config)
    assert chosen.spec.name == "org/any"
    assert chosen.spec.args == {"base_url": "http://here/v1", "video": "url", "api_key_env": MODEL_KEY}
    assert chosen.text_settings == {"temperature": 0.0, "max_new_tokens": 32768}
    assert chosen.options == {"timeout_s": 1800}
    assert model("openai:x", config).spec.args["base_url"] == "http://here/v1"


def test_fwd_api_reaches_every_model_through_openais_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FWD_API", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert endpoint_of("Gemini", {"model": "gemini-x"}).backend == "openai"


def test_a_script_asks_an_endpoint_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIStub(lambda received: chat("a cat")) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_API_BASE", f"{stub.base_url}/chat/completions")
        own = supported_ULM["GPT4o_20240806"](temperature=0.5)
        assert own.generate("What is it?") == "a cat"
    sent = stub.bodies[-1]
    assert (sent["model"], sent["temperature"]) == ("gpt-4o-2024-08-06", 0.5)
    with pytest.raises(PlanError, match="needs the tool's wrapper"):
        supported_ULM["InternVL3-8B"]()
    with pytest.raises(KeyError):
        supported_ULM["GPT4oo-none"]


def test_weights_of_a_known_architecture_run_without_the_wrapper() -> None:
    chosen = model("Qwen2.5-VL-7B-Instruct")
    assert chosen.spec == ModelSpec("vlm", "Qwen2.5-VL-7B-Instruct")
    assert "without the prompts and settings" in chosen.notes[0]


@pytest.mark.parametrize("place", ["", "vlmeval", "vlmeval/vlm"])
def test_a_wrapper_of_a_checkout_has_the_arguments_of_its_entry(place: str, checkout: Path) -> None:
    found = find_wrapper("Parrot-7B", str(checkout / place))
    assert found.name == "Parrot-7B"
    assert found.arguments == {"size": 8, "loud": True}
    assert found.make(**found.arguments).generate_inner([]) == "B"
    assert find_wrapper("Parrot", str(checkout / place)).arguments == {}


@pytest.mark.usefixtures("keys")
def test_an_endpoint_is_asked_itself_unless_the_users_file_has_the_name(checkout: Path) -> None:
    file = checkout / "vlmeval" / "vlm" / "birds" / "parrot.py"
    for place in (checkout, file):
        config = UlmevalConfig(model_path=str(place))
        assert model("GPT4o", config).spec.backend == "openai"
        assert model("Parrot", config).spec == ModelSpec("vlm", "Parrot", {}, str(place))
    added = "from vlmeval.config import supported_VLM\nsupported_VLM['GPT4o'] = Parrot\n"
    mine = checkout / "mine.py"
    mine.write_text(PARROT.replace("..base", "vlmeval.vlm.base") + added)
    assert model("GPT4o", UlmevalConfig(model_path=str(mine))).spec.backend == "vlm"


def test_a_wrapper_of_an_endpoint_may_be_made_of_another_one(checkout: Path) -> None:
    assert find_wrapper("Macaw", str(checkout)).make().generate_inner([]) == "B"


@pytest.mark.parametrize(
    ("name", "message"), [("Parot-7B", "has no model 'Parot-7B'"), ("Lost", "No file of the checkout defines 'Lost'")]
)
def test_what_a_checkout_lacks(name: str, message: str, checkout: Path) -> None:
    with pytest.raises(PlanError, match=message):
        find_wrapper(name, str(checkout))
