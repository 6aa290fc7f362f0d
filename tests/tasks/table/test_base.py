"""The base classes of dataset classes, as authors use and subclass them."""

import base64
import hashlib
import io
import logging
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.errors import DataError, ScoreError
from polymeter.core.guest_context import guest_context_with
from polymeter.tasks.table.base import ImageBaseDataset, TextBaseDataset
from tests.helpers.file_server import Reply, serve


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path / "lmu"))
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("POLYMETER_ALLOW_PRIVATE_URLS", "1")
    monkeypatch.delenv("FORCE_LOCAL", raising=False)
    (tmp_path / "lmu").mkdir()
    return tmp_path / "lmu"


def encoded(kind="PNG", colour=(9, 8, 7), size=(30, 20)):
    noise = np.random.default_rng(sum(colour)).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    buffer = io.BytesIO()
    pil.fromarray(noise).save(buffer, kind)
    return buffer.getvalue()


def text(data):
    return base64.b64encode(data).decode()


PNG, JPG = encoded(), encoded("JPEG")


def write(root, name="X", **columns):
    pd.DataFrame(columns).to_csv(root / f"{name}.tsv", sep="\t", index=False)


def images_of(message):
    return [item["value"] for item in message if item["type"] == "image"]


def bytes_of(message):
    return [Path(path).read_bytes() for path in images_of(message)]


class Texts(TextBaseDataset):
    TYPE = "T2I"
    DATASET_URL: ClassVar = {"X": "", "Y": ""}
    DATASET_MD5: ClassVar = {"X": None}


def test_a_dataset_of_texts(root):
    write(root, index=[10, 11], prompt=["a cat", "a dog"], score=[1.5, None])
    dataset = Texts("X", verbose=True)
    assert Texts.supported_datasets() == ["X", "Y"]
    assert (len(dataset), dataset.dataset_name, dataset.MODALITY) == (2, "X", "TEXT")
    assert dataset.data["index"].tolist() == [10, 11]
    assert dataset[1]["prompt"] == "a dog"
    assert dataset.data_path == str(root / "X.tsv")
    assert dataset.dump_image(0) == []


@pytest.mark.parametrize("column", ["question", "prompt", "text"])
@pytest.mark.parametrize("line", [1, np.int64(1), "row", "mapping"])
def test_the_default_prompt(root, column, line):
    write(root, index=["a", "b"], **{column: ["one", "two"]})
    dataset = Texts("X")
    rows = {"row": dataset.data.iloc[1], "mapping": dataset[1]}
    assert dataset.build_prompt(rows.get(line, line) if isinstance(line, str) else line) == [
        {"type": "text", "value": "two"}
    ]


def test_the_question_comes_before_the_prompt(root):
    write(root, index=[1], text=["t"], prompt=["p"], question=["q"])
    assert Texts("X").build_prompt(0)[0]["value"] == "q"


def test_texts_that_are_not_there(root):
    write(root, index=[1, 2], prompt=["x", None])
    with pytest.raises(DataError, match=r"The text in row '2', column 'prompt' is empty"):
        Texts("X").build_prompt(1)
    write(root, index=[1], words=["x"])
    with pytest.raises(DataError, match=r"none of the columns question, prompt, text.*Its columns: index, words"):
        Texts("X").build_prompt(0)


@pytest.mark.parametrize(
    ("given_indices", "expected"),
    [
        ([1, 2], [1, 2]),
        (["1", "x"], ["1", "x"]),
        (["01", "2"], ["01", "2"]),
        (["1_0", "1_1"], ["1_0", "1_1"]),
        ([1.5, 2], ["1.5", "2.0"]),
    ],
)
def test_indices_are_numbers_if_all_are_written_as_one(given_indices, expected):
    class Made(TextBaseDataset):
        def load_data(self, dataset):
            return pd.DataFrame({"index": given_indices})

    assert Made("M").data["index"].tolist() == expected


def test_tables_without_a_usable_index_name_file_and_rows(root):
    write(root, id=[1], prompt=["x"])
    with pytest.raises(DataError, match=r"no column 'index'.*X\.tsv"):
        Texts("X")
    write(root, index=[1, 2, 1], prompt=["x", "y", "z"])
    with pytest.raises(DataError, match=r"'1' in rows 1, 3.*X\.tsv"):
        Texts("X")


def test_a_missing_md5_entry_warns_and_a_wrong_md5_is_refused(root, caplog):
    write(root, index=[1], prompt=["x"])
    found = hashlib.md5((root / "X.tsv").read_bytes()).hexdigest()

    class Unverified(TextBaseDataset):
        DATASET_URL: ClassVar = {"X": "https://example.invalid/X.tsv"}

    class Wrong(TextBaseDataset):
        DATASET_MD5: ClassVar = {"X": "0" * 32}

    with caplog.at_level(logging.WARNING):
        assert len(Unverified("X")) == 1
    assert "Unverified has no DATASET_MD5 for X" in caplog.text
    with pytest.raises(DataError, match=f"{found}, not {'0' * 32}"):
        Wrong("X")


def test_a_run_may_put_a_table_in_its_place(root, tmp_path):
    write(tmp_path, "mine", index=[5], prompt=["mine"])
    with guest_context_with(data={"X": str(tmp_path / "mine.tsv")}):
        assert Texts("X").data["prompt"].tolist() == ["mine"]


def test_evaluate_is_the_authors(root):
    write(root, index=[1], prompt=["x"])
    with pytest.raises(ScoreError, match=r"The dataset class Texts has no method for scoring m_X.pkl.*evaluate_sample"):
        Texts("X").evaluate("m_X.pkl", model="judge")


class Images(ImageBaseDataset):
    TYPE = "IT2I"


def test_a_dataset_of_images_in_all_forms(root):
    forms = [text(PNG), "0", str([text(PNG), text(JPG)]), f"data:image/jpeg;base64,{text(JPG)}", "0"]
    write(root, index=range(5), image=forms, question=list("abcde"))
    dataset = Images("X")
    assert (dataset.meta_only, dataset.img_root) == (False, str(root / "images" / "X"))
    assert dataset.data["image"][1] is dataset.data["image"][0]
    assert dataset.data["image"][2] == [text(PNG), text(JPG)]
    found = [bytes_of(dataset.build_prompt(i)) for i in range(5)]
    assert found == [[PNG], [PNG], [PNG, JPG], [JPG], [PNG]]
    assert [item["type"] for item in dataset.build_prompt(2)] == ["image", "image", "text"]
    assert sorted(path.name for path in (root / "images" / "X").iterdir()) == [
        "0.png", "1.png", "2_0.png", "2_1.jpg", "3.jpg", "4.png",
    ]  # fmt: skip


def test_a_bad_row_is_an_error_of_that_row_alone(root):
    cells = [text(PNG), "77", "!!" + text(PNG), "[broken" + text(PNG) + "]", text(b"no image" * 20)]
    write(root, index=range(5), image=cells, question=list("abcde"))
    dataset = Images("X")
    assert bytes_of(dataset.build_prompt(0)) == [PNG]
    for number, message in {
        1: "row '1', column 'image' refers to row '77', which is missing or has no image",
        2: "The image in row '2', column 'image' cannot be decoded",
        3: "not a printed list. It stands in row '3', column 'image'",
        4: "The base64 in row '4', column 'image' is not an image",
    }.items():
        with pytest.raises(DataError, match=message):
            dataset.build_prompt(number)


def test_rows_without_an_image_are_left_out_or_asked_without(root, caplog):
    write(root, index=[1, 2, 3], image=[text(PNG), None, "1"], question=list("abc"))
    with caplog.at_level(logging.WARNING):
        assert Images("X").data["index"].tolist() == [1, 3]
    assert "1 of 3 rows of X have no image and are left out" in caplog.text
    dataset = Images("X", skip_noimg=False)
    assert dataset.build_prompt(1) == [{"type": "text", "value": "b"}]


def test_paths_of_images(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = [tmp_path / "abs.png", root / "images" / "X" / "rooted.png", root / "beside.png", tmp_path / "here.png"]
    for path in places:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PNG)
    cells = [str(places[0]), "rooted.png", "['beside.png', 'here.png']", "nowhere.png"]
    write(root, index=range(4), image_path=cells, question=list("abcd"))
    dataset = Images("X")
    assert dataset.meta_only
    assert dataset.data["image_path"][2] == ["beside.png", "here.png"]
    assert [images_of(dataset.build_prompt(i)) for i in range(3)] == [
        [str(places[0])], [str(places[1])], [str(places[2]), str(places[3])],
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"'nowhere.png' in row '3', column 'image_path' does not exist.*Looked for it"):
        dataset.build_prompt(3)


def test_images_at_urls_are_fetched_once_and_refused_offline(root):
    with serve({"/a.png": Reply(PNG), "/b.png": Reply(b"<html>")}) as server:
        cells = [f"{server.url}/a.png", str([f"{server.url}/a.png", text(JPG)]), f"{server.url}/b.png"]
        write(root, index=range(3), image=cells, question=list("abc"))
        dataset = Images("X")
        assert [bytes_of(dataset.build_prompt(i)) for i in (0, 1)] == [[PNG], [PNG, JPG]]
        assert server.asked["/a.png"] == 1
        with pytest.raises(DataError, match=r"The image in row '2', column 'image' is not available: Decoding what"):
            dataset.build_prompt(2)
        with guest_context_with(data={}, is_offline=True):
            assert bytes_of(dataset.build_prompt(0)) == [PNG]
            with pytest.raises(DataError, match=r"row '2', column 'image' is not available: .* the run is offline"):
                dataset.build_prompt(2)
            later = Images("X")
        with pytest.raises(DataError, match=r"row '2', column 'image' is not available: .* the run is offline"):
            later.build_prompt(2)


def test_a_table_without_images_is_told_when_they_are_asked_for(root):
    write(root, index=[1], question=["a"])
    with pytest.raises(DataError, match=r"Row '1' of X has neither a column 'image' nor 'image_path'"):
        Images("X").build_prompt(0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    index=st.text(max_size=30) | st.integers(),
    kinds=st.lists(st.sampled_from(["PNG", "JPEG", "WEBP", "GIF"]), min_size=1, max_size=3),
    seed=st.integers(0, 500),
)
def test_dumped_images_are_the_tables_bytes_whatever_the_index(root, index, kinds, seed):
    images = [encoded(kind, (seed, number, 0)) for number, kind in enumerate(kinds)]
    cells = [text(data) for data in images]

    class Made(ImageBaseDataset):
        def load_data(self, dataset):
            return pd.DataFrame({"index": [str(index)], "image": [repr(cells)], "question": ["q"]})

    dataset = Made("M")
    first = dataset.dump_image(0)
    assert [Path(path).read_bytes() for path in first] == images
    assert dataset.dump_image(dataset.data.iloc[0]) == first
    assert all(path.startswith(f"{root}/images/M/") and path.count("/") == str(root).count("/") + 3 for path in first)


class Bare(ImageBaseDataset):
    """As many authors write it: the constructor of the base class is never called."""

    DATASET_URL: ClassVar = {"Bare": ""}

    def __init__(self, dataset="Bare", **kwargs):
        self.data = self.load_data(dataset)


def test_a_subclass_that_never_calls_super_works(root):
    write(root, "Bare", index=[1], image=[text(PNG)], question=["a"])
    dataset = Bare()
    assert bytes_of(dataset.build_prompt(0)) == [PNG]
    assert (dataset.dataset_name, dataset.meta_only, dataset.skip_noimg) == ("Bare", False, True)
    assert dataset.img_root == str(root / "images" / "Bare")
    assert len(dataset) == 1
    dataset.img_root = str(root / "elsewhere")
    assert images_of(dataset.build_prompt(0)) == [str(root / "elsewhere" / "1.png")]


def test_a_subclass_that_makes_its_table_itself_works():
    class Own(TextBaseDataset):
        def __init__(self):
            self.data = pd.DataFrame({"index": ["1"], "question": ["q"]})

    dataset = Own()
    assert dataset.build_prompt(0) == [{"type": "text", "value": "q"}]
    assert dataset.dataset_name == "Own"


def test_hooks_are_called(root):
    seen = []

    class Hooked(Texts):
        def load_data(self, dataset):
            seen.append(("load", dataset, self.dataset_name))
            return super().load_data(dataset)

        def post_build(self, dataset):
            seen.append(("built", dataset, len(self.data)))

    write(root, index=[1], prompt=["x"])
    Hooked("X")
    assert seen == [("load", "X", "X"), ("built", "X", 1)]


def test_a_row_is_displayed_without_its_base64(root, caplog):
    write(root, index=[1], image=[text(PNG)], question=["what?"], note=[None])
    with caplog.at_level(logging.INFO):
        Images("X").display(0)
    assert "what?" in caplog.text
    assert "1.png" in caplog.text
    assert "note" not in caplog.text
    assert text(PNG) not in caplog.text
