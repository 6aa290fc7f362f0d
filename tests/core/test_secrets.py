"""Secrets are hidden wherever settings are written down, and names that only look like secrets are not."""

from __future__ import annotations

import pytest

from polymeter.core.secrets import hide_in_arguments, hide_secrets, is_secret_name, without_secrets

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
