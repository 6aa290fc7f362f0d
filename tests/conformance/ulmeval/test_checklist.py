"""What must hold for classes and wrappers of ULMEvalKit to run unmodified, one group of cases for each point."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter.core.errors import DataError
from polymeter.data.formats import load
from polymeter.interop.ulmeval.guest_files import load_guest_file
from polymeter.interop.ulmeval.models.base import BaseModel
from polymeter.interop.ulmeval.models.native import supported_ULM
from polymeter.store.folder import RunFolder
from tests.conformance.ulmeval.kit import messages_of, painter, pictures, polymeter_run, results, written
from tests.helpers.file_server import Reply, serve
from tests.helpers.openai_stub import png
from tests.helpers.toy_datasets import write_class, write_table

RED, BLUE = (255, 0, 0), (0, 0, 255)
TABLE = {"index": [3, 5, 7], "prompt": ["paint red", "paint blue", "paint red"], "level": ["a", "b", "c"]}
COUNTS = """
def evaluate(self, eval_file, **judge_kwargs):
    data = load(eval_file)
    return {'rows': len(data), 'images': sum(len(cell) for cell in data['prediction'])}
"""


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    monkeypatch.setenv("LMUData", str(folder))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("POLYMETER_ALLOW_PRIVATE_URLS", "1")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(autouse=True)
def same_models() -> Iterator[None]:
    """Leave ``supported_ULM`` as it was."""
    before = dict(supported_ULM)
    yield
    supported_ULM.clear()
    supported_ULM.update(before)


def run(where: Path, body: str, *words: str, model: str = "", path: Path | None = None, **table: Any) -> int:
    """Run a class with a body, of the table above or another, on the painter or another wrapper, into ``run``."""
    file = write_class(where / "lib", body, **{"columns": TABLE, **table})
    model, path = (model or "ulm", path) if path is not None or model else ("ulm:Painter", painter(where))
    return polymeter_run(where / "run", model, "Toy", "--include-path", file, *words, path=path)


# --- accept batch_generation_inner and batch_generate_inner; wrong length / non-list return → clear error; model with
# --- only one of the three hooks works; API-style class (is_api, tuple return) works

HOOKS = {
    "generate_inner": "def generate_inner(self, msgs, dataset=None):\n    return Image.new('RGB', (4, 4), 'red')",
    "batch_generation_inner": """\
def batch_generation_inner(self, msgs, dataset, num_generations):
    assert (dataset, num_generations) == ('Toy', 2)
    return [Image.new('RGB', (4, 4), 'red')] * num_generations""",
    "batch_generate_inner": """\
def batch_generate_inner(self, message, dataset, num_generations):
    assert (dataset, num_generations) == ('Toy', 2)
    return [Image.new('RGB', (4, 4), 'red')] * num_generations""",
}


def wrapper(where: Path, body: str, base: str = "BaseModel", head: str = "") -> Path:
    """A file with a wrapper ``Mine``."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return written(where / "wrapper.py", f"{head}\nclass Mine({base}):\n{lines}\n", "model")


@pytest.mark.parametrize("base", ["BaseModel", "object"])
@pytest.mark.parametrize("hook", HOOKS)
def test_hooks_one_of_the_three_is_enough(tmp_path: Path, hook: str, base: str) -> None:
    path = wrapper(tmp_path, HOOKS[hook], base)
    assert run(tmp_path, COUNTS, "--gen-kwargs", "num_generations=2", path=path) == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 3, "images": 6}
    assert {image.getpixel((0, 0)) for cell in pictures(tmp_path / "run", "Toy") for image in cell} == {RED}


@pytest.mark.parametrize("hook", ["batch_generation_inner", "batch_generate_inner"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[Image.new('RGB', (4, 4))]", "gave 1 images where 2 were asked for"),
        ("[Image.new('RGB', (4, 4))] * 3", "gave 3 images where 2 were asked for"),
        ("Image.new('RGB', (4, 4))", "gave an Image where a list of 2 was asked for"),
        ("{}", "gave a dict where a list of 2 was asked for"),
        ("None", "gave nothing where a list of 2 was asked for"),
        ("[None, None]", "gave nothing where an image was asked for"),
    ],
)
def test_hooks_a_wrong_number_or_type_is_that_samples_error(tmp_path: Path, hook: str, given: str, said: str) -> None:
    body = f"def {hook}(self, msgs, dataset, num_generations):\n"
    body += f"    good = [Image.new('RGB', (4, 4))] * 2\n    return {given} if 'blue' in msgs[0]['value'] else good"
    assert run(tmp_path, COUNTS, "--gen-kwargs", "n=2", path=wrapper(tmp_path, body)) == 1
    first, second, third = messages_of(tmp_path / "run", "Toy")
    assert (first, third) == ("", "")
    assert said in second
    assert results(tmp_path / "run", "Toy") == {"rows": 2, "images": 4}


@pytest.mark.parametrize("base", ["BaseAPI", "object"])
def test_hooks_a_class_for_an_endpoint_gives_tuples(tmp_path: Path, base: str) -> None:
    body = """\
is_api = True
retry, wait = 2, 0

def __init__(self):
    self.verbose = True

def generate_inner(self, inputs, **kwargs):
    if 'blue' in inputs[-1]['value']:
        return -1, 'Failed to obtain answer via API.', 'quota'
    return 0, Image.new('RGB', (4, 4), 'red'), 'fine'"""
    path = wrapper(tmp_path, body, base, "from ulmeval.api.base import BaseAPI")
    assert run(tmp_path, COUNTS, "--max-retries", "0", "--gen-kwargs", "n=2", path=path) == 1
    assert [bool(message) for message in messages_of(tmp_path / "run", "Toy")] == [False, True, False]
    assert "quota" in messages_of(tmp_path / "run", "Toy")[1]
    assert results(tmp_path / "run", "Toy") == {"rows": 2, "images": 4}


# --- generate() returns a list for every model; strings/paths/URLs/dicts normalised, but text items never probed on
# --- disk, type declared by the author wins


class Echo(BaseModel):
    """Gives its message back."""

    def generate_inner(self, message: Any, dataset: Any = None) -> Any:
        return message


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("n", [1, 2])
def test_generate_returns_a_list_for_every_model(tmp_path: Path, hook: str, n: int) -> None:
    body = HOOKS[hook].replace("    assert (dataset, num_generations) == ('Toy', 2)\n", "")
    made = load_guest_file(wrapper(tmp_path, body)).Mine()
    given = made.generate("paint red", num_generations=n)
    assert isinstance(given, list)
    assert [image.getpixel((0, 0)) for image in given] == [RED] * n


def test_generate_returns_a_list_for_endpoints_too(tmp_path: Path) -> None:
    body = "def generate_inner(self, inputs, **kwargs):\n    return 0, 'four', 'fine'"
    made = load_guest_file(wrapper(tmp_path, body, "BaseAPI", "from ulmeval.api import BaseAPI")).Mine()
    assert made.generate("2 + 2?") == ["four"]
    assert made.generate("2 + 2?", num_generations=2) == ["four", "four"]


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ("a cat", ["text"]),
        ("red.png", ["text"]),
        ({"type": "text", "value": "a cat"}, ["text"]),
        ({"type": "image", "value": "red.png"}, ["image"]),
        (["red.png", "a cat"], ["image", "text"]),
        (["a cat", "red.png", "a dog"], ["text", "image", "text"]),
        (["none.png", "a cat"], ["text", "text"]),
        (["notes.txt", "dog"], ["text", "text"]),
        ([{"type": "image", "value": "red.png"}, {"type": "text", "value": "a cat"}], ["image", "text"]),
    ],
)
def test_messages_in_every_form(tmp_path: Path, message: Any, kinds: list[str]) -> None:
    Image.new("RGB", (2, 2), "red").save(tmp_path / "red.png")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "dog").mkdir()
    kept = json.dumps(message)
    (items,) = Echo().generate(message)
    assert [item["type"] for item in items] == kinds
    assert all(Path(item["value"]).is_absolute() for item in items if item["type"] == "image")
    assert json.dumps(message) == kept, "nothing is changed in place"


def test_messages_with_urls_and_data(tmp_path: Path) -> None:
    import base64

    encoded = f"data:image/png;base64,{base64.b64encode(png('blue')).decode()}"
    with serve({"/red.png": Reply(png("red")), "/page": Reply(b"no image")}) as server:
        (items,) = Echo().generate([encoded, f"{server.url}/red.png", f"{server.url}/page"])
        assert [item["type"] for item in items] == ["image", "image", "text"]
        assert [Image.open(item["value"]).getpixel((0, 0)) for item in items[:2]] == [BLUE, RED]
        assert server.asked["/page"] == 0


def test_a_declared_type_wins(tmp_path: Path) -> None:
    Image.new("RGB", (2, 2), "red").save(tmp_path / "red.png")
    for value in ("red.png", "http://127.0.0.1:9/red.png", str(tmp_path), "data:image/png;base64,xx"):
        (items,) = Echo().generate([{"type": "text", "value": value}])
        assert items == [{"type": "text", "value": value}]
    with pytest.raises(DataError, match=r"The image 'a cat' does not exist"):
        Echo().generate([{"type": "image", "value": "a cat"}])


# --- eval_file really is a .pkl path {model}_{dataset}.pkl that load() opens as a DataFrame with all TSV columns, str
# --- index, prediction list of PIL; load() restricted


def test_the_prediction_file(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        assert osp.basename(eval_file) == 'Painter_Toy.pkl' and osp.isfile(eval_file)
        data = load(eval_file)
        assert isinstance(data, pd.DataFrame)
        assert list(data.columns) == ['index', 'prompt', 'level', 'prediction']
        assert [x for x in data['index']] == ['3', '5', '7']
        assert all(type(x) is list and len(x) == 1 for x in data['prediction'])
        assert all(isinstance(x[0], Image.Image) for x in data['prediction'])
        reds = [x[0].getpixel((0, 0)) == (255, 0, 0) for x in data['prediction']]
        return {'reds': sum(reds)}
    """
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == {"reds": 2}
    journal = (tmp_path / "run/journal.db").stat().st_size
    file = next((tmp_path / "run/artifacts/Toy").glob("*.pkl"))
    assert journal
    assert file.stat().st_size < 20_000, "pictures are kept once, beside it"


def test_a_prediction_file_that_pandas_wrote(tmp_path: Path) -> None:
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({"index": ["a"], "n": [np.int64(3)], "when": [pd.Timestamp(2026, 1, 1)]})
    frame["prediction"] = pd.Series([[Image.new("RGB", (2, 2), "red")]], dtype=object)
    frame.to_pickle(tmp_path / "x.pkl")
    data = load(str(tmp_path / "x.pkl"))
    assert data["prediction"][0][0].getpixel((0, 0)) == RED
    assert (data["n"][0], data["when"][0].year) == (3, 2026)


class Bomb:
    def __reduce__(self) -> Any:
        return os.system, ("touch exploded",)


@pytest.mark.parametrize("value", [Bomb(), [Bomb()], {"a": (Bomb(),)}])
def test_pickles_that_are_programs_are_refused(tmp_path: Path, value: Any) -> None:
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(value))
    with pytest.raises(DataError, match=r"(posix|nt|os)\.system") as caught:
        load(str(tmp_path / "x.pkl"))
    assert "x.pkl" in str(caught.value)
    assert not (tmp_path / "exploded").exists()
    with pytest.raises(DataError):
        load("http://127.0.0.1:9/x.pkl")


# --- benchmarks that write side files next to eval_file, pop keys from judge_kwargs, dump() xlsx/json/pkl, return
# --- dict/DataFrame/None; numpy scalars in the dict tolerated; return value saved


@pytest.mark.parametrize("suffix", ["_score.xlsx", "_rating.json", "_tmp.pkl", "_score.csv"])
def test_side_files(tmp_path: Path, suffix: str) -> None:
    body = f"""
    def evaluate(self, eval_file, **judge_kwargs):
        nproc = judge_kwargs.pop('nproc', 4)
        _ = judge_kwargs.pop('verbose', None)
        _ = judge_kwargs.pop('retry', None)
        assert not judge_kwargs and isinstance(nproc, int)
        target = eval_file.replace('.pkl', '{suffix}')
        dump({{'a': [1, 2]}} if target.endswith('json') else pd.DataFrame({{'a': [1, 2]}}), target)
        return {{'sum': sum(load(target)['a'])}}
    """
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == {"sum": 3}
    assert (tmp_path / f"run/artifacts/Toy/Painter_Toy{suffix}").is_file()


@pytest.mark.parametrize(
    ("returned", "found", "saved"),
    [
        ("{'acc': 0.5}", {"acc": 0.5}, {"acc": 0.5}),
        ("{'acc': np.float64(0.5), 'n': np.int64(2)}", {"acc": 0.5, "n": 2}, {"acc": 0.5, "n": 2}),
        ("{'all': {'a': 1, 'b': np.float32(0.25)}}", {"all/a": 1, "all/b": 0.25}, {"all": {"a": 1, "b": 0.25}}),
        ("{'split': ['x', 'y'], 'acc': [1, 2]}", {"x/acc": 1, "y/acc": 2}, {"split": ["x", "y"], "acc": [1, 2]}),
        ("pd.DataFrame({'split': ['x'], 'acc': [1.5]})", {"x/acc": 1.5}, {"split": ["x"], "acc": [1.5]}),
        ("None", {"evaluate": None}, None),
        ("{}", {"evaluate": None}, {}),
    ],
)
def test_what_evaluate_returns_is_the_result_and_is_saved(
    tmp_path: Path, returned: str, found: dict[str, Any], saved: Any
) -> None:
    body = f"def evaluate(self, eval_file, **judge_kwargs):\n    return {returned}\n"
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == found
    file = tmp_path / "run/artifacts/Toy/evaluate.json"
    assert (json.loads(file.read_text()) if file.is_file() else None) == saved
    assert any("have intervals" in note for note in RunFolder(tmp_path / "run").read_results()["notes"])


# --- failed samples: by default the scored set excludes nothing silently; the legacy string for a legacy evaluate only
# --- on request; report failed/total

FAILS = """
class Mine(BaseModel):
    def generate_inner(self, msgs, dataset=None):
        if 'blue' in msgs[0]['value']:
            raise RuntimeError('out of blue')
        return Image.new('RGB', (4, 4), 'red')
"""
LEGACY = """
def evaluate(self, eval_file, **judge_kwargs):
    data = load(eval_file)
    failed = [x for x in data['prediction'] if isinstance(x, str) and x.startswith('Failed to obtain answer')]
    return {'rows': len(data), 'failed': len(failed)}
"""


@pytest.mark.parametrize(("words", "rows", "failed"), [((), 2, 0), (("tsv.failed_as_text=true",), 3, 1)])
def test_failed_samples_are_counted_and_said(tmp_path: Path, words: tuple[str], rows: int, failed: int) -> None:
    told = [word for text in words for word in ("--dialect-option", text)]
    assert run(tmp_path, LEGACY, *told, path=written(tmp_path / "fails.py", FAILS, "model")) == 1
    assert results(tmp_path / "run", "Toy") == {"rows": rows, "failed": failed}
    made = RunFolder(tmp_path / "run").read_results()
    task = made["tasks"]["Toy"]
    assert (task["n_scored"], task["n_samples"]) == (2, 3)
    assert "out of blue" in messages_of(tmp_path / "run", "Toy")[1]


# --- dataset.data exposed as a DataFrame; self.data['prediction'] may or may not exist; classmethod evaluate works;
# --- __init__ without super works

WITHOUT_SUPER = """
def __init__(self, dataset='Toy', **kwargs):
    self.dataset_name = dataset
    data = self.load_data(dataset)
    data['index'] = [str(x) for x in data['index']]
    self.data = data
    self.post_build(dataset)

def post_build(self, dataset):
    self.built = dataset

def build_prompt(self, line):
    return [self.data.loc[self.data['index'] == line['index'], 'prompt'].iloc[0]]

def evaluate(self, eval_file, **judge_kwargs):
    assert isinstance(self.data, pd.DataFrame) and self.built == 'Toy'
    predictions = load(eval_file)
    merged = pd.merge(self.data, predictions, on='index', how='inner', suffixes=('', '_y'))
    merged = merged.drop(columns=[x for x in merged.columns if x.endswith('_y')])
    assert 'prediction' in merged
    return {'merged': len(merged), 'is_there': int('prediction' in self.data)}
"""
CLASS_METHOD = """
@classmethod
def evaluate(cls, eval_file, **judge_kwargs):
    return {'rows': len(load(eval_file)), 'mine': int(cls.supported_datasets() == ['Toy'])}
"""


def test_a_constructor_that_calls_nobodys(tmp_path: Path) -> None:
    assert run(tmp_path, WITHOUT_SUPER) == 0
    found = results(tmp_path / "run", "Toy")
    assert found["merged"] == 3


def test_evaluate_as_a_classmethod(tmp_path: Path) -> None:
    assert run(tmp_path, CLASS_METHOD) == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 3, "mine": 1}


# --- RANK/WORLD_SIZE seen by a legacy evaluate are 0/1 (it runs once), torch.distributed.barrier never required


def test_evaluate_sees_one_process_and_runs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    body = f"""
    def evaluate(self, eval_file, **judge_kwargs):
        with open({str(tmp_path / "calls")!r}, 'a') as file:
            file.write('x')
        rank, world = get_rank_and_world_size()
        if world > 1:
            import torch.distributed as dist
            dist.barrier()
        return {{'rank': rank, 'world': world, 'env': int(os.environ['WORLD_SIZE']), 'local': int(os.environ['RANK'])}}
    """
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == {"rank": 0, "world": 1, "env": 1, "local": 0}
    assert (tmp_path / "calls").read_text() == "x"
    assert os.environ["WORLD_SIZE"] == "8"


# --- missing DATASET_MD5 entry tolerated (warn), wrong hash = refuse; local file in LMUData found under both naming
# --- schemes (dataset name, URL basename); LMUData created if set but absent


def class_of_url(where: Path, url: str, md5s: dict[str, str | None], base: str = "TextBaseDataset") -> Path:
    """A class whose table is at a URL; none lies in ``LMUData``."""
    body = f"DATASET_URL = {{'Toy': {url!r}}}\nDATASET_MD5 = {md5s!r}\n"
    body += f"\ndef build_prompt(self, line):\n    return [line['prompt']]\n{COUNTS}"
    file = write_class(where / "lib", body, base=base)
    (where / "LMUData/Toy.tsv").unlink()
    (where / "LMUData").rmdir()
    return file


BODY = b"index\tprompt\n1\tpaint red\n2\tpaint blue\n"
MD5 = "5dee8f2dae08e835eefd36c520c230a5"


@pytest.mark.parametrize("base", ["TextBaseDataset", "ImageBaseDataset"])
def test_a_missing_md5_is_told_and_the_folder_is_made(
    tmp_path: Path, data_folder: Path, caplog: pytest.LogCaptureFixture, base: str
) -> None:
    with serve({"/files/other.tsv": Reply(BODY)}) as server:
        file = class_of_url(tmp_path, f"{server.url}/files/other.tsv", {}, base)
        assert not data_folder.exists()
        words = ("--include-path", file)
        assert polymeter_run(tmp_path / "run", "ulm", "Toy", *words, path=painter(tmp_path)) == 0
    assert (data_folder / "Toy.tsv").read_bytes() == BODY
    assert results(tmp_path / "run", "Toy") == {"rows": 2, "images": 2}
    assert "has no DATASET_MD5 for Toy: its table is not verified" in caplog.text


def test_a_wrong_md5_is_refused_after_the_download(
    tmp_path: Path, data_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve({"/files/other.tsv": Reply(BODY)}) as server:
        file = class_of_url(tmp_path, f"{server.url}/files/other.tsv", {"Toy": "0" * 32})
        words = ("--include-path", file)
        assert polymeter_run(tmp_path / "run", "ulm", "Toy", *words, path=painter(tmp_path)) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "has MD5" in said
    assert f"not {'0' * 32}; it was deleted" in said
    assert not list(data_folder.glob("*.tsv"))


def test_a_right_md5_is_fetched_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serve({"/files/other.tsv": Reply(BODY)}) as server:
        file = class_of_url(tmp_path, f"{server.url}/files/other.tsv", {"Toy": MD5})
        for name in ("a", "b"):
            words = ("--include-path", file)
            assert polymeter_run(tmp_path / name, "ulm", "Toy", *words, path=painter(tmp_path)) == 0
        assert server.asked["/files/other.tsv"] == 1
    assert "not verified" not in caplog.text
    assert "its content is not verified" not in caplog.text


@pytest.mark.parametrize("name", ["Toy.tsv", "other.tsv"])
def test_a_local_file_is_found_under_both_names(tmp_path: Path, data_folder: Path, name: str) -> None:
    file = class_of_url(tmp_path, "https://example.org/files/other.tsv", {"Toy": None})
    write_table(data_folder / name, {"index": [1], "prompt": ["paint red"]})
    words = ("--include-path", file, "--offline")
    assert polymeter_run(tmp_path / "run", "ulm", "Toy", *words, path=painter(tmp_path)) == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 1, "images": 1}


# --- relative-import loader for user files (ulmeval.dataset.*, ulmeval.ulm.*), auto-registration, plus supported_ULM
# --- mutable dict


@pytest.mark.parametrize(
    "head",
    [
        "from .text_base import TextBaseDataset\nfrom ..smp import *\nfrom .utils import build_judge\n",
        "from ulmeval.dataset.text_base import TextBaseDataset\nfrom ulmeval.smp import *\n",
        "from ulmeval.dataset import TextBaseDataset\nfrom ulmeval.smp.file import *\n",
    ],
)
def test_a_file_as_if_it_stood_in_the_package(tmp_path: Path, data_folder: Path, head: str) -> None:
    write_table(data_folder / "Placed.tsv", TABLE)
    body = head + "class Placed(TextBaseDataset):\n    TYPE = 'T2I'\n    DATASET_URL = {'Placed': 'Placed.tsv'}\n"
    body += "    def evaluate(self, eval_file, **judge_kwargs):\n        return {'rows': len(load(eval_file))}\n"
    file = written(tmp_path / "lib/placed.py", body)
    path = painter(tmp_path)
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "Placed", "--include-path", file.parent, path=path) == 0
    assert results(tmp_path / "run", "Placed") == {"rows": 3}


def test_a_file_adds_names_of_models(tmp_path: Path) -> None:
    from polymeter.interop.ulmeval.models import ulm_model

    code = """
    from functools import partial
    from ..config import supported_ULM

    class Mine(BaseModel):
        def __init__(self, colour='red'):
            self.colour = colour

        def generate_inner(self, message, dataset=None):
            return Image.new('RGB', (4, 4), self.colour)

    supported_ULM['Mine-Blue'] = partial(Mine, colour='blue')
    supported_ULM.update({'Mine-Red': Mine})
    """
    path = written(tmp_path / "mine.py", code, "model")
    assert run(tmp_path, COUNTS, model="ulm:Mine-Blue", path=path) == 0
    assert {cell[0].getpixel((0, 0)) for cell in pictures(tmp_path / "run", "Toy")} == {BLUE}
    assert isinstance(supported_ULM, dict)
    supported_ULM["Own"] = supported_ULM["Mine-Red"]
    assert supported_ULM["Own"]().generate("x")[0].getpixel((0, 0)) == RED
    assert ulm_model("Own").traits.family
    assert "Janus-Pro-1B" in supported_ULM
    del supported_ULM["Own"]
    assert "Own" not in supported_ULM
