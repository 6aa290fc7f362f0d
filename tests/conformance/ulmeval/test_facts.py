"""What files of ULMEvalKit find around them, fact by fact: in the names that they import, and in whole runs."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.cli.main import main
from polymeter.interop.ulmeval.guest_files import load_guest_file
from polymeter.store.folder import RunFolder
from tests.conformance.ulmeval.kit import messages_of, painter, pictures, polymeter_run, results, samples, written
from tests.helpers.toy_datasets import png_base64, write_class, write_table

ROWS = {"index": [1, 2], "prompt": ["paint red", "paint blue"]}
COUNTS = "def evaluate(self, eval_file, **judge_kwargs):\n    return {'rows': len(load(eval_file))}\n"


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    monkeypatch.setenv("LMUData", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def made(where: Path, columns: dict[str, Any], body: str = COUNTS, base: str = "TextBaseDataset", **told: Any) -> Any:
    """An instance of a class ``ToyDataset`` with a body, over a table."""
    file = write_class(where / "lib", body, columns=columns, base=base, type_="IT2I" if "Image" in base else "T2I")
    return load_guest_file(file).ToyDataset("Toy", **told)


def run(where: Path, body: str, *words: str, name: str = "run", **table: Any) -> int:
    """Run a class with a body on the painter."""
    file = write_class(where / "lib", body, **{"columns": ROWS, **table})
    told = ("--include-path", file, *words)
    return polymeter_run(where / name, "ulm:Painter", table.get("name", "Toy"), *told, path=painter(where))


# --- dataset classes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [([3, 1], [3, 1]), (["03", "1"], [3, 1]), (["a", "1"], ["a", "1"]), (["1_2", "3-0"], ["1_2", "3-0"])],
)
@pytest.mark.parametrize("base", ["TextBaseDataset", "ImageBaseDataset"])
def test_indices_are_numbers_if_all_are_and_texts_in_a_run(
    tmp_path: Path, base: str, given: list[Any], kept: list[Any]
) -> None:
    columns = {"index": given, "prompt": ["paint red", "paint blue"]}
    dataset = made(tmp_path, columns, base=base)
    assert list(dataset.data["index"]) == kept
    body = """
    def build_prompt(self, line):
        assert isinstance(line, pd.Series) and isinstance(line['index'], str)
        assert list(self.data['index']) == [str(x) for x in self.data['index']]
        return [line['prompt']]

    def evaluate(self, eval_file, **judge_kwargs):
        assert all(isinstance(x, str) for x in load(eval_file)['index'])
        return {'rows': len(load(eval_file))}
    """
    assert run(tmp_path, body, columns=columns) == 0
    assert [sample["id"] for sample in samples(tmp_path / "run", "Toy")] == [str(index) for index in kept]


def test_the_surface_of_a_dataset(tmp_path: Path) -> None:
    text = made(tmp_path, ROWS, "def post_build(self, dataset):\n    self.seen = dataset\n", anything=3)
    assert (text.seen, text.dataset_name, text.MODALITY, text.TYPE) == ("Toy", "Toy", "TEXT", "T2I")
    assert type(text).supported_datasets() == ["Toy"]
    assert len(text) == 2
    assert text[1] == {"index": 2, "prompt": "paint blue"}
    assert text.dump_image(0) == []
    image = made(tmp_path, ROWS, base="ImageBaseDataset")
    assert (image.MODALITY, image.meta_only) == ("IMAGE", True)
    assert Path(image.img_root).parts[-3:] == ("LMUData", "images", "Toy")


@pytest.mark.parametrize("line", [1, np.int64(1), "row"])
def test_a_row_or_its_position_makes_the_same_prompt(tmp_path: Path, line: Any) -> None:
    dataset = made(tmp_path, ROWS)
    given = dataset.data.iloc[1] if line == "row" else line
    assert dataset.build_prompt(given) == [{"type": "text", "value": "paint blue"}]


@pytest.mark.parametrize("column", ["question", "prompt", "text"])
def test_the_text_is_found_in_any_of_the_usual_columns(tmp_path: Path, column: str) -> None:
    assert run(tmp_path, COUNTS, columns={"index": [0], column: ["paint red"]}) == 0
    assert pictures(tmp_path / "run", "Toy")[0][0].getpixel((0, 0)) == (255, 0, 0)


def test_cells_of_images_in_every_form(tmp_path: Path) -> None:
    red, blue, green = png_base64("red"), png_base64("blue"), png_base64("green")
    both = f"['{red}', '{blue}']"
    columns = {"index": [0, 1, 2, 3, 4], "image": [red, "0", both, "2", ""], "prompt": ["p"] * 5}
    dataset = made(tmp_path, {**columns, "extra": [green] * 5}, base="ImageBaseDataset")
    assert list(dataset.data["index"]) == [0, 1, 2, 3], "a row without its image is left out"
    assert dataset.data["image"].tolist() == [red, red, [red, blue], [red, blue]]
    assert not dataset.meta_only
    files = [[Path(path).name for path in dataset.dump_image(row)] for _, row in dataset.data.iterrows()]
    assert files == [["0.png"], ["1.png"], ["2_0.png", "2_1.png"], ["3_0.png", "3_1.png"]]
    assert len(made(tmp_path, columns, base="ImageBaseDataset", skip_noimg=False).data) == 5


def test_dumped_images_lose_nothing(tmp_path: Path) -> None:
    picture = Image.effect_noise((23, 17), 90).convert("RGBA")
    picture.putalpha(7)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    cell = base64.b64encode(buffer.getvalue()).decode()
    dataset = made(tmp_path, {"index": [0], "image": [cell], "prompt": ["x"]}, base="ImageBaseDataset")
    (path,) = dataset.dump_image(0)
    assert Path(path).read_bytes() == buffer.getvalue()
    assert dataset.build_prompt(0) == [{"type": "image", "value": path}, {"type": "text", "value": "x"}]


def test_paths_of_images(tmp_path: Path) -> None:
    Image.new("RGB", (2, 2), "red").save(tmp_path / "red.png")
    columns = {"index": [0, 1], "image_path": [str(tmp_path / "red.png"), "['red.png', 'red.png']"], "prompt": "ab"}
    dataset = made(tmp_path, columns, base="ImageBaseDataset")
    assert [len(dataset.dump_image(row)) for row in range(2)] == [1, 2]


def test_code_in_a_cell_is_text(tmp_path: Path) -> None:
    bad = f"[__import__('os').mkdir({str(tmp_path / 'made')!r})]"
    columns = {"index": [0, 1], "image": [png_base64("red"), bad + " " * 60], "prompt": ["paint red", "paint blue"]}
    words = {"columns": columns, "base": "ImageBaseDataset", "type_": "IT2I"}
    assert run(tmp_path, COUNTS, **words) == 1
    assert not (tmp_path / "made").exists()
    assert results(tmp_path / "run", "Toy") == {"rows": 1}


def test_data_may_be_changed_by_its_class(tmp_path: Path) -> None:
    """Classes add columns and drop rows when they are built, and look rows up in ``evaluate``."""
    body = """
    def post_build(self, dataset):
        self.data = self.data[self.data['index'] != 2].reset_index(drop=True)
        self.data['tags'] = [json.loads(x) for x in self.data['tags']]

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        assert data['tags'][0] == {'a': [1]}
        self.data['prediction'] = data['prediction']
        return {'rows': len(self.data), 'tags': sum(x['a'][0] for x in data['tags'])}
    """
    columns = {"index": [1, 2, 3], "prompt": ["paint red"] * 3, "tags": ['{"a": [1]}', '{"a": [2]}', '{"a": [3]}']}
    assert run(tmp_path, body, columns=columns) == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 2, "tags": 4}


def test_a_computed_list_of_names(tmp_path: Path) -> None:
    body = "@classmethod\ndef supported_datasets(cls):\n    return ['Toy', 'Toy_mini']\n\n" + COUNTS
    file = write_class(tmp_path / "lib", body, columns=ROWS)
    write_table(tmp_path / "LMUData/Toy_mini.tsv", {"index": [9], "prompt": ["paint red"]})
    words = ("--include-path", file)
    assert polymeter_run(tmp_path / "run", "ulm:Painter", str(file), *words, path=painter(tmp_path)) == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 2}
    assert results(tmp_path / "run", "Toy_mini") == {"rows": 1}


OWN_WAY = """
DATASET_URL = {'Toy': 'https://example.org/files/other.tsv'}

def prepare_tsv(self, url, file_md5=None):
    return load(url)
"""


@pytest.mark.parametrize("name", ["Toy.tsv", "other.tsv"])
def test_a_class_that_reads_its_table_in_its_own_way_is_given_the_one_that_is_here(tmp_path: Path, name: str) -> None:
    file = write_class(tmp_path / "lib", OWN_WAY + COUNTS, columns=ROWS)
    (tmp_path / "LMUData/Toy.tsv").rename(tmp_path / "LMUData" / name)
    words = ("--include-path", file)
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "Toy", *words, path=painter(tmp_path)) == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 2}


def test_a_class_that_reads_its_table_in_its_own_way_is_given_the_one_of_the_run(tmp_path: Path) -> None:
    mine = write_table(tmp_path / "mine.tsv", {"index": [9], "prompt": ["paint red"]})
    assert run(tmp_path, OWN_WAY + COUNTS, "--data", f"Toy={mine}") == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 1}


# --- evaluate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "model"), [((), None), (("--judge", "mock"), "mock")])
def test_what_evaluate_is_told(tmp_path: Path, words: tuple[str, ...], model: str | None) -> None:
    body = f"""
    def evaluate(self, eval_file, **judge_kwargs):
        assert judge_kwargs.get('model') == {model!r}
        return {{'given': len({{'nproc', 'verbose', 'retry'}} & set(judge_kwargs))}}
    """
    assert run(tmp_path, body, *words) == 0
    assert results(tmp_path / "run", "Toy") == {"given": 3}


def test_an_evaluate_that_needs_its_judge_is_refused_without_one_but_answers_can_be_kept(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        judge_kwargs['model']
        return {'judged': len(load(eval_file))}
    """
    assert run(tmp_path, body) == 2
    assert run(tmp_path, body, "--dialect-option", "tsv.predict_only=true") == 0
    words = ["score", str(tmp_path / "run"), "--output", str(tmp_path / "judged"), "--judge", "mock", "--quiet"]
    assert main(words) == 0
    assert results(tmp_path / "judged", "Toy") == {"judged": 2}


def test_an_evaluate_without_its_judge_says_how_to_name_one_for_the_same_answers(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        if 'model' not in judge_kwargs: raise ValueError('Please specify a judge.')
        return {'judged': len(load(eval_file))}
    """
    assert run(tmp_path, body) == 1
    (note,) = [note for note in RunFolder(tmp_path / "run").read_results()["notes"] if "raised" in note]
    assert "The run has no judge; 'polymeter score RUN --judge SPEC' judges the existing answers." in note
    words = ["score", str(tmp_path / "run"), "--output", str(tmp_path / "judged"), "--judge", "mock", "--quiet"]
    assert main(words) == 0
    assert results(tmp_path / "judged", "Toy") == {"judged": 2}


def test_one_image_is_a_list_too_and_so_are_several(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        cells = load(eval_file)['prediction']
        assert all(isinstance(x, list) for x in cells)
        assert all(isinstance(y, Image.Image) for x in cells for y in x)
        return {'images': [len(x) for x in cells]}
    """
    for n in (1, 3):
        assert run(tmp_path, body, "--gen-kwargs", f"num_generations={n}", name=f"run{n}") == 0
        assert results(tmp_path / f"run{n}", "Toy") == {"0/images": n, "1/images": n}


def test_predictions_are_pictures_in_every_respect(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        image = load(eval_file)['prediction'][0][0]
        image.save(osp.join(osp.dirname(eval_file), 'first.png'))
        code = encode_image_to_base64(image, fmt='PNG')
        back = decode_base64_to_image(code)
        return {'size': image.size[0], 'mean': np.asarray(image)[..., 0].mean(), 'half': image.resize((2, 2)).size[0],
                'back': back.size[0], 'same': int(image.copy().tobytes() == image.convert('RGB').tobytes())}
    """
    assert run(tmp_path, body) == 0
    found = results(tmp_path / "run", "Toy")
    assert found == {"size": 4, "mean": 255, "half": 2, "back": 100, "same": 1}
    assert (tmp_path / "run/artifacts/Toy/first.png").is_file()


@pytest.mark.parametrize("returned", ["'good'", "{1, 2}", "True"])
def test_any_other_result_is_refused_and_the_answers_are_kept(tmp_path: Path, returned: str) -> None:
    body = f"def evaluate(self, eval_file, **judge_kwargs):\n    return {returned}\n"
    assert run(tmp_path, body) == 1
    assert len(samples(tmp_path / "run", "Toy")) == 2
    assert results(tmp_path / "run", "Toy") == {}


@pytest.mark.parametrize(("returned", "found"), [("3", {"value": 3}), ("[1, 2]", {"0": 1, "1": 2})])
def test_a_number_and_a_list_of_numbers_are_results(tmp_path: Path, returned: str, found: dict[str, float]) -> None:
    body = f"def evaluate(self, eval_file, **judge_kwargs):\n    return {returned}\n"
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == found


def test_the_numbers_of_records_are_averaged(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        rows = [dict(index=str(x), score=float(i), why='so') for i, x in enumerate(load(eval_file)['index'])]
        return {'results': rows}
    """
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == {"results/score": 0.5}


def test_names_that_begin_alike_do_not_touch_each_other(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS, columns=ROWS)
    file.write_text(file.read_text().replace("{'Toy': ''}", "{'Toy': '', 'ToyPP': ''}"))
    write_table(tmp_path / "LMUData/ToyPP.tsv", {"index": [9], "prompt": ["paint red"]})
    path, words = painter(tmp_path), ("--include-path", file)
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "ToyPP,Toy", *words, path=path) == 0
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "ToyPP,Toy", *words, path=path) == 0
    assert (results(tmp_path / "run", "ToyPP"), results(tmp_path / "run", "Toy")) == ({"rows": 1}, {"rows": 2})


# --- messages and models ---------------------------------------------------------------------------------------------

SEES = """
import json

class Painter(BaseModel):
    def generate_inner(self, msgs, dataset=None):
        with open('seen.jsonl', 'a') as file:
            file.write(json.dumps([dataset, msgs]) + '\\n')
        return Image.new('RGB', (4, 4))
"""


@pytest.mark.parametrize("form", ["[line['prompt']]", "[dict(type='text', value=line['prompt'])]", "line['prompt']"])
def test_prompts_that_are_called_like_files_stay_prompts(tmp_path: Path, form: str) -> None:
    """A text is never looked up on the disk; in a list of strings only an image file is an image."""
    import json

    (tmp_path / "dog").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    prompts = ["dog", "notes.txt", "/etc/passwd", "https://example.org/page"]
    columns = {"index": range(4), "prompt": prompts}
    file = write_class(tmp_path / "lib", f"def build_prompt(self, line):\n    return {form}\n{COUNTS}", columns=columns)
    path = written(tmp_path / "sees.py", SEES, "model")
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "Toy", "--include-path", file, path=path) == 0
    seen = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
    assert sorted(prompt["value"] for _, (prompt,) in seen) == sorted(prompts)
    assert {(dataset, prompt["type"]) for dataset, (prompt,) in seen} == {("Toy", "text")}


def test_the_base_of_models(tmp_path: Path) -> None:
    body = "class Mine(BaseModel):\n    def generate_inner(self, message, dataset=None):\n        return message\n"
    mine = load_guest_file(written(tmp_path / "mine.py", body, "model")).Mine()
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    assert (mine.INTERLEAVE, mine.allowed_types, mine.use_custom_prompt("Toy")) == (False, ["text", "image"], False)
    prompt, image = mine.message_to_promptimg(mine.preproc_content(["a.png", "one", "two"]), dataset="Toy")
    assert (prompt, Path(image).name) == ("one\ntwo", "a.png")
    mine.set_dump_image(lambda line: [f"{line}.png"])
    assert mine.dump_image(3, "Toy") == ["3.png"]


@pytest.mark.parametrize("seed", [None, "7"])
def test_calls_outside_of_runs_repeat_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: str | None
) -> None:
    body = """
    class Mine(BaseModel):
        def generate_inner(self, message, dataset=None):
            return Image.fromarray(np.random.randint(256, size=(2, 2, 3), dtype=np.uint8))
    """
    mine = load_guest_file(written(tmp_path / "mine.py", body, "model")).Mine()
    default = mine.generate("x")[0].tobytes()
    if seed:
        monkeypatch.setenv("SEED", seed)
    assert mine.generate("x")[0].tobytes() == mine.generate("y")[0].tobytes()
    assert (mine.generate("x")[0].tobytes() == default) == (seed is None)


def test_a_models_own_prompt_comes_before_the_benchmarks(tmp_path: Path) -> None:
    body = """
    class Painter(BaseModel):
        def use_custom_prompt(self, dataset):
            return dataset == 'Toy'

        def build_prompt(self, line, dataset=None):
            assert isinstance(line['index'], str) and self.dump_image(line, dataset) == []
            return [dict(type='text', value='paint green')]

        def generate_inner(self, msgs, dataset=None):
            return Image.new('RGB', (4, 4), msgs[-1]['value'].split()[-1])
    """
    file = write_class(tmp_path / "lib", COUNTS, columns=ROWS)
    path = written(tmp_path / "own.py", body, "model")
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "Toy", "--include-path", file, path=path) == 0
    assert {cell[0].getpixel((0, 0)) for cell in pictures(tmp_path / "run", "Toy")} == {(0, 128, 0)}


def test_a_run_with_failed_samples_says_so_by_its_exit_code(tmp_path: Path) -> None:
    body = """
    class Painter(BaseModel):
        def generate_inner(self, msgs, dataset=None):
            if 'blue' in msgs[0]['value']:
                raise ValueError('no blue is left')
            return Image.new('RGB', (4, 4))
    """
    file = write_class(tmp_path / "lib", COUNTS, columns=ROWS)
    path = written(tmp_path / "fails.py", body, "model")
    assert polymeter_run(tmp_path / "run", "ulm:Painter", "Toy", "--include-path", file, path=path) == 1
    assert ["no blue is left" in message for message in messages_of(tmp_path / "run", "Toy")] == [False, True]


def test_a_model_that_never_answers_is_refused_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "class Mine(BaseModel):\n    def generate_inner(self, msgs, dataset=None):\n        return 'a text'\n"
    file = write_class(tmp_path / "lib", COUNTS, columns=ROWS)
    path = written(tmp_path / "tells.py", body, "model")
    assert polymeter_run(tmp_path / "run", "ulm:Mine", "Toy", "--include-path", file, path=path) == 2
    assert "gave the text 'a text' where an image was asked for" in " ".join(capsys.readouterr().err.split())


# --- names -----------------------------------------------------------------------------------------------------------


def test_datasets_by_name(tmp_path: Path) -> None:
    file = write_class(tmp_path / "lib", COUNTS, columns=ROWS, name="Named")
    script = written(
        tmp_path / "script.py",
        """
        from ulmeval.dataset import DATASET_MODALITY, DATASET_TYPE, SUPPORTED_DATASETS, build_dataset
        named = build_dataset('Named')
        assert len(named) == 2 and named.build_prompt(1)[0]['value'] == 'paint blue'
        assert (DATASET_TYPE('Named'), DATASET_MODALITY('Named')) == ('T2I', 'TEXT')
        assert 'Named' in SUPPORTED_DATASETS
        assert DATASET_TYPE('Nothing') == 'MCQ'
        import warnings
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter('always')
            assert build_dataset('Nothing') is None
        assert "no dataset 'Nothing'" in str(said[0].message)
        """,
    )
    assert main(["python", "--include-path", str(file.parent), str(script)]) == 0


def test_the_codecs_of_the_guide(tmp_path: Path) -> None:
    script = written(
        tmp_path / "script.py",
        """
        import os
        from PIL import Image
        from ulmeval.smp.ulm import (encode_image_to_base64, encode_image_file_to_base64, decode_base64_to_image,
                                     decode_base64_to_image_file)
        Image.new('RGBA', (50, 40), (255, 0, 0, 9)).save('small.png')
        assert decode_base64_to_image(encode_image_to_base64(Image.open('small.png'))).size == (125, 100)
        text = encode_image_file_to_base64('small.png', fmt='PNG')
        assert decode_base64_to_image(text).mode == 'RGB'
        decode_base64_to_image_file(text, 'deep/er/out.jpg')
        with Image.open('deep/er/out.jpg') as picture:
            assert picture.format == 'JPEG'
        assert decode_base64_to_image(encode_image_to_base64(Image.new('RGB', (400, 200))), 100).size == (100, 50)
        """,
    )
    assert main(["python", str(script)]) == 0


def test_modules_that_the_star_leaks(tmp_path: Path) -> None:
    body = """
    used = [os, osp, sys, io, json, csv, pickle, hashlib, time, datetime, string, base64, mimetypes, np, pd, mp, cp, rd,
            warnings, logging, shutil, subprocess, argparse, abc, requests, tqdm, tabulate, OrderedDict, defaultdict,
            Pool, Path, Image, uuid4, plt, validators, fg, bg, ef, rs]

    def evaluate(self, eval_file, **judge_kwargs):
        logger = get_logger('toy')
        logger.info('evaluating')
        order = OrderedDict(a=osp.join('a', 'b'))
        assert order['a'] == 'a/b' and listinstr(['a'], 'cat') and toliststr("['x', 'y']") == ['x', 'y']
        digest = hashlib.md5(b'x').hexdigest()
        return {'rows': len(load(eval_file)), 'mean': np.mean([1, 3]), 'n': len(digest), 'md5': len(md5('x'))}
    """
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == {"rows": 2, "mean": 2, "n": 32, "md5": 32}


def test_threads_of_an_evaluate(tmp_path: Path) -> None:
    body = """
    def evaluate(self, eval_file, **judge_kwargs):
        from ..utils import track_progress_rich

        def width(image, times):
            return image.size[0] * times

        cells = load(eval_file)['prediction']
        tmp = eval_file.replace('.pkl', '_tmp.pkl')
        named = track_progress_rich(
            width, [dict(image=x[0], times=i) for i, x in enumerate(cells)], nproc=4, save=tmp, keys=['a', 'b'])
        placed = track_progress_rich(width, [(x[0], i) for i, x in enumerate(cells)], nproc=judge_kwargs['nproc'])
        assert named == placed == [0, 4] and load(tmp) == {'a': 0, 'b': 4}
        return {'sum': sum(named)}
    """
    assert run(tmp_path, body) == 0
    assert results(tmp_path / "run", "Toy") == {"sum": 4}
