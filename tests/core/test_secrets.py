"""Secrets are hidden wherever settings are written down, and names that only look like secrets are not."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.text import secrets
from polymeter.core.text.secrets import (
    hidden_address,
    hide_in_arguments,
    hide_secrets,
    is_secret_name,
    remember,
    scrubbed,
    without_secrets,
)

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
        ("https://me:a/b#c@host/v1", "https://***@host/v1"),
        ("http://host:80/at@home and http://[::1]:80/at@home", "http://host:80/at@home and http://[::1]:80/at@home"),
        ("[http://host:80]/at@home", "[http://host:80]/at@home"),
        ("{url:http://host:80};user/at@home", "{url:http://host:80};user/at@home"),
        ("(http://host:80),http:/at@home", "(http://host:80),http:/at@home"),
        ("http://host:80./at@home", "http://host:80./at@home"),
        ("http://me:80.pass@host", "http://***@host"),
        ("http://me:a/b,http://you:c/d@host", "http://me:a/b,http://***@host"),
        ("http://me:a/b:c@host", "http://***@host"),
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


def test_an_address_that_is_none_shows_nothing_before_its_last_at_sign() -> None:
    for url, shown in (
        ("http://me:a b@host/v1", "http://***@host/v1"),
        ("me:a@b@host/v1?api_key=c", "***@host/v1?api_key=***"),
        ("http//me:a@host", "***@host"),
        ("http://host/v1", "http://host/v1"),
    ):
        assert hidden_address(url) == shown


def test_short_secrets_are_removed_as_words_and_the_shortest_not_at_all() -> None:
    assert scrubbed("a bad k1-x day, k1-xy", ["a", "k1-x", ""]) == "a bad *** day, k1-xy"


def test_cookies_and_users_are_removed_in_every_way_of_writing() -> None:
    text = "eW91OnBhc3M9d29yZC0x pass%3Dword-1 pass=word-1"
    assert scrubbed(text, ["you:pass=word-1"]) == "*** *** ***"


@pytest.mark.parametrize(
    ("name", "value", "text", "shown", "why"),
    [
        ("X_CREDENTIALS", "admin:password", "The password is admin:password", "The password is ***", "a word"),
        ("SESSION_COOKIE", "mode=complete", "complete: mode=complete", "complete: ***", "a setting"),
        (
            "SESSION_COOKIE",
            "a=complete; b=0123456789abc",
            "complete 0123456789abc",
            "complete ***",
            "a long identifier",
        ),
        ("SESSION_COOKIE", "a=complete; b=123456789012", "complete 123456789012", "complete 123456789012", "a number"),
        ("X_CREDENTIALS", "admin:abc12", "abc12 admin%3Aabc12", "abc12 ***", "the whole value in another form"),
        ("PROXY_AUTHORIZATION", "Bearer abcdefghi", "the abcdefghi", "the ***", "what follows a scheme"),
        ("HTTPS_PROXY", "http://me:password@host", "password me", "*** me", "the password of an address"),
        ("X_CREDENTIALS", "http://me:password@host", "password me", "*** me", "the same in a variable that is secret"),
    ],
)
def test_variables_of_the_environment_may_hold_words(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, text: str, shown: str, why: str
) -> None:
    monkeypatch.setenv(name, value)
    assert scrubbed(text) == shown, why


def test_the_forms_of_a_variable_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    ways = secrets._ways_to_write

    def counted(text: str) -> Iterable[str]:
        made.append(text)
        return ways(text)

    monkeypatch.setattr(secrets, "_ways_to_write", counted)
    monkeypatch.setenv("SOME_API_KEY", "made-once/00001")
    assert [str(PlanError("made-once%2F00001", where="x", hint="y")) for _ in range(3)] == ["*** [x] y"] * 3
    assert made.count("made-once/00001") == 1
