"""Secrets are hidden wherever settings are written down, and names that only look like secrets are not."""

from __future__ import annotations

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.secrets import hide_in_arguments, hide_secrets, is_secret_name, remember, without_secrets

SECRET = [
    "api_key",
    "api-key",
    "x-api-key",
    "OPENAI_API_KEY",
    "openai_key",
    "hf_token",
    "token",
    "key",
    "Authorization",
]
HARMLESS = [
    "image_token",
    "eos_token",
    "score_key",
    "cluster_key",
    "prompt_key",
    "tokenizer",
    "keypoints",
    "max_tokens",
]


@pytest.mark.parametrize(
    "name", [*SECRET, "passwd", "password", "client_secret", "access_token", "aws_secret_access_key"]
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", HARMLESS)
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_secret_name(name)


def test_texts() -> None:
    assert hide_secrets("a=1,api_key=sk-12,b=2") == "a=1,api_key=***,b=2"
    assert hide_secrets('{"api-key": "sk-12", "n": 3}') == '{"api-key": "***", "n": 3}'
    assert hide_secrets("https://me:pw12@host/v1") == "https://***@host/v1"
    assert hide_secrets("Answer key: B. The token: one.") == "Answer key: B. The token: one."


def test_arguments() -> None:
    typed = ["run", "--api-key", "sk-12", "--model-args", "token=t12,x=1", "--prompt-key", "gpt4v"]
    assert hide_in_arguments(typed) == [
        "run",
        "--api-key",
        "***",
        "--model-args",
        "token=***,x=1",
        "--prompt-key",
        "gpt4v",
    ]


def test_data_at_any_depth() -> None:
    data = {"dataset_kwargs": {"token": "hf_12", "split": "test"}, "list": [{"password": "p"}], "token": True}
    assert without_secrets(data) == {
        "dataset_kwargs": {"token": "***", "split": "test"},
        "list": [{"password": "***"}],
        "token": True,
    }


def test_every_header_and_cookie_is_a_secret_whatever_its_name() -> None:
    arguments = {
        "headers": {"X-Team": "t", "N": 3},
        "extra_headers": {"A": "b"},
        "cookies": {"c": "d"},
        "header": "infer",
    }
    assert without_secrets(arguments) == {
        "headers": {"X-Team": "***", "N": "***"},
        "extra_headers": {"A": "***"},
        "cookies": {"c": "***"},
        "header": "infer",
    }


def test_body_fields_stay_unless_they_are_named_like_credentials_at_any_depth() -> None:
    body = {"apiKey": "a", "credentials": {"user": "u", "pin": 1}, "auth": {"client-secret": "s"}, "max_tokens": 5}
    assert without_secrets({**body, "key": 7, "top_k": 3, "stop": ["x"]}) == {
        "apiKey": "***",
        "credentials": {"user": "***", "pin": "***"},
        "auth": {"client-secret": "***"},
        "max_tokens": 5,
        "key": 7,
        "top_k": 3,
        "stop": ["x"],
    }


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('headers={"Authorization":"Bearer a b","X":"c,d"},n=1', 'headers={"Authorization":"***","X":"***"},n=1'),
        ('--model-args=\'headers={"Cookie":"a=b; c=d"}\'', '--model-args=\'headers={"Cookie":"***"}\''),
        (r'"{\"headers\": {\"X-A\": \"s\"}, \"n\": 1}"', r'"{\"headers\": {\"X-A\": \"***\"}, \"n\": 1}"'),
        ("Authorization: Bearer a b\r\nHost: x", "Authorization: ***\r\nHost: x"),
        ("{'Authorization': 'Bearer a b', 'Host': 'x'}", "{'Authorization': '***', 'Host': 'x'}"),
        ("https://token@host/x?n=1", "https://***@host/x?n=1"),
        ("https://host/x?api_key=a", "https://host/x?api_key=***"),
        ("api_key='a b',max_tokens=5", "api_key='***',max_tokens=5"),
    ],
)
def test_texts_of_every_form(text: str, hidden: str) -> None:
    assert hide_secrets(text) == hidden
    assert hide_secrets(hidden) == hidden


def test_what_is_remembered_is_removed_from_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    remember({"headers": {"X-Team": "remembered-01", "Content-Type": "application/json"}, "max_tokens": 12345678})
    monkeypatch.setenv("SOME_API_KEY", "from-environment-01")
    error = PlanError("remembered-01 from-environment-01 application/json 12345678")
    assert str(error) == "*** *** application/json 12345678"
