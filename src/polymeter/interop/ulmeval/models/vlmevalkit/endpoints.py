"""VLMEvalKit's classes for endpoints, as Polymeter's backends: names, addresses and variables of keys as there.

A class whose provider speaks OpenAI's protocol is the ``openai`` backend at that address; Google's and Anthropic's own
APIs have backends of their own. For any other provider the error states what its wrapper needs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean

KEY = "VLMEVAL_API_KEY"
"""The variable that holds a key that a command or its configuration names. Its value is never written."""
_CHAT = "/chat/completions"
_OFFICIAL = "OFFICIAL"
_OPENAI_KEY = "OPENAI_API_KEY"
_SETTINGS: Mapping[str, str] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "repetition_penalty": "repetition_penalty",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "max_new_tokens",
    "max_new_tokens": "max_new_tokens",
    "max_completion_tokens": "max_new_tokens",
    "max_length": "max_new_tokens",
    "do_sample": "do_sample",
}
"""Arguments that are generation settings, with their names here."""
_RUN_OPTIONS: Mapping[str, str] = {"timeout": "timeout_s", "retry": "max_retries", "system_prompt": "system_prompt"}
_DROPPED = frozenset(
    {
        "verbose",
        "wait",
        "stream",
        "total_img_size",
        "max_file_size",
        "use_lmdeploy",
        "version",
        "local_media",
        "fail_msg",
    }
)
"""Arguments without effect on what is sent: the whole answer is read, and media is sent unchanged."""
_BODY = "extra_body"
_OTHERS = ("class", "model", "api_base", "key", "img_size", "img_detail", "video_llm", "use_azure", _BODY)
_PROMPTS = ("custom_prompt", "cot_prompt_version")
_KEY_BY_NAME = (
    ("step", "STEPAI_API_KEY"),
    ("yi-vision", "YI_API_KEY"),
    ("internvl2-pro", "InternVL2_PRO_KEY"),
    ("abab", "MiniMax_API_KEY"),
    ("moonshot", "MOONSHOT_API_KEY"),
    ("grok", "XAI_API_KEY"),
    ("ernie", "BAIDU_API_KEY"),
)
"""The variable of the key for parts of model names, in the tool's order; else ``OPENAI_API_KEY``."""
_BAIDU = ("ernie", "https://qianfan.baidubce.com/v2")


@dataclass(frozen=True, slots=True)
class ApiClass:
    """One of the tool's classes.

    Attributes:
        backend: The backend that runs its models; empty if none does.
        base_url: The address, up to the version; empty: the backend's.
        key_env: The variable of its key; empty: by the model's name.
        base_env: The variable that replaces the address.
        settings: Its generation settings unless an entry sets others.
        arguments: Arguments of the backend unless an entry sets others.
        default_key: The key that it uses if none is set, for servers that check none.
        needs: What its wrapper needs, if no backend runs it.
    """

    backend: str = "openai"
    base_url: str = ""
    key_env: str = ""
    base_env: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    default_key: bool = False
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at an endpoint.

    Attributes:
        backend: The backend.
        name: The model's name there.
        arguments: Arguments of the backend.
        settings: Generation settings.
        options: Options of the run.
        keys: Environment variables to set while it is in use. Never written.
        notes: What of the entry has no effect.
    """

    backend: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()


_GREEDY: Mapping[str, Any] = {"temperature": 0, "max_new_tokens": 2048}
_SERVED = {"temperature": 0, "max_new_tokens": 16384}
_OPENAI = ApiClass(base_env="OPENAI_API_BASE", settings=_GREEDY, arguments={"image_detail": "low"})
_SDK = ApiClass(settings=_GREEDY)
_SERVER = ApiClass(key_env="LMDEPLOY_API_KEY", base_env="LMDEPLOY_API_BASE", settings=_SERVED, default_key=True)
_ANTHROPIC = ApiClass("anthropic", key_env="ANTHROPIC_API_KEY", settings=_GREEDY)
_GEMINI = ApiClass("gemini", key_env="GOOGLE_API_KEY", settings={"temperature": 0})
_KIMI = ApiClass(
    base_url="http://localhost:8000/v1",
    key_env="KIMI_VL_API_KEY",
    base_env="KIMI_VL_API_BASE",
    settings=_GREEDY,
    default_key=True,
)
_SILICON = ApiClass(base_url="https://api.siliconflow.cn/v1", key_env="SiliconFlow_API_KEY", settings=_GREEDY)


def _package(name: str) -> ApiClass:
    return ApiClass("", needs=f"the provider's package {name}")


def _protocol(provider: str) -> ApiClass:
    return ApiClass("", needs=f"the own protocol of {provider}")


API_CLASSES: Mapping[str, ApiClass] = {
    "GPT4V": _OPENAI,
    "OpenAIWrapper": _OPENAI,
    "OpenAISDKWrapper": _SDK,
    "LMDeployAPI": _SERVER,
    "LMDeployWrapper": _SERVER,
    "TogetherAPI": ApiClass(
        base_url="https://api.together.xyz/v1",
        key_env="TOGETHER_API_KEY",
        base_env="TOGETHER_API_BASE",
        settings=_GREEDY,
    ),
    "MiniMaxAPI": ApiClass(
        base_url="https://api.minimax.io/v1", key_env="MINIMAX_API_KEY", base_env="MINIMAX_API_BASE", settings=_GREEDY
    ),
    "SiliconFlowAPI": _SILICON,
    "TeleMMAPI": _SILICON,
    "KimiVLAPI": _KIMI,
    "KimiVLAPIWrapper": _KIMI,
    "DoubaoVL": ApiClass(
        base_url="https://ark.cn-beijing.volces.com/api/v3", key_env="DOUBAO_VL_KEY", settings=_GREEDY
    ),
    "TaichuVLAPI": ApiClass(key_env="TAICHU_API_KEY", settings=_GREEDY),
    "TaichuVLRAPI": ApiClass(
        base_url="https://platform.wair.ac.cn/maas/v1", key_env="TAICHU_API_KEY", settings=_GREEDY
    ),
    "SenseChatVisionV2API": ApiClass(
        base_url="https://api.sensenova.cn/compatible-mode/v2", key_env="SENSENOVA_API_KEY", settings=_GREEDY
    ),
    "Gemini": _GEMINI,
    "GeminiWrapper": _GEMINI,
    "Claude3V": _ANTHROPIC,
    "Claude_Wrapper": _ANTHROPIC,
    "LiteLLMAPI": _package("litellm"),
    "BedrockAPI": _package("boto3"),
    "GCPVertexAPI": _package("google-auth"),
    "QwenVLAPI": _package("dashscope"),
    "QwenVLWrapper": _package("dashscope"),
    "Qwen2VLAPI": _package("dashscope"),
    "QwenAPI": _package("dashscope"),
    "GLMVisionAPI": _package("zhipuai"),
    "HunyuanVision": _package("tencentcloud-sdk-python"),
    "Reka": _package("reka-api"),
    "ARM_thinker": ApiClass("", needs="the code of ARM-Thinker, which is in no package that Polymeter uses"),
    "HFChatModel": ApiClass("", needs="a text model: name it hf:MODEL"),
    "CWWrapper": _protocol("CongRong"),
    "SenseChatVisionAPI": _protocol("SenseNova"),
    "bailingMMAPI": _protocol("BailingMM"),
    "BlueLM_API": _protocol("BlueLM"),
    "BlueLMWrapper": _protocol("BlueLM"),
    "JTVLChatAPI": _protocol("JiuTian"),
    "JTVLChatAPI_Mini": _protocol("JiuTian"),
    "JTVLChatAPI_2B": _protocol("JiuTian"),
    "VideoChatOnlineV2API": _protocol("VideoChatOnline"),
    "TaiyiAPI": _protocol("Taiyi"),
    "TeleMM2_API": _protocol("TeleMM"),
    "TeleMM2Thinking_API": _protocol("TeleMM"),
    "MUGUAPI": _protocol("MUG-U"),
    "RBdashMMChat3_API": _protocol("RBdash"),
    "RBdashChat3_5_API": _protocol("RBdash"),
    "RBdashMMChat3_78B_API": _protocol("RBdash"),
    "RBdashMMChat3_5_38B_API": _protocol("RBdash"),
}
"""Every class of the tool's ``vlmeval.api``."""


def endpoint_of(class_name: str, arguments: Mapping[str, Any], *, name: str = "") -> Endpoint:
    """The endpoint that a class of the tool stands for, with the arguments of an entry.

    Args:
        class_name: One of ``API_CLASSES``.
        arguments: Arguments of its constructor, under the tool's names.
        name: The model's name in a command, for messages.

    Raises:
        PlanError: if there is no such class, no backend speaks its protocol, it names no model, its address or its key
            is missing, or it has a prompt of its own.
    """
    label = name or class_name
    if class_name not in API_CLASSES:
        raise PlanError(f"There is no class {class_name!r}.", where=label, hint=did_you_mean(class_name, API_CLASSES))
    if (
        os.environ.get("FWD_API") == "1"
    ):  # as there: every endpoint is reached through one that speaks OpenAI's protocol
        class_name = "GPT4V"
    own = API_CLASSES[class_name]
    if not own.backend:
        raise PlanError(
            f"Model {label!r} needs {own.needs}.",
            where="--model",
            hint="Run the tool's own wrapper, --model-path VLMEVALKIT, or name an endpoint with OpenAI's protocol: "
            "--model NAME --base-url ADDRESS.",
        )
    rest = {key: value for key, value in arguments.items() if value is not None}
    model = str(rest.pop("model", "") or rest.pop("model_id", ""))
    if not model:
        raise PlanError(f"Model {label!r} names no model of {class_name}.", where="--config model", hint="Add 'model'.")
    settings = {**own.settings, **{_SETTINGS[key]: rest.pop(key) for key in list(rest) if key in _SETTINGS}}
    options = {_RUN_OPTIONS[key]: rest.pop(key) for key in list(rest) if key in _RUN_OPTIONS}
    notes = tuple(
        f"{key} of {label} has no effect: prompts of the tool's adapters do not come with Polymeter."
        for key in _PROMPTS
        if rest.pop(key, None)
    )
    rest = {key: value for key, value in rest.items() if key not in _DROPPED}
    place, keys = _address(own, model, label, rest)
    backend_args = {**own.arguments, **_media(rest), **place}
    if own.backend == "openai" and class_name == "DoubaoVL":
        model = os.environ.get(_doubao_variable(model)) or model
    body = {**rest.pop(_BODY, {}), **rest}
    _refuse_misspelt(rest, label)
    if body:
        backend_args[_BODY] = body
    return Endpoint(own.backend, model, backend_args, settings, options, keys, notes)


def _refuse_misspelt(rest: Mapping[str, Any], label: str) -> None:
    """Refuse an argument that would be a field of every request, but is spelt almost like another one.

    Raises:
        PlanError: if there is one.
    """
    known = [*_SETTINGS, *_RUN_OPTIONS, *_DROPPED, *_PROMPTS, *_OTHERS]
    for key in rest:
        hint = did_you_mean(key, known, n=1)
        if hint:
            raise PlanError(
                f"{label} has no argument {key!r}.",
                where="--config model",
                hint=f"{hint} A field of every request goes into '{_BODY}'.",
            )


def _media(rest: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the backend about media, taken out of an entry's."""
    found: dict[str, Any] = {}
    side = rest.pop("img_size", -1)
    if isinstance(side, int) and side > 0:
        found["max_image_side"] = side
    if "img_detail" in rest:
        found["image_detail"] = rest.pop("img_detail")
    if rest.pop("video_llm", False):
        found["video"] = "url"
    return found


def _address(own: ApiClass, model: str, label: str, rest: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Address and key of an endpoint: arguments of the backend, and variables to set."""
    given = str(rest.pop("api_base", "") or rest.pop("url", ""))
    given = "" if given == _OFFICIAL else given
    base = given or os.environ.get(own.base_env, "") or own.base_url
    if own.backend == "openai" and _BAIDU[0] in model and not own.base_url:
        base = _BAIDU[1]
    key = str(rest.pop("key", ""))
    is_azure = bool(rest.pop("use_azure", False))
    if is_azure:
        return _azure(label, key)
    arguments: dict[str, Any] = {"base_url": plain_base(base)} if base else {}
    if own.default_key and not base:
        raise PlanError(
            f"Model {label!r} is at a server of your own, and no address is given.",
            where="--model",
            hint=f"Name it with --base-url, or set {own.base_env}.",
        )
    variable = own.key_env or (_key_by_name(model) if own.backend == "openai" else "")
    if key:
        return {**arguments, "api_key_env": KEY}, {KEY: key}
    if own.default_key or not variable:
        return ({**arguments, "api_key_env": variable} if variable else arguments), {}
    # Without an address of the entry's own, the provider's endpoint is asked, which refuses requests without a key.
    if not os.environ.get(variable) and not (given and variable == _OPENAI_KEY):
        raise PlanError(
            f"Model {label!r} needs a key.",
            where="--model",
            hint=f"Set {variable}, or name your own endpoint with --base-url.",
        )
    return {**arguments, "api_key_env": variable}, {}


def _azure(label: str, key: str) -> tuple[dict[str, Any], dict[str, str]]:
    names = ("AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        raise PlanError(f"Model {label!r} is at Azure, and {missing[0]} is not set.", where="--config model")
    arguments = dict(zip(("azure_endpoint", "api_version"), map(os.environ.__getitem__, names), strict=True))
    return ({**arguments, "api_key_env": KEY}, {KEY: key}) if key else (arguments, {})


def plain_base(url: str) -> str:
    """An address without the path of chats, which the tool's addresses include."""
    return url.strip().rstrip("/").removesuffix(_CHAT)


def _key_by_name(model: str) -> str:
    named = next((variable for part, variable in _KEY_BY_NAME if part in model), "")
    return named or ("GOOGLE_API_KEY" if "gemini" in model and "preview" in model else _OPENAI_KEY)


def _doubao_variable(model: str) -> str:
    return f"DOUBAO_VL_ENDPOINT_{model.replace('.', '_').replace('-', '_').upper()}"
