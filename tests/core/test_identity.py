"""Fingerprints, seeds and source hashes: the same for the same thing, everywhere, and different for any other."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.acting.tools import Tool
from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.identity import canonical, fingerprint, request_fingerprint, seed_for, source_hash
from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Origin, Request

PRINT_FINGERPRINTS = """
from pathlib import Path
from polymeter.core.identity import fingerprint, request_fingerprint, seed_for
from polymeter.core.content import Image, Text
from polymeter.core.request import Generate, Message, Request
message = Message("user", (Text("what?"), Image(b"bytes"), Image(b"x", key="row:1")))
print(fingerprint({"set": {"a", "b", "c", 1, 2.5}, "z": 1, "a": (Path("x/y"), None, True), "nan": float("nan")}))
print(request_fingerprint(Request((message,), Generate(stop=("x",), extra={"b": {"q", "p"}, "a": 1}))))
print(request_fingerprint(Request((message,), Generate(seed=1)), by_content=True))
print(seed_for(7, "task", "sample", 3))
"""


def test_fingerprints_are_the_same_in_every_process() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", PRINT_FINGERPRINTS],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "12345")
    ]
    assert printed[0] == printed[1]
    assert len(set(printed[0].split())) == 4


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
plain = st.recursive(
    scalars, lambda i: st.lists(i, max_size=4) | st.dictionaries(st.text(max_size=4), i, max_size=4), max_leaves=12
)


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same value with its keys in another order and its lists as tuples."""
    if isinstance(value, dict):
        items = [(key, shuffled(item, rng)) for key, item in value.items()]
        rng.shuffle(items)
        return dict(items)
    return tuple(shuffled(item, rng) for item in value) if isinstance(value, list) else value


@settings(deadline=None)
@given(plain, st.randoms(use_true_random=False))
def test_order_of_keys_and_kind_of_sequence_do_not_count(value: Any, rng: random.Random) -> None:
    assert fingerprint(shuffled(value, rng)) == fingerprint(value)


@settings(deadline=None)
@given(plain, plain)
def test_different_values_have_different_fingerprints(one: Any, other: Any) -> None:
    are_equal = repr(canonical(one)) == repr(canonical(other))
    assert (fingerprint(one) == fingerprint(other)) == are_equal


def test_canonical_takes_arrays_paths_sets_bytes_and_dataclasses() -> None:
    assert canonical(np.arange(3)) == [0, 1, 2]
    assert canonical(Path("a") / "b") == "a/b"
    assert canonical({3, 1, 2}) == [1, 2, 3]
    assert canonical(b"x") != canonical(b"y")
    written = {"continuations": ["a"], "template": "auto", "is_last_token": False, "is_rolling": False}
    assert canonical(Loglikelihood(("a",))) == written


@pytest.mark.parametrize("value", [len, object(), [lambda: 0], {"a": open}])
def test_what_has_no_stable_meaning_has_no_identity(value: Any) -> None:
    with pytest.raises(TypeError, match="no stable identity"):
        fingerprint(value)


# --- requests ---------------------------------------------------------------------------------------------------------

CHANGES: dict[type[Any], dict[str, Any]] = {
    Generate: {
        "max_new_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ("END",),
        "seed": 1,
        "extra": {"top_k": 3},
        "template": "none",
        "tools": (Tool("crop"),),
        "tool_choice": "required",
    },
    Loglikelihood: {"continuations": ("yes", "no"), "template": "none", "is_last_token": True, "is_rolling": True},
    GenerateImage: {"size": (64, 32), "seed": 1, "extra": {"steps": 3}},
}
ASKS: list[Any] = [Generate(), Loglikelihood(("yes",)), GenerateImage()]


def asking(ask: Any, *parts: Any, role: Any = "user", origin: Origin | None = None) -> Request:
    return Request((Message(role, parts or (Text("what?"),)),), ask, origin)


@pytest.mark.parametrize("ask", ASKS, ids=lambda ask: ask.kind)
def test_every_field_of_an_ask_is_identity(ask: Any) -> None:
    names = {field.name for field in fields(ask)} - {"repeat"}
    assert names == set(CHANGES[type(ask)]), "a field of an ask has no example here: is it part of the fingerprint?"
    base = request_fingerprint(asking(ask))
    for name, value in CHANGES[type(ask)].items():
        changed = request_fingerprint(asking(replace(ask, **{name: value})))
        assert changed != base, f"{type(ask).__name__}.{name} does not change the fingerprint"


def test_asks_of_different_kinds_are_different() -> None:
    assert len({request_fingerprint(asking(ask)) for ask in ASKS}) == len(ASKS)


def test_where_a_request_comes_from_does_not_count() -> None:
    base = asking(Generate())
    origins = [
        Origin("t", "1"),
        Origin("u", "2", "test", 5, "agentic", {"a": 1}, {"b": 2}, {"prompt": 1}),
    ]
    for origin in origins:
        changed = replace(base, origin=origin)
        assert request_fingerprint(changed) == request_fingerprint(base)
        assert changed == base


@pytest.mark.parametrize(
    "messages",
    [
        (Message("system", (Text("what?"),)),),
        (Message("user", (Text("What?"),)),),
        (Message("user", (Text("wh"), Text("at?"))),),
        (Message("user", (Text("what?"), Text(""))),),
        (Message("user", (Text("what?"),)), Message("assistant", (Text(""),))),
        (Message("user", (Text("what?"), Image(b"x"))),),
        (Message("user", (Image(b"x"), Text("what?"))),),
        (),
    ],
    ids=range(8),
)
def test_every_change_of_the_messages_counts(messages: tuple[Message, ...]) -> None:
    assert request_fingerprint(Request(messages, Generate())) != request_fingerprint(asking(Generate()))


@pytest.mark.parametrize("make", [Image, Audio, Video])
def test_media_is_known_by_its_key_inside_a_run_and_by_its_bytes_across_runs(make: Callable[..., Any]) -> None:
    def prints(by_content: bool) -> list[str]:
        media = [make(b"a", key="row:1"), make(b"b", key="row:1"), make(b"a", key="row:2"), make(b"a")]
        return [request_fingerprint(asking(Generate(), medium), by_content=by_content) for medium in media]

    same_key, other_bytes, other_key, no_key = prints(by_content=False)
    assert same_key == other_bytes
    assert len({same_key, other_key, no_key}) == 3
    same_bytes, changed, same_again, unnamed = prints(by_content=True)
    assert same_bytes == same_again == unnamed == no_key
    assert changed != same_bytes


def test_a_key_spares_reading_the_medium() -> None:
    def read() -> bytes:
        raise AssertionError("was read")

    request_fingerprint(asking(Generate(), Image(read, key="row:1")))


def test_kind_and_part_of_a_medium_count() -> None:
    prints = {
        request_fingerprint(asking(Generate(), part))
        for part in (
            Image(b"x", key="k"),
            Audio(b"x", key="k"),
            Video(b"x", key="k"),
            Video(b"x", key="k", start_s=1.0),
            Video(b"x", key="k", end_s=1.0),
            Text("k"),
        )
    }
    assert len(prints) == 6


# --- seeds and sources ------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(), st.lists(st.text(max_size=5) | st.integers(), max_size=4))
def test_a_seed_fits_every_library_and_repeats(run_seed: int, parts: list[str | int]) -> None:
    seed = seed_for(run_seed, *parts)
    assert 0 <= seed < 2**31
    assert seed == seed_for(run_seed, *parts)
    np.random.RandomState(seed)


def test_seeds_of_different_purposes_are_independent() -> None:
    seeds = {seed_for(0, "task", str(sample), number) for sample in range(60) for number in range(60)}
    assert len(seeds) == 3600
    assert seed_for(0, "ab", "c") != seed_for(0, "a", "bc")
    assert seed_for(0, "a") != seed_for(1, "a")
    high_bits = [seed_for(0, "task", number) >> 30 for number in range(2000)]
    assert 900 < sum(high_bits) < 1100


def test_a_source_hash_is_of_names_contents_and_configuration(tmp_path: Path) -> None:
    code = tmp_path / "utils.py"
    code.write_text("x = 1")
    base = source_hash([code], {"a": 1})
    assert source_hash([code, code], {"a": 1}) == base
    assert source_hash([code], {"a": 2}) != base
    code.write_text("x = 2")
    assert source_hash([code], {"a": 1}) != base
    code.write_text("x = 1")
    assert source_hash([code], {"a": 1}) == base
    assert source_hash([code.rename(tmp_path / "other.py")], {"a": 1}) != base


def test_a_source_hash_does_not_depend_on_the_place(tmp_path: Path) -> None:
    def written(first: str, second: str) -> list[Path]:
        files = [tmp_path / first / "b.py", tmp_path / second / "a.py"]
        for file in files:
            file.parent.mkdir()
            file.write_text(f"# {file.name}")
        return files

    assert source_hash(written("one", "two")) == source_hash(written("zzz", "aaa"))


def test_settings_that_are_shared_are_told_from_equal_ones_that_are_written_otherwise() -> None:
    shared = {"top_k": 5}
    by_temperature = [Generate(temperature=value, seed=1, extra=shared) for value in (0, 0.0, 0)]
    messages = (Message("user", (Text("what?"),)),)
    whole, broken, again = (request_fingerprint(Request(messages, parameters)) for parameters in by_temperature)
    assert whole == again != broken
    alone = Generate(temperature=0.0, seed=1, extra={"top_k": 5})
    assert request_fingerprint(Request(messages, alone)) == broken
    assert request_fingerprint(Request(messages, alone.repeated(2, 1))) != broken
