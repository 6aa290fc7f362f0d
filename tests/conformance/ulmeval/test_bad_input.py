"""Bad tables, files and models, through ``polymeter run``: what is wrong with the whole ends before anything is spent;
a bad row is one failed sample, and the others are scored.
"""

from __future__ import annotations

import base64
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from polymeter.store.folder import RunFolder
from tests.conformance.ulmeval.kit import messages_of, painter, polymeter_run, results, samples, written
from tests.helpers.file_server import Reply, serve
from tests.helpers.openai_stub import png
from tests.helpers.toy_datasets import png_base64, write_class

COUNTS = "def evaluate(self, eval_file, **judge_kwargs):\n    return {'rows': len(load(eval_file))}\n"
GOOD = {"index": [0, 1, 2], "prompt": ["paint red", "paint blue", "paint green"]}


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    monkeypatch.setenv("LMUData", str(folder))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("POLYMETER_ALLOW_PRIVATE_URLS", "1")
    return folder


class Ran:
    """A run and what it said.

    Attributes:
        code: The exit code.
        said: What stands on standard error, in one line.
    """

    def __init__(self, where: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.where, self._capsys = where, capsys
        self.code, self.said = -1, ""

    def __call__(self, body: str = COUNTS, *words: str | Path, wrapper: Path | None = None, **table: Any) -> Ran:
        file = write_class(self.where / "lib", body, **{"columns": GOOD, **table})
        return self.again("Toy", "--include-path", file, *words, wrapper=wrapper)

    def again(self, tasks: str, *words: str | Path, wrapper: Path | None = None) -> Ran:
        """Run with the files as they are."""
        path = wrapper or painter(self.where)
        self.code = polymeter_run(self.where / "run", "ulm:Painter", tasks, *words, path=path)
        self.said = " ".join(self._capsys.readouterr().err.split())
        return self

    @property
    def messages(self) -> list[str]:
        """What went wrong with each sample; empty where nothing did."""
        return messages_of(self.where / "run", "Toy")

    @property
    def found(self) -> dict[str, Any]:
        """The results."""
        return results(self.where / "run", "Toy")


@pytest.fixture
def ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ran:
    return Ran(tmp_path, capsys)


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"idx": [0, 1], "prompt": ["a", "b"]}, ["no column 'index'", "Its columns: idx, prompt"]),
        (
            {"index": [3, 4, 3, 4, 5], "prompt": list("abcde")},
            ["The column 'index' holds values twice: '3' in rows 1, 3; '4' in rows 2, 4", "its own index"],
        ),
        ({"index": [1, "", 3], "prompt": list("abc")}, ["The column 'index' is empty in row 2"]),
        ({"index": [], "prompt": []}, ["has no rows"]),
    ],
)
@pytest.mark.parametrize("base", ["TextBaseDataset", "ImageBaseDataset"])
def test_a_table_whose_rows_cannot_be_told_apart(ran: Ran, base: str, columns: dict[str, Any], said: list[str]) -> None:
    ran(columns=columns, base=base)
    assert ran.code == 2
    for text in said:
        assert text in ran.said
    assert not (ran.where / "run").exists()


@pytest.mark.parametrize(
    ("data", "said"), [(b"", "Toy.tsv"), (b"index\t\xff\xfe\n1\ta\n", "UTF-8"), (None, "There is no table for")]
)
def test_a_file_that_is_no_table(ran: Ran, data_folder: Path, data: bytes | None, said: str) -> None:
    file = write_class(ran.where / "lib", COUNTS)
    (data_folder / "Toy.tsv").unlink()
    if data is not None:
        (data_folder / "Toy.tsv").write_bytes(data)
    ran.again("Toy", "--include-path", file)
    assert ran.code == 2
    assert said in ran.said
    assert "Traceback" not in ran.said


@pytest.mark.parametrize("is_served", [False, True])
def test_a_wrong_md5(ran: Ran, data_folder: Path, is_served: bool) -> None:
    with serve({"/Toy.tsv": Reply(b"index\tprompt\n1\tanother\n")}) as server:
        url = f"{server.url}/Toy.tsv" if is_served else ""
        ran(f"DATASET_URL = {{'Toy': {url!r}}}\nDATASET_MD5 = {{'Toy': '{'0' * 32}'}}\n" + COUNTS)
    assert ran.code == 2
    assert "Toy.tsv has MD5" in ran.said
    assert f"not {'0' * 32}" in ran.said
    assert ("no right one could be fetched" in ran.said) == is_served
    assert "DATASET_MD5" in ran.said
    assert "paint red" in (data_folder / "Toy.tsv").read_text(), "the file that is there stays"
    assert [file.name for file in data_folder.glob("*.tsv*")] == ["Toy.tsv"]


# --- rows ------------------------------------------------------------------------------------------------------------


def cut_off() -> str:
    data = png("red", (64, 64))
    return base64.b64encode(data[: len(data) // 2]).decode()


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("!" * 80, "cannot be decoded"),
        (png_base64("red")[:-3] + "??", "cannot be decoded"),
        (base64.b64encode(b"this is no image at all" * 5).decode(), "is not an image"),
        ("77", "refers to row '77', which is missing or has no image"),
        ("['0', '99']", "refers to row"),
        ("[" + "x" * 90 + "]", "printed list"),
    ],
)
def test_a_bad_image_is_one_failed_sample(ran: Ran, cell: str, said: str) -> None:
    columns = {**GOOD, "image": [png_base64("red"), cell, "0"]}
    ran(columns=columns, base="ImageBaseDataset", type_="IT2I")
    assert ran.code == 1
    first, second, third = ran.messages
    assert (first, third) == ("", "")
    assert "row '1', column 'image'" in second
    assert said in second
    assert ran.found == {"rows": 2}


def test_an_image_that_is_cut_off_is_one_failed_sample(ran: Ran) -> None:
    columns = {**GOOD, "image": [png_base64("red"), cut_off(), "0"]}
    opens = """
    class Painter(BaseModel):
        def generate_inner(self, msgs, dataset=None):
            with Image.open(msgs[0]['value']) as picture:
                return picture.convert('RGB')
    """
    wrapper = written(ran.where / "opens.py", opens, "model")
    ran(columns=columns, base="ImageBaseDataset", type_="IT2I", wrapper=wrapper)
    assert ran.code == 1
    assert [bool(message) for message in ran.messages] == [False, True, False]
    assert ran.found == {"rows": 2}


def test_an_image_path_that_leads_nowhere(ran: Ran) -> None:
    (ran.where / "red.png").write_bytes(png("red"))
    paths = [str(ran.where / "red.png"), str(ran.where / "none.png"), str(ran.where / "red.png")]
    ran(columns={**GOOD, "image_path": paths}, base="ImageBaseDataset", type_="IT2I")
    assert ran.code == 1
    assert "none.png' in row '1', column 'image_path' does not exist" in ran.messages[1]
    assert ran.found == {"rows": 2}


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=404), "404"),
        (Reply(b"<html>"), "as an image"),
        pytest.param(Reply(png("red"), promised=9999), "is not available", id="reply2-cannot be had"),
    ],
)
def test_an_image_at_an_address_that_cannot_be_had(ran: Ran, reply: Reply, said: str) -> None:
    with serve({"/good.png": Reply(png("red")), "/bad.png": reply}) as server:
        cells = [f"{server.url}/good.png", f"{server.url}/bad.png", f"{server.url}/good.png"]
        ran(columns={**GOOD, "image": cells}, base="ImageBaseDataset", type_="IT2I")
        assert server.asked["/good.png"] == 1
    assert ran.code == 1
    assert "row '1', column 'image'" in ran.messages[1]
    assert said in ran.messages[1]
    assert ran.found == {"rows": 2}


def test_offline_no_image_is_fetched(ran: Ran) -> None:
    with serve({"/red.png": Reply(png("red"))}) as server:
        cells = [png_base64("red"), f"{server.url}/red.png", png_base64("red")]
        ran(COUNTS, "--offline", columns={**GOOD, "image": cells}, base="ImageBaseDataset", type_="IT2I")
        assert not server.asked
    assert ran.code == 1
    assert "offline" in ran.messages[1]
    assert ran.found == {"rows": 2}


ADDRESSED = """
def build_prompt(self, line):
    return [dict(type='image', value=line['place']), dict(type='text', value=line['prompt'])]
"""


def test_an_image_of_a_prompt_is_fetched_once_before_the_model_sees_it(ran: Ran) -> None:
    opens = """
    class Painter(BaseModel):
        def generate_inner(self, msgs, dataset=None):
            assert osp.isfile(msgs[0]['value'])
            with Image.open(msgs[0]['value']) as picture:
                return picture.convert('RGB')
    """
    wrapper = written(ran.where / "opens.py", opens, "model")
    with serve({"/red.png": Reply(png("red")), "/page.png": Reply(b"<html>")}) as server:
        places = [f"{server.url}/{name}" for name in ("red.png", "page.png", "red.png")]
        ran(ADDRESSED + COUNTS, columns={**GOOD, "place": places}, wrapper=wrapper)
        assert server.asked["/red.png"] == 1
    assert ran.code == 1
    assert [bool(message) for message in ran.messages] == [False, True, False]
    assert "page.png" in ran.messages[1]
    assert ran.found == {"rows": 2}


def test_offline_no_image_of_a_prompt_is_fetched(ran: Ran) -> None:
    (ran.where / "red.png").write_bytes(png("red"))
    with serve({"/red.png": Reply(png("red"))}) as server:
        places = [str(ran.where / "red.png"), f"{server.url}/red.png", str(ran.where / "red.png")]
        ran(ADDRESSED + COUNTS, "--offline", columns={**GOOD, "place": places})
        assert not server.asked
    assert ran.code == 1
    assert "offline" in ran.messages[1]
    assert ran.found == {"rows": 2}


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("None", "build_prompt of ToyDataset returned nothing"),
        ("[]", "The message is empty"),
        ("3", "A message cannot be"),
        ("[dict(type='picture', value='x')]", "the unknown type 'picture'"),
        ("[dict(type='text')]", "has no 'value'"),
        ("[dict(type='image', value='none.png')]", "The image 'none.png' does not exist"),
        ("['a', 3]", "Item"),
        ("line['prompd']", "KeyError: 'prompd'"),
    ],
)
def test_a_prompt_of_no_known_form(ran: Ran, made: str, said: str) -> None:
    body = f"def build_prompt(self, line):\n    return {made} if line['index'] == '1' else [line['prompt']]\n{COUNTS}"
    ran(body)
    assert ran.code == 1
    assert [bool(message) for message in ran.messages] == [False, True, False]
    assert said in ran.messages[1]
    assert ran.found == {"rows": 2}


@pytest.mark.parametrize("prompt", ["", "NA"])
def test_an_empty_prompt(ran: Ran, prompt: str) -> None:
    ran(columns={**GOOD, "prompt": ["paint red", prompt, "paint red"]})
    assert ran.code == 1
    assert "row '1', column 'prompt' is empty" in ran.messages[1]


# --- pickles ---------------------------------------------------------------------------------------------------------


class Program:
    """A pickle that would make a folder."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_a_pickle_that_is_not_data_beside_the_predictions(ran: Ran) -> None:
    bad = ran.where / "bad.pkl"
    bad.write_bytes(pickle.dumps({"a": Program(ran.where / "made")}))
    ran(f"def evaluate(self, eval_file, **judge_kwargs):\n    return {{'n': len(load({str(bad)!r}))}}\n")
    assert ran.code == 1
    (note,) = [note for note in RunFolder(ran.where / "run").read_results()["notes"] if "bad.pkl" in note]
    assert "mkdir" in note
    assert not (ran.where / "made").exists()
    assert len(samples(ran.where / "run", "Toy")) == 3
    assert ran.found == {}


def test_a_pickle_that_is_not_data_in_place_of_the_table(ran: Ran) -> None:
    bad = ran.where / "bad.pkl"
    bad.write_bytes(pickle.dumps(Program(ran.where / "made")))
    ran(f"def load_data(self, dataset):\n    return load({str(bad)!r})\n{COUNTS}")
    assert ran.code == 2
    assert "mkdir" in ran.said
    assert "bad.pkl" in ran.said
    assert not (ran.where / "made").exists()


@pytest.mark.parametrize("data", [b"", b"garbage", pickle.dumps({"a": 1})[:-4]])
def test_a_pickle_that_is_damaged(ran: Ran, data: bytes) -> None:
    bad = ran.where / "bad.pkl"
    bad.write_bytes(data)
    ran(f"def load_data(self, dataset):\n    return load({str(bad)!r})\n{COUNTS}")
    assert ran.code == 2
    assert "bad.pkl" in ran.said
    assert "Traceback" not in ran.said


# --- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("None", "gave nothing where an image was asked for"),
        ("'Failed to obtain answer'", "gave the text 'Failed to obtain answer' where an image was asked for"),
        ("{'image': good}", "gave a dict where an image was asked for"),
        ("[good, good]", "gave 2 images where 1 was asked for"),
        ("[]", "gave 0 images where 1 was asked for"),
        ("np.zeros((2, 2, 9), np.uint8)", "gave an array of shape (2, 2, 9)"),
        ("'none.png'", "none.png"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_wrong_answer_of_a_model_says_what_came(ran: Ran, given: str, said: str) -> None:
    body = f"""
    class Painter(BaseModel):
        def generate_inner(self, msgs, dataset=None):
            good = Image.new('RGB', (4, 4))
            return {given} if 'blue' in msgs[0]['value'] else good
    """
    ran(wrapper=written(ran.where / "wrong.py", body, "model"))
    assert ran.code == 1
    assert [bool(message) for message in ran.messages] == [False, True, False]
    assert said in ran.messages[1]
    assert ran.found == {"rows": 2}
    task = RunFolder(ran.where / "run").read_results()["tasks"]["Toy"]
    assert (task["n_samples"], task["n_scored"]) == (3, 2)


def test_a_file_of_a_dataset_that_fails_to_load_names_its_line(ran: Ran) -> None:
    text = "\nclass Toy(TextBaseDataset):\n    DATASET_URL = {'Toy': nowhere}\n"
    ran.again(str(written(ran.where / "lib/toy.py", text, "dataset")))
    assert ran.code == 2
    assert "name 'nowhere' is not defined" in ran.said
    assert "toy.py:6" in ran.said
