"""The recogniser writes down words, independently of what it heard before, and reports what it cannot do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polymeter
from polymeter.core.content import Audio, Image, Text
from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, Loglikelihood, Message, Request
from polymeter.models import pocketsphinx
from polymeter.models.pocketsphinx import PocketSphinxModel

DIGITS = Path(polymeter.__file__).parent / "library" / "demo_audio" / "data" / "digits.parquet"
needs_speech = pytest.mark.skipif(
    any(util.find_spec(name) is None for name in ("pocketsphinx", "soundfile")),
    reason="the extra [speech] is not installed",
)


@pytest.fixture(scope="module")
def model() -> Iterator[PocketSphinxModel]:
    made = PocketSphinxModel("digits")
    made.load()
    yield made
    made.close()


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    from pyarrow import parquet

    return list(parquet.read_table(DIGITS).slice(0, 4).to_pylist())


def heard(*sources: Any, ask: Any = None) -> Request:
    parts = [Audio(source) for source in sources]
    return Request((Message("user", (*parts, Text("Which digits are spoken?"))),), ask or Generate())


@needs_speech
def test_words_are_recognised_in_any_order_of_requests(model: PocketSphinxModel, rows: list[dict[str, Any]]) -> None:
    requests = [heard(row["audio"]["bytes"]) for row in rows]
    forwards = [response.text for response in model.respond(requests)]
    backwards = [response.text for response in model.respond(requests[::-1])]
    assert forwards == backwards[::-1]
    spoken = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
    assert all(text and set(text.split()) <= spoken for text in forwards)
    (both,) = model.respond([heard(rows[0]["audio"]["bytes"], rows[1]["audio"]["bytes"])])
    assert both.text == "\n\n".join(forwards[:2])


@needs_speech
def test_bad_requests_fail_alone(model: PocketSphinxModel, rows: list[dict[str, Any]]) -> None:
    broken, none, weighed, picture, good = model.respond(
        [
            heard(b"RIFF no audio"),
            heard(),
            heard(rows[0]["audio"]["bytes"], ask=Loglikelihood(("one", "two"))),
            Request((Message("user", (Image(b""), Text("?"))),), Generate()),
            heard(rows[0]["audio"]["bytes"]),
        ]
    )
    assert broken.error is not None
    assert "broken" in str(broken.error)
    for response in (none, picture):
        assert response.error is not None
        assert "no audio" in response.error.message
    assert weighed.error is not None
    assert good.text


@needs_speech
def test_silence_is_an_empty_answer(model: PocketSphinxModel) -> None:
    (response,) = model.respond([heard({"array": np.zeros(8000, np.float32), "sampling_rate": 8000})])
    assert response.error is None
    assert isinstance(response.text, str)


@needs_speech
def test_an_unknown_vocabulary_is_an_error() -> None:
    with pytest.raises(PlanError, match=r"no vocabulary 'digit'\.") as caught:
        PocketSphinxModel("digit")
    assert "'digits'" in str(caught.value.hint)


@needs_speech
def test_the_vocabulary_is_part_of_the_identity(model: PocketSphinxModel) -> None:
    assert model.identity["vocabulary"] == "digits"
    assert PocketSphinxModel().identity != model.identity


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pocketsphinx, "find_spec", lambda name: None)
    with pytest.raises(PlanError, match="'pocketsphinx', needed by model 'pocketsphinx'") as caught:
        PocketSphinxModel()
    assert "[speech]" in str(caught.value.hint)
    assert sys.modules.get("pocketsphinx") is not pocketsphinx, "the package and the backend are two modules"
