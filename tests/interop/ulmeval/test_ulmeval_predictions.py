"""Prediction files in the place of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

from polymeter.core.errors import DataError
from polymeter.core.request import Generate, GenerateImage, Origin, Parameters, Request, Response
from polymeter.data.formats import dump
from polymeter.interop.ulmeval.predictions import Predictions

RED = Image.new("RGB", (2, 2), "red")


def predictions(folder: Path, **columns: Any) -> Predictions:
    file = folder / "m_d.pkl"
    pd.DataFrame(columns).to_pickle(file)
    return Predictions(file, "m")


def asked(model: Predictions, index: str, ask: Parameters) -> Response:
    return asked_together(model, index, ask)[0]


def asked_together(model: Predictions, index: str, *asks: Parameters) -> list[Response]:
    return model.respond([Request((), ask, Origin("d", index)) for ask in asks])


def test_images_are_taken_as_they_stand(tmp_path: Path) -> None:
    model = predictions(tmp_path, index=[0, 1], prediction=[[RED, RED], [RED, RED]])
    responses = asked_together(model, "1", GenerateImage(), GenerateImage(repeat=1))
    assert [response.outputs[0].images[0].getpixel((0, 0)) for response in responses] == [(255, 0, 0)] * 2
    alone = asked(model, "1", GenerateImage()).error
    assert alone is not None
    assert alone.message == "The model gave 2 outputs where 1 image(s) were asked for."
    assert model.count == 2
    assert model.identity == Predictions(tmp_path / "m_d.pkl", "m").identity


def test_texts_are_taken_as_they_stand(tmp_path: Path) -> None:
    model = predictions(tmp_path, index=["a", "b"], prediction=["yes", "Failed to obtain answer via API."])
    assert asked(model, "a", Generate()).outputs[0].text == "yes"
    assert model.count is None
    failed = asked(model, "b", Generate())
    assert failed.error is not None
    assert "no answer for the index 'b': Failed to obtain answer via API." in failed.error.message


@pytest.mark.parametrize("answer", ["Failed to obtain answer", None, [], [RED, None]])
def test_what_is_no_image_is_a_failure(answer: Any, tmp_path: Path) -> None:
    model = predictions(tmp_path, index=["a", "b"], prediction=pd.Series([[RED], answer], dtype=object))
    error = asked(model, "b", GenerateImage()).error
    assert error is not None
    assert "no answer for the index 'b'" in error.message


def test_a_row_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    error = asked(predictions(tmp_path, index=[0], prediction=[[RED]]), "7", GenerateImage()).error
    assert error is not None
    assert error.message == "The prediction file has no row with the index '7'."


def test_what_is_no_prediction_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'prediction'"):
        predictions(tmp_path, index=[0])
    with pytest.raises(DataError, match="'3' more than once"):
        predictions(tmp_path, index=[3, 4, 3], prediction=["a", "b", "c"])
    for name in ("a.xlsx", "a.pkl", "a.json"):
        (tmp_path / name).write_text("no such format")
        with pytest.raises(DataError) as caught:
            Predictions(tmp_path / name, "m")
        assert caught.value.where == str(tmp_path / name)
        assert "damaged" in str(caught.value.hint)
    (tmp_path / "m_d.json").write_text('{"acc": 0.5}')
    with pytest.raises(DataError, match=r"m_d\.json is not a prediction file: it has no column 'index'"):
        Predictions(tmp_path / "m_d.json", "m")
    with pytest.raises(DataError, match="no file"):
        Predictions(tmp_path / "none.pkl", "m")


def test_a_pickle_that_is_not_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evil.pkl").write_bytes(b"cos\nsystem\n(S'touch /tmp/never'\ntR.")
    with pytest.raises(DataError, match="system"):
        Predictions(tmp_path / "evil.pkl", "m")


@pytest.mark.parametrize("suffix", ["xlsx", "tsv", "csv"])
@pytest.mark.parametrize(
    ("answers", "why"),
    [(["3", "007", "1e5"], "a column that looks like numbers"), (["None", "NA", "x"], "words for missing values")],
)
def test_answers_of_a_table_of_texts_are_as_written(answers: list[str], why: str, suffix: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"index": [1, 2, 3], "prediction": pd.Series(answers, dtype=object)})
    dump(table, tmp_path / f"x.{suffix}")
    model = Predictions(tmp_path / f"x.{suffix}", "x")
    assert [asked(model, index, Generate()).outputs[0].text for index in "123"] == answers, why


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ([{"index": 1, "prediction": "yes"}, {"index": 2, "prediction": 3}], "rows, as PRED_FORMAT=json"),
        ({"columns": ["index", "prediction"], "data": [[1, "yes"], [2, 3]]}, "columns and rows"),
        ({"index": [1.0, 2.0], "prediction": ["yes", 3]}, "lists by column, and indices that a gap has made fractions"),
    ],
)
def test_files_of_other_versions_are_read(content: Any, why: str, tmp_path: Path) -> None:
    dump(content, tmp_path / "x.json")
    model = Predictions(tmp_path / "x.json", "x")
    assert [asked(model, index, Generate()).outputs[0].text for index in "12"] == ["yes", "3"], why


@pytest.mark.parametrize("kind", ["pkl", "xlsx"])
def test_turns_of_a_conversation(kind: str, tmp_path: Path) -> None:
    said: Any = ["first", "second"]
    table = pd.DataFrame({"index": [0, 1]})
    table["prediction"] = pd.Series([said if kind == "pkl" else str(said), "no list ["], dtype=object)
    table.to_pickle(tmp_path / "x.pkl") if kind == "pkl" else dump(table, tmp_path / "x.xlsx")
    model = Predictions(tmp_path / f"x.{kind}", "x")

    def turn(index: str, number: int) -> Response:
        return model.respond([Request((), Generate(), Origin("d", index, metadata={"turn": number}))])[0]

    assert [turn("0", number).outputs[0].text for number in (0, 1)] == said
    error = turn("0", 2).error
    assert error is not None
    assert "has 2 turns, and turn 2 was asked" in error.message
    assert turn("1", 1).error is not None
