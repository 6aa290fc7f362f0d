"""Each switch of ULMEvalKit's, both ways."""

from __future__ import annotations

import base64
import importlib
import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image as pil

from polymeter import evaluate
from polymeter.core.content import Image, Text
from polymeter.core.guest_context import answering_through, guest_context_with
from polymeter.core.names.parity import parity_with
from polymeter.core.request import GenerateImage, Message, Output, Request, Response
from polymeter.data.tables.tsv import read_texts
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.ulmeval.models.calling import results
from polymeter.interop.ulmeval.models.words import adding_words
from polymeter.interop.ulmeval.shim.ulmeval.api.gpt import OpenAIWrapper
from polymeter.interop.ulmeval.tasks.dataset import image_count
from polymeter.models.mock import MockBatch
from polymeter.tasks.table.base import ImageBaseDataset
from polymeter.tasks.table.classes.multiple_choice.datasets import ImageMCQDataset, TextMCQDataset
from polymeter.tasks.table.classes.questions.datasets import TextQADataset
from polymeter.tasks.table.files.image_files import write_images
from tests.helpers.differences import difference


def png(mode: str = "RGBA", size: tuple[int, int] = (3, 2)) -> str:
    written = io.BytesIO()
    pil.new(mode, size, "red").save(written, "PNG")
    return base64.b64encode(written.getvalue()).decode()


@difference("dumped-image-as-jpeg", here=("7.png", "PNG", "RGBA"), there=("7.jpg", "JPEG", "RGB"))
def test_the_file_of_a_row_s_image(tmp_path: Path, parity: str, expected: tuple[str, str, str]) -> None:
    with guest_context_with(parity=parity_with(parity)):
        (path,) = write_images("7", png(), None, tmp_path)
    with pil.open(path) as image:
        assert (Path(path).name, image.format, image.mode) == expected


def test_several_images_and_given_names_at_parity(tmp_path: Path) -> None:
    with guest_context_with(parity=parity_with("ulmeval")):
        several = write_images("7", [png(), png("RGB")], None, tmp_path)
        named = write_images("8", png(), "mine.png", tmp_path)
    assert [Path(path).name for path in [*several, *named]] == ["7_0.png", "7_1.png", "mine.png"]
    with pil.open(several[0]) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")


@difference("missing-words", here=["None", "NA"], there=[None, None])
def test_words_that_pandas_takes_for_missing_values(tmp_path: Path, parity: str, expected: list[Any]) -> None:
    (tmp_path / "t.tsv").write_text("index\tA\tB\n1\tNone\tNA\n")
    with guest_context_with(parity=parity_with(parity)):
        table = read_texts(tmp_path / "t.tsv")
    assert [None if pd.isna(cell) else cell for cell in (table["A"][0], table["B"][0])] == expected


@difference("missing-words", here=["None", "a", "", "N/A"], there=["", "a", "", ""])
def test_right_answers_of_an_author_s_class_that_are_such_words(
    tmp_path: Path, parity: str, expected: list[Any]
) -> None:
    class Mine(ImageBaseDataset):
        pass

    (tmp_path / "t.tsv").write_text("index\tanswer\n1\tNone\n2\ta\n3\t\n4\tN/A\n")
    (tmp_path / "numbers.tsv").write_text("index\tanswer\n1\tNA\n2\t3\n")
    mine = Mine.__new__(Mine)
    with guest_context_with(parity=parity_with(parity)):
        table, numbers = mine.read_table(tmp_path / "t.tsv"), mine.read_table(tmp_path / "numbers.tsv")
    assert table["answer"].fillna("").tolist() == expected
    assert numbers["answer"].fillna(-1).tolist() == [-1, 3]


@pytest.mark.parametrize("parity", ["none", "ulmeval"])
def test_an_author_s_class_reads_such_words_as_pandas_does(tmp_path: Path, parity: str) -> None:
    class Mine(ImageMCQDataset):
        pass

    (tmp_path / "t.tsv").write_text("index\thint\tA\n1\tN/A\t1\n")
    with guest_context_with(parity=parity_with(parity)):
        table = Mine.read_table(Mine.__new__(Mine), tmp_path / "t.tsv")
    assert (table["hint"].isna().all(), table["A"][0]) == (True, 1)


@difference("vqa-equality", here=[0.0, 1.0, 0.0], there=[1.0, 0.0, 1.0])
def test_open_questions_are_compared_as_in_the_vqa_challenge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parity: str, expected: list[float]
) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "tables"))
    rows = [("C", "C++"), ("[3, 5]", "[3, 5]"), ("the cat", "a cat")]
    lines = [f"{number}\t?\t{answer}\n" for number, (answer, _) in enumerate(rows)]
    (tmp_path / "t.tsv").write_text("index\tquestion\tanswer\n" + "".join(lines))
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({str(number): said for number, (_, said) in enumerate(rows)}))
    args = {"model_args": {"answers": str(answers)}, "parity": parity}
    result = evaluate("mock", str(tmp_path / "t.tsv"), output=tmp_path / "run", **args)
    assert [sample.scores["exact_match"] for sample in result.samples()] == expected


@difference("choice-reading", here=["B", "B", ""], there=["", "", "A"])
def test_which_option_an_answer_chooses(tmp_path: Path, parity: str, expected: list[str]) -> None:
    row = {"index": 0, "question": "?", "A": "10", "B": "100", "C": "2", "answer": "B"}
    dataset = TextMCQDataset.__new__(TextMCQDataset)
    dataset.data = pd.DataFrame([row])
    with guest_context_with(parity=parity_with(parity)):
        read = [dataset.evaluate_sample(row, said)["answer"] for said in ("100", "b", "It is A 9")]
    assert read == expected


@difference("yes-no-reading", here=["Yes", "Yes", ""], there=["No", "", "No"])
def test_which_word_answers_yes_or_no(tmp_path: Path, parity: str, expected: list[str]) -> None:
    row = {"index": 0, "question": "?", "answer": "Yes"}
    dataset = TextQADataset.__new__(TextQADataset)
    dataset.data = pd.DataFrame([row])
    said = ("**Yes**, there is no dog.", "Yes, no doubt", "I'm sorry, no image was provided.")
    with guest_context_with(parity=parity_with(parity)):
        read = [dataset.evaluate_sample(row, answer)["answer"] for answer in said]
    assert read == expected


class Drawing:
    """A wrapper that draws a number."""

    def __init__(self, *, all_at_once: bool) -> None:
        if all_at_once:
            self.batch_generate_inner = lambda message, dataset, num_generations: [
                self.draw() for _ in range(num_generations)
            ]

    def draw(self) -> float:
        import random

        return random.random()

    def generate_inner(self, message: Any, dataset: str | None = None) -> float:
        return self.draw()


def drawn(parity: str, seed: int) -> list[float]:
    repeats = [
        Request((Message("user", (Text("x"),)),), GenerateImage(seed=seed + number, repeat=number))
        for number in range(2)
    ]
    one_seed = 42 if parity_with(parity).on("one-seed") else None
    return list(results(Drawing(all_at_once=False), repeats, Path(), one_seed))


@difference("one-seed", here=False, there=True)
def test_whether_all_prompts_are_drawn_from_one_seed(parity: str, expected: bool) -> None:
    first, second = drawn(parity, 1), drawn(parity, 100)
    assert (first == second) is expected
    assert first[0] != first[1]


def asked_of(parity: str, prompt: str) -> str:
    asked: list[str] = []

    def answer(request: Request) -> str:
        asked.append(request.text)
        return "ok"

    model = adding_words(MockBatch(answer), "Qwen-Image")
    model.parity = parity_with(parity)
    assert isinstance(model, MockBatch)
    model.respond([Request((Message("user", (Text(prompt),)),), GenerateImage())])
    return asked[0]


@difference("quality-words", here="a cat", there="a cat, Ultra HD, 4K, cinematic composition.")
def test_words_after_every_prompt(parity: str, expected: str) -> None:
    assert asked_of(parity, "a cat") == expected


def test_words_after_a_chinese_prompt() -> None:
    assert asked_of("ulmeval", "一只猫").endswith("构图.")


class Once:
    NUM_GENERATIONS = 2


@difference("generations-by-name", here=[2, 2, 2], there=[4, 10, 1])
def test_how_many_images_a_prompt_gets(parity: str, expected: list[int]) -> None:
    with guest_context_with(parity=parity_with(parity)):
        names = ("GenEval", "T2ICompBench_Color_VAL", "Mine")
        assert [image_count(name, Once()) for name in names] == expected


class Judge:
    """A role client that keeps what it is asked."""

    roles = frozenset({"judge"})

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def __call__(self, role: str, request: Request) -> Response:
        self.asked.append(request)
        return Response((Output(text="1"),))


def judged(parity: str, message: Any) -> list[Any]:
    judge = Judge()
    with answering_through(judge), guest_context_with(parity=parity_with(parity)):
        OpenAIWrapper("gpt-4o").generate(message)
    return [part for turn in judge.asked[0].messages for part in turn.parts]


@difference("pasted-image-as-text", here=["text", "image", "text"], there=["text"])
def test_an_image_that_is_pasted_into_a_question(parity: str, expected: list[str]) -> None:
    parts = judged(parity, f"PROMPT: a cat\ndata:image/png;base64, {png(size=(60, 40))}\nFollow the template.")
    assert [part.modality for part in parts] == expected


@difference("judge-image-size", here=(1000, 500), there=(512, 256))
def test_the_size_of_an_image_for_the_judge(parity: str, expected: tuple[int, int], tmp_path: Path) -> None:
    pil.new("RGB", (1000, 500), "red").save(tmp_path / "a.png")
    parts = judged(parity, [{"type": "image", "value": str(tmp_path / "a.png")}, {"type": "text", "value": "?"}])
    (image,) = [part for part in parts if isinstance(part, Image)]
    assert image.size() == expected


@pytest.mark.parametrize("size", [-1, 300])
def test_a_size_that_the_class_gives_is_its_own(size: int) -> None:
    assert OpenAIWrapper("gpt-4o", img_size=size).img_size == size


@difference("spreadsheet-cells", here=["007", "None"], there=[7.0, None])
def test_what_a_class_of_vlmevalkit_reads_of_its_predictions(
    parity: str, expected: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRED_FORMAT", raising=False)
    file = tmp_path / "mine.py"
    file.write_text(
        "from vlmeval.smp import *\n"
        "class Mine(TextBaseDataset):\n"
        "    TYPE = 'VQA'\n    DATASET_URL = {'Mine': ''}\n"
        "    def __init__(self, dataset='Mine', **kwargs):\n"
        "        self.dataset_name = dataset\n"
        "        self.data = pd.DataFrame({'index': [0, 1], 'question': ['007', 'None']})\n"
        "    def evaluate(self, eval_file, **kwargs):\n"
        "        said = load(eval_file)['prediction']\n"
        "        return {'n_texts': sum(isinstance(x, str) for x in said), 'n_missing': int(said.isna().sum())}\n"
    )
    run = evaluate(
        "mock", "Mine", include_paths=[file], output=tmp_path / "run", model_args={"mode": "echo"}, parity=parity
    )
    found = {item["metric"]: item["value"] for item in run.results["tasks"]["Mine"]["results"]}
    assert found == {"n_texts": sum(isinstance(x, str) for x in expected), "n_missing": expected.count(None)}


@difference("images-while-scoring", here=1, there=0)
def test_the_images_of_a_class_of_vlmevalkit_while_it_scores(parity: str, expected: int, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from vlmeval.smp import *\n"
        "class Mine(ImageBaseDataset):\n"
        "    TYPE = 'VQA'\n    DATASET_URL = {'Mine': ''}\n"
        "    def evaluate(self, eval_file, **kwargs):\n"
        "        return {'n': int('image' in self.data), 'index': int('index' in self.data)}\n"
    )
    (tmp_path / "t.tsv").write_text(f"index\tquestion\timage\n1\tWhich?\t{png('RGB')}\n")
    data = {"Mine": str(tmp_path / "t.tsv")}
    run = evaluate("mock", "Mine", include_paths=[file], data=data, output=tmp_path / "run", parity=parity)
    found = {item["metric"]: item["value"] for item in run.results["tasks"]["Mine"]["results"]}
    assert found == {"n": expected, "index": 1}


@difference("answer-letters", here=[1, 1, None], there=[0, 0, 0])
def test_an_answer_key_that_is_no_letter(tmp_path: Path, parity: str, expected: list[Any]) -> None:
    keys = ["b", "dog", "cow"]
    rows = [{"index": n, "question": "?", "A": "cat", "B": "dog", "answer": key} for n, key in enumerate(keys)]
    switch_on_shims()
    evaluate_rows = importlib.import_module("vlmeval.dataset.utils.multiple_choice").mcq_vanilla_eval
    table = pd.DataFrame(rows)
    with guest_context_with(parity=parity_with(parity)):
        data = evaluate_rows(None, table.assign(prediction="B"), table, 1, str(tmp_path / "x.pkl"))
    assert [None if pd.isna(hit) else hit for hit in data["hit"]] == expected


def test_a_single_image_of_vlmevalkit_stays_a_png_at_parity(tmp_path: Path) -> None:
    with guest_context_with(parity=parity_with("ulmeval")):
        (path,) = write_images("7", png(), None, tmp_path, ".png")
    with pil.open(path) as image:
        assert (Path(path).name, image.format, image.getpixel((0, 0))) == ("7.png", "PNG", (255, 0, 0))


@pytest.mark.parametrize(("package", "size"), [("ulmeval", 512), ("vlmeval", -1)])
def test_each_package_has_its_own_size_of_images_for_a_judge_at_parity(package: str, size: int) -> None:
    switch_on_shims()
    with guest_context_with(parity=parity_with("ulmeval")):
        judge = importlib.import_module(f"{package}.dataset.utils.judge_util").build_judge(model="gpt-4o")
    assert judge.img_size == size
