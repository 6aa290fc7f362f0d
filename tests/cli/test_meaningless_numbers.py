"""Mistakes that used to end with exit 0 and a number that means nothing: each has an exit code, a message, a place and
an advice, and is found before anything is asked where it can be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from polymeter.api import evaluate
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.tasks.table.classes.images.datasets import GeneratedImages
from tests.cli.kit import CAPITALS
from tests.helpers.openai_stub import OpenAIStub, chat


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: Its exit code.
        out: What it printed.
        err: What it said.
        run: Its run folder, if it wrote one.
    """

    code: int
    out: str
    err: str
    run: Path

    @property
    def results(self) -> dict[str, Any]:
        return json.loads((self.run / "results.json").read_text())

    def value(self, task: str, metric: str) -> float:
        return next(each["value"] for each in self.results["tasks"][task]["results"] if each["metric"] == metric)


Polymeter = Callable[..., Ended]


@pytest.fixture
def polymeter(tmp_path, monkeypatch, capsys) -> Polymeter:
    """Runs ``polymeter run … --output run`` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, model: Sequence[str] = ("mock",), command: str = "run") -> Ended:
        code = main([command, "--model", *model, *words, "--output", "run", "--quiet"])
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err, tmp_path / "run")

    return run


def refuses(ended: Ended, *texts: str) -> None:
    """The command was refused before anything was asked: exit 2, these texts, and no run folder."""
    assert ended.code == 2, ended.out + ended.err
    for text in texts:
        assert text in ended.err, ended.err
    assert not ended.run.exists()


# Multiple choice: a target that names no choice.

CITIES = ["Paris", "Rome", "Oslo"]
CHOICES = """\
task: cities
dataset_path: json
dataset_kwargs: {{data_files: rows.jsonl}}
test_split: train
output_type: multiple_choice
doc_to_text: question
doc_to_choice: choices
doc_to_target: {target}
metric_list: [acc]
"""
GOLD = ("mock", "--model-args", "mode=gold")


def cities(*answers: Any, target: str = "answer", choices: Sequence[Any] = (CITIES,)) -> list[str]:
    """A task with a row for each answer; returns the words that run it."""
    lists = [*choices, *[choices[-1]] * len(answers)]
    rows = [
        {"question": f"Which one ({i})?", "choices": lists[i], "answer": answer} for i, answer in enumerate(answers)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("cities.yaml").write_text(CHOICES.format(target=target))
    return ["--tasks", "cities.yaml"]


@pytest.mark.parametrize(
    ("answers", "target", "choices"),
    [
        ((0, 1, 2), "answer", (CITIES,)),
        ((2.0, 0.0), "answer", (CITIES,)),
        (("0", "2"), '"{{answer}}"', (CITIES,)),
        ((1, 3), '"{{answer|int - 1}}"', (CITIES,)),
        (("Paris", "Oslo"), "answer", (CITIES,)),
        ((" Paris", "Oslo\n"), "answer", (CITIES,)),
        (("Paris", "Oslo"), "answer", (["Paris ", " Rome", " Oslo"],)),
        (("A", "B", "C"), "answer", (CITIES,)),
        (("a", "c"), "answer", (CITIES,)),
        (("(B)", "(a)", "[C]"), "answer", (CITIES,)),
        (("B.", "A)", "c:"), "answer", (CITIES,)),
        (("B", "A"), "answer", (["(B)", "(A)", "(C)"],)),
        (("A", "B"), "answer", (["B", "A", "C"],)),
        (([0, 2], [1]), "answer", (CITIES,)),
        ((["A", "Oslo"], ["b"]), "answer", (CITIES,)),
        (("2", "4"), "answer", (["4", "3", "2"],)),
    ],
    ids=repr,
)
def test_a_target_names_a_choice(polymeter, answers, target, choices):
    ended = polymeter(*cities(*answers, target=target, choices=choices), model=GOLD)
    assert ended.code == 0, ended.err
    assert ended.value("cities", "acc") == 1.0


@pytest.mark.parametrize(
    ("answer", "right", "choices"),
    [
        ("B", "Rome", CITIES),
        ("Rome", "Rome", CITIES),
        (1, "Rome", CITIES),
        ("A", "A", ["B", "A"]),
        ("a", "a", ["b", "a"]),
    ],
)
def test_index_before_text_before_letter(polymeter, answer, right, choices):
    polymeter(*cities(answer, choices=[choices]))
    (line,) = map(json.loads, (Path("run") / "samples" / "cities.jsonl").read_text().splitlines())
    assert line["target"] == right


@pytest.mark.parametrize(
    ("answers", "target", "says", "advice"),
    [
        (("D",), "answer", "'D' names none of the 3 choices: A 'Paris', B 'Rome', C 'Oslo'", "letter"),
        (("Pariss",), "answer", "'Pariss' names none", "Did you mean 'Paris'"),
        (("paris",), "answer", "'paris' names none", "Did you mean 'Paris'"),
        (("",), "answer", "'' names none", "Write the index of a choice (from 0)"),
        ((-1,), "answer", "-1 names none", "Indices count from 0"),
        ((1, 2, 3), "answer", "Sample 2 of task 'cities': The target 3", '"{{ answer|int - 1 }}"'),
        ((1, 2, 3), '"{{answer}}"', "Sample 2 of task 'cities': The target 3", "COLUMN|int - 1"),
        (("1", "2"), "answer", "'1' names none", '"{{ answer }}"; for numbers that count from 1'),
        ((0.5,), "answer", "0.5 names none", "Write the index"),
        (([],), "answer", "[] names none", "Write the index"),
        (([5, 7],), "answer", "[5, 7] names none", "the last one is 2"),
        (("0", "1", "Bern"), "answer", "'0' names none", "For an index from 0"),
    ],
    ids=repr,
)
def test_a_target_that_names_no_choice_is_refused(polymeter, answers, target, says, advice):
    ended = polymeter(*cities(*answers, target=target), model=GOLD)
    refuses(ended, says, advice, "cities.yaml:8")


def test_a_row_beyond_the_limit_is_not_looked_at(polymeter):
    words = cities("A", "B", "Bern")
    assert polymeter(*words, "--limit", "2", model=GOLD).code == 0


def test_a_number_that_is_the_text_of_a_choice_is_an_index_first(polymeter):
    ended = polymeter(*cities(1, 12, choices=(["7", "1", "12"],)), model=GOLD)
    refuses(ended, "The target 12 names none", "store it as text ('12')")


def test_a_target_from_code_is_refused_before_its_own_request(polymeter):
    words = cities("A", "B", "Bern", "C", "A", "B", "C", "A", "B", target="!function code.target")
    Path("code.py").write_text("def target(doc):\n    return doc['answer']\n")
    ended = polymeter(*words, model=GOLD)
    assert ended.code == 1
    assert ended.results["tasks"]["cities"]["statuses"] == {"ok": 8, "error": 1}
    (line,) = [each for each in (ended.run / "samples" / "cities.jsonl").read_text().splitlines() if "Bern" in each]
    failed = json.loads(line)
    assert "Sample 2 of task 'cities': The target 'Bern' names none" in str(failed["error"])
    assert failed["exchanges"] == []


def test_a_target_from_code_that_never_names_a_choice_is_refused(polymeter):
    words = cities("x", "y", "z", target="!function code.target")
    Path("code.py").write_text("def target(doc):\n    return doc['answer']\n")
    refuses(polymeter(*words), "Sample 0 of task 'cities': The target 'x' names none", "cities.yaml:8")


def test_a_task_that_scores_itself_says_what_its_target_is(polymeter):
    words = cities("none of them")
    Path("code.py").write_text("def score(doc, results):\n    return {'acc': 1.0}\n")
    with Path("cities.yaml").open("a") as file:
        file.write("process_results: !function code.score\n")
    assert polymeter(*words).code == 0


def test_the_right_context_may_be_named_by_its_index_alone(polymeter):
    words = cities("stands in Italy", target="answer")
    text = Path("cities.yaml").read_text()
    Path("cities.yaml").write_text(text.replace("doc_to_text: question", "doc_to_text: 7"))
    refuses(polymeter(*words), "The target 7 names none of the 3 choices")
    Path("cities.yaml").write_text(text.replace("doc_to_text: question", "doc_to_text: 1"))
    assert polymeter(*words).code == 0


# Nothing is scored: that is a failure, and no result.

SILENT_YAML = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: rows.jsonl}}
test_split: train
doc_to_text: question
doc_to_target: answer
process_results: !function scoring.{function}
metric_list:
  - metric: acc
"""
SCORING = """\
def none(doc, results):
    return {}

def nan(doc, results):
    return {"acc": float("nan")}

def misnamed(doc, results):
    return {"acuracy": 1.0}

def first(doc, results):
    return {"acc": 1.0 if doc["answer"] == "a" else float("nan")}

def right(doc, results):
    return {"acc": 1.0}
"""


def scored_by(*functions: str) -> list[str]:
    """Tasks of two rows, each scored by one of the functions above; returns the words that run them."""
    Path("rows.jsonl").write_text("".join(json.dumps({"question": f"{i}?", "answer": i}) + "\n" for i in "ab"))
    Path("scoring.py").write_text(SCORING)
    for function in functions:
        Path(f"{function}.yaml").write_text(SILENT_YAML.format(name=function, function=function))
    return ["--tasks", ",".join(f"{function}.yaml" for function in functions)]


@pytest.mark.parametrize("function", ["none", "nan", "misnamed"])
def test_a_task_without_a_score_fails(polymeter, function):
    ended = polymeter(*scored_by(function))
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == f"Failed: nothing is scored in {function}."
    assert "scored   0 of 2 samples of 1 task" in ended.out
    assert f"NOTHING SCORED: {function}: none of its 2 samples has a score. Its scoring returned no value" in ended.out
    assert list(ended.results["nothing_scored"]) == [function]
    assert ended.results["tasks"][function]["n_scored"] == 0
    assert f"NOTHING SCORED: {function}" in (ended.run / "report.html").read_text()
    assert json.loads((ended.run / "run.json").read_text())["n_failed"] == 2


def test_a_task_without_a_score_fails_among_others(polymeter):
    ended = polymeter(*scored_by("right", "nan"))
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == "Failed: nothing is scored in nan."
    assert "scored   2 of 4 samples of 2 tasks" in ended.out
    assert list(ended.results["nothing_scored"]) == ["nan"]


def test_only_scored_samples_are_counted(polymeter):
    ended = polymeter(*scored_by("first"))
    assert ended.code == 0
    assert "scored   1 of 2 samples of 1 task" in ended.out
    assert "1 of 2 samples without a score (1 without a value)" in ended.out
    assert "nothing_scored" not in ended.results


def test_answers_that_nobody_wants_scored_are_no_failure(polymeter):
    ended = polymeter(*scored_by("none"), "--dialect-option", "task_yaml.predict_only=true")
    assert ended.code == 0, ended.err
    assert "nothing_scored" not in ended.results


def test_all_failed_is_nothing_scored(polymeter):
    ended = polymeter(*scored_by("right"), model=("mock", "--model-args", "failure=permanent"))
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == "Failed: nothing is scored in right."
    assert "none of its 2 samples has a score.\n" in ended.out


def test_going_on_with_a_run_without_a_score_fails_again_and_asks_nothing(polymeter, capsys):
    polymeter(*scored_by("nan"))
    assert main(["resume", "run", "--quiet"]) == 1
    assert "Failed: nothing is scored in nan." in capsys.readouterr().err
    assert json.loads(Path("run/run.json").read_text())["cache"]["hits"] == 0


# Tables: an answer that is no option, and nothing that scores.


def table(name: str, columns: str, *rows: str) -> list[str]:
    """A table with these columns and rows, cells parted by ``|``; returns the words that run it."""
    lines = [columns, *rows]
    Path(f"{name}.tsv").write_text("".join(line.replace("|", "\t") + "\n" for line in lines))
    return ["--tasks", f"{name}.tsv"]


MCQ = "index|question|A|B|C|answer"


@pytest.mark.parametrize("answer", ["B", "b", "Rome", "(B)", "b.", " B "])
def test_an_answer_of_a_table_names_an_option(polymeter, answer):
    ended = polymeter(
        *table("cities", MCQ, f"0|Which?|Paris|Rome|Oslo|{answer}"), model=("mock", "--model-args", "answer=B")
    )
    assert ended.code == 0, ended.err
    assert ended.value("cities", "acc") == 1.0


@pytest.mark.parametrize("answer", ["D", "2", "Bern", "(E)"])
def test_answers_of_a_table_that_are_no_options_are_refused(polymeter, answer):
    words = table("cities", MCQ, f"6|Which?|Paris|Rome|Oslo|{answer}", f"7|Which?|Paris|Rome|Oslo|{answer}")
    says = f"The answer {answer!r} is none of the options A 'Paris', B 'Rome', C 'Oslo'"
    refuses(polymeter(*words), says, "row '6', column 'answer'", "cities.tsv", "Write the letter of the right option")


def test_a_single_answer_of_a_table_that_is_no_option_is_an_error_of_its_row(polymeter):
    words = table("cities", MCQ, "6|Which?|Paris|Rome|Oslo|D", "7|Which?|Paris|Rome|Oslo|A")
    ended = polymeter(*words)
    assert ended.code == 1
    assert ended.results["tasks"]["cities"]["statuses"] == {"ok": 1, "error": 1}


@pytest.mark.parametrize(
    ("columns", "row", "says"),
    [
        (
            "index|prompt",
            "0|A red cube",
            "it has no column for scoring (scene, reference, checklist), and the run has no judge",
        ),
        ("index|prompt|checklist", '0|A red cube|["It is red."]', "the checklists need a judge, but the run has none"),
        ("index|prompt|scene", "0|A red cube|", "it has no column for scoring"),
    ],
)
def test_a_table_that_nothing_scores_is_refused(polymeter, columns, row, says):
    words = table("cubes", columns, row)
    refuses(polymeter(*words), f"Benchmark 'cubes': Nothing scores its images: {says}", "--judge openai:NAME")
    kept = polymeter(*words, "--dialect-option", "tsv.predict_only=true")
    assert kept.code == 0, kept.err


def test_a_run_that_an_earlier_version_began_without_a_scorer_is_gone_on_with(polymeter, monkeypatch, capsys):
    with monkeypatch.context() as earlier:
        earlier.setattr(GeneratedImages, "check_rows", lambda *args, **kwargs: None)
        began = polymeter(*table("cubes", "index|prompt", "0|A red cube", "1|A blue cube"))
    assert began.code == 1
    before = Path("run/results.json").read_bytes()
    assert main(["verify", "run"]) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    for command in (["resume", "run"], ["score", "run", "-o", "again"]):
        assert main([*command, "-q"]) == 1
        assert "Failed: nothing is scored in cubes." in capsys.readouterr().err
    assert Path("run/results.json").read_bytes() == before
    again, first = (json.loads(text)["tasks"]["cubes"] for text in (Path("again/results.json").read_text(), before))
    assert [again[key] for key in ("n_scored", "results")] == [first[key] for key in ("n_scored", "results")]


def test_a_run_that_kept_its_images_alone_is_scored_by_a_judge(polymeter, capsys):
    words = (*table("cubes", "index|prompt", "0|A red cube"), "--dialect-option", "tsv.predict_only=true")
    assert polymeter(*words).code == 0
    assert main(["verify", "run"]) == 0
    assert main(["score", "run", "-q"]) == 2
    assert "Name a judge: --judge openai:NAME." in capsys.readouterr().err


# Cells that are nothing.


@pytest.mark.parametrize(
    ("csv", "told"),
    [
        ("country,capital\nFrance,Paris\n,Windhoek\n", "nothing in column 'country' (sample 1)"),
        ("country,capital\nFrance,Paris\nJapan,None\n", ""),
        ("country,capital\nFrance,Paris\nNA,Windhoek\n", ""),
        ("country,capital\nFrance,Paris\nJapan,Tokyo\n", ""),
    ],
)
def test_cells_that_are_nothing_are_told(polymeter, csv, told):
    Path("capitals.csv").write_text(csv)
    Path("capitals.yaml").write_text(CAPITALS)
    ended = polymeter("--tasks", "capitals.yaml")
    assert ended.code == 0, ended.err
    notes = [note for note in ended.results["notes"] if "nothing in column" in note]
    assert len(notes) == bool(told)
    assert told in " ".join(notes)
    assert not told or "their prompts are empty there" in notes[0]


def test_words_that_a_csv_takes_for_nothing_are_kept_when_asked(polymeter):
    Path("capitals.csv").write_text("country,capital\nNA,None\n")
    Path("capitals.yaml").write_text(CAPITALS.replace("capitals.csv}", "capitals.csv}, keep_default_na: false"))
    ended = polymeter("--tasks", "capitals.yaml", model=("mock", "--model-args", "mode=gold"))
    assert ended.value("capitals", "exact_match") == 1.0
    assert not ended.results["notes"]


# A generation setting that does not exist.


def asks_for_text(**settings: Any) -> list[str]:
    """A task that generates text, with these ``generation_kwargs``; returns the words that run it."""
    Path("rows.jsonl").write_text('{"question": "a?", "answer": "mock"}\n')
    Path("text.yaml").write_text(
        "task: text\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        "doc_to_text: question\ndoc_to_target: answer\nmetric_list: [exact_match]\n"
        f"generation_kwargs: {json.dumps(settings)}\n"
    )
    return ["--tasks", "text.yaml"]


OWN_MODEL = """\
from polymeter.extend import BatchModel, ModelTraits, Response, register_model

@register_model("%s")
class Own(BatchModel):
    traits = ModelTraits(family="own", requests={"generate": True})
    identity = {"backend": "own"}
    %s
    def respond(self, requests):
        return [Response.of_text("mock") for _ in requests]
"""
NOWHERE = "base_url=http://127.0.0.1:9/v1,api_key_env=PATH"
BACKENDS = {
    "mock": ("mock",),
    "mock endpoint": ("mock", "--model-args", "is_async=true"),
    "ocr": ("ocr",),
    "openai": ("openai:gpt", "--model-args", NOWHERE),
    "anthropic": ("anthropic:claude", "--model-args", NOWHERE),
    "gemini": ("gemini:gemini-pro", "--model-args", NOWHERE),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("temprature=0", "temperature"),
        ("max_new_token=8", "max_new_tokens"),
        ("topk=4", "top_k"),
        ("temperature=0,stopp=x", "stop"),
        ("no_such_thing=1", ""),
    ],
)
def test_a_typed_setting_that_does_not_exist_is_refused(polymeter, backend, typed, nearest):
    setting = typed.rpartition(",")[2].partition("=")[0]
    ended = polymeter(*asks_for_text(), "--gen-kwargs", typed, model=BACKENDS[backend])
    refuses(
        ended, f"knows no generation setting {setting!r}", f"--gen-kwargs {setting}", f"extra.{setting}=… passes it"
    )
    assert not nearest or f"Did you mean {nearest!r}?" in ended.err


@pytest.mark.parametrize(
    ("name", "declares"), [("silent", ""), ("talks", "known_settings = lambda self: frozenset({'zeal'})")]
)
def test_a_model_of_ones_own_may_say_which_settings_it_knows(polymeter, name, declares):
    Path("own.py").write_text(OWN_MODEL % (name, declares))
    words = [*asks_for_text(), "--import", "own.py", "--gen-kwargs"]
    ended = polymeter(*words, "temprature=0", model=(name,))
    refuses(ended, f"Model {name!r} knows no generation setting 'temprature'", "Did you mean 'temperature'?")
    ended = polymeter(*words, "zeal=3", model=(name,))
    assert ended.code == 0, ended.err
    notes = [note for note in ended.results["notes"] if "'zeal'" in note]
    assert len(notes) == (0 if "zeal" in declares else 1)


@pytest.mark.parametrize("typed", ["top_k=4", "num_beams=1", "frequency_penalty=0.5", "max_gen_toks=9,until=x,n=2"])
def test_a_typed_setting_that_exists_is_taken(polymeter, typed):
    ended = polymeter(*asks_for_text(), "--gen-kwargs", typed)
    assert ended.code == 0, ended.err
    assert ended.results["notes"] == []


def test_what_a_provider_knows_beyond_is_passed_on(polymeter):
    ended = polymeter(*asks_for_text(), "--gen-kwargs", "extra.temprature=0,top_k=2")
    assert ended.code == 0, ended.err
    assert sent(ended) == {"temprature": 0, "top_k": 2}
    assert main(["resume", "run", "--quiet"]) == 0
    assert main(["score", "run", "--output", "again", "--quiet"]) == 0


def test_to_an_endpoint_it_is_passed_on_in_its_requests(polymeter, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    with OpenAIStub(lambda _: chat("mock")) as stub:
        model = ("openai:gpt", "--model-args", f"base_url={stub.base_url}")
        words = [*asks_for_text(), "--gen-kwargs", 'extra.seeds=[1],extra_body={"a":2},top_k=3']
        ended = polymeter(*words, model=model)
        body = stub.received[-1].body
    assert ended.code == 0, ended.err
    assert (body["seeds"], body["a"], body["top_k"]) == ([1], 2, 3)
    assert "extra_body" not in body
    assert sent(ended) == {"extra_body": {"a": 2, "seeds": [1]}, "top_k": 3}
    assert main(["score", "run", "--output", "again", "--quiet"]) == 0


def sent(ended: Ended) -> dict[str, Any]:
    """The further settings of the first request of a run, but for the task's own."""
    (line, *_) = (ended.run / "samples" / "text.jsonl").read_text().splitlines()
    extra = json.loads(line)["exchanges"][0]["request"]["ask"]["extra"]
    return {name: value for name, value in extra.items() if name != "do_sample"}


def test_an_unknown_setting_that_a_task_writes_is_passed_on_with_one_note(polymeter):
    ended = polymeter(*asks_for_text(zeal=0.5))
    assert ended.code == 0, ended.err
    (note,) = ended.results["notes"]
    assert note == "'mock' has no known generation setting 'zeal' (task 'text'): it is passed on."
    assert sent(ended) == {"zeal": 0.5}


def test_a_misspelt_setting_of_a_task_file_is_refused_unless_it_is_asked_for(polymeter):
    words = asks_for_text(temprature=0.5)
    refuses(polymeter(*words), "Task 'text' has the generation setting 'temprature'", "Did you mean 'temperature'?")
    ended = polymeter(*words, "--gen-kwargs", "extra.temprature=0.5")
    assert ended.code == 0, ended.err
    assert sent(ended) == {"temprature": 0.5}
    result = evaluate("mock", words[1:], passes_unknown_settings=True, output="passed")
    (note,) = result.results["notes"]
    assert note.startswith("'mock' has no known generation setting 'temprature' (task 'text'): it is passed on.")
    assert note.endswith("Did you mean 'temperature'?")


def test_a_misspelt_setting_of_a_file_of_another_tool_is_passed_on(polymeter):
    asks_for_text(temprature=0.5)
    Path("lmms_eval/tasks/text").mkdir(parents=True)
    for name in ("text.yaml", "rows.jsonl"):
        Path(name).rename(Path("lmms_eval/tasks/text", name))
    ended = polymeter("--tasks", "lmms_eval/tasks/text/text.yaml")
    assert ended.code == 0, ended.err
    assert sent(ended) == {"temprature": 0.5}


def test_python_and_the_lmms_eval_command_are_told_too(polymeter, capsys):
    words = asks_for_text()
    assert main(["lmms-eval", "--model", "mock", *words, "--gen_kwargs", "temprature=0", "--output_path", "out"]) == 2
    assert "Did you mean 'temperature'?" in capsys.readouterr().err
    with pytest.raises(PlanError, match="knows no generation setting 'temprature'"):
        evaluate("mock", ["text.yaml"], generation={"temprature": 0})


def test_a_run_goes_on_with_the_settings_that_it_began_with(polymeter):
    evaluate("mock", asks_for_text()[1:], generation={"temprature": 0}, passes_unknown_settings=True, output="run")
    assert polymeter("--tasks", "text.yaml", "--gen-kwargs", "temprature=0").code == 0


# A judge that is missing is found before the model is asked for anything.

JUDGED_CLASS = """\
from ulmeval.dataset.text_base import TextBaseDataset
from ulmeval.dataset.utils import build_judge
from ulmeval.smp import load


class ToyDataset(TextBaseDataset):
    TYPE = "T2I"
    DATASET_URL = {"Toy": ""}
    DATASET_MD5 = {}

    def build_prompt(self, line):
        return [{"type": "text", "value": str(line["prompt"])}]

"""
BY_JUDGE = {
    "name": "judge = judge_kwargs['model']",
    "taken name": "judge = judge_kwargs.pop('model')",
    "made": "judge = build_judge(**judge_kwargs)",
    "made by name": "judge = build_judge(model='gpt-4o', temperature=0)",
}
PERHAPS = {
    "default": "judge = judge_kwargs.get('model', 'exact_matching')",
    "in a branch": "if judge_kwargs.get('model'):\n            judge = build_judge(**judge_kwargs)",
    "after a way out": "if 'model' not in judge_kwargs:\n            return {'score': 0.5}\n"
    "        judge = build_judge(**judge_kwargs)",
    "if it works": "judge = build_judge(**judge_kwargs)\n        judge = judge if judge.working() else None",
    "own default": "judge_kwargs.setdefault('model', 'exact_matching')\n        judge = judge_kwargs['model']",
    "a local one": "judge = build_judge if False else 'mplug'",
}


def judged_class(code: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A dataset class whose ``evaluate`` begins with this code; returns the words that run it."""
    monkeypatch.setenv("LMUData", str(Path("tables").resolve()))
    Path("tables").mkdir()
    Path("tables/Toy.tsv").write_text("index\tprompt\n0\ta red cube\n")
    Path("lib").mkdir()
    body = f"    def evaluate(self, eval_file, **judge_kwargs):\n        {code}\n        return {{'score': 0.5}}\n"
    Path("lib/toy.py").write_text(JUDGED_CLASS + body)
    return ["--tasks", "Toy", "--include-path", "lib"]


@pytest.mark.needs_system("ulmeval")
@pytest.mark.parametrize("code", BY_JUDGE.values(), ids=BY_JUDGE)
def test_a_class_that_names_a_judge_is_refused_without_one(polymeter, monkeypatch, code):
    words = judged_class(code, monkeypatch)
    refuses(
        polymeter(*words), "Benchmark 'Toy' is scored by a judge, and the run has none", "toy.py:15", "--judge openai:"
    )
    kept = polymeter(*words, "--dialect-option", "tsv.predict_only=true")
    assert kept.code == 0, kept.err
    assert main(["score", "run", "--output", "judged", "--judge", "mock", "--quiet"]) == 0
    assert Ended(0, "", "", Path("judged")).value("Toy", "score") == 0.5


@pytest.mark.needs_system("ulmeval")
@pytest.mark.parametrize("code", PERHAPS.values(), ids=PERHAPS)
def test_a_class_that_may_do_without_a_judge_is_run(polymeter, monkeypatch, code):
    ended = polymeter(*judged_class(code, monkeypatch))
    assert ended.code == 0, ended.err
    assert ended.value("Toy", "score") == 0.5


ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType


@Benchmark.register(
    name="judged_toy", pretty_name="Toy", dataset_id="judged_toy", model_adapter=OutputType.GENERATION,
    output_types=[OutputType.GENERATION], subset_list=["default"], metric_list=["AverageAccuracy"],
    few_shot_num=0, eval_split="test",
)
class Toy(DataAdapter):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.llm_as_a_judge = True

    def load(self, *args, **kwargs):
        return {"default": {"test": [{"question": "a?", "answer": "mock"}]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["question"])

    def get_gold_answer(self, input_d):
        return input_d["answer"]

    def match(self, gold, pred):
        return float(gold == pred)
"""


@pytest.mark.needs_system("evalscope")
def test_an_adapter_that_needs_a_judge_is_refused_without_one(polymeter):
    Path("toy_adapter.py").write_text(ADAPTER)
    words = ["--tasks", "judged_toy", "--include-path", "."]
    refuses(
        polymeter(*words),
        "Task 'judged_toy' needs a model in the role 'judge', and the run has none",
        "--judge openai:",
    )
    ended = polymeter(*words, "--dialect-option", "adapter.judge_strategy=rule")
    assert ended.code == 0, ended.err


@pytest.mark.needs_system("evalscope")
def test_the_model_is_asked_nothing_where_a_judge_is_missing(polymeter, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    Path("toy_adapter.py").write_text(ADAPTER)
    with OpenAIStub(lambda _: chat("mock")) as stub:
        model = ("openai:gpt", "--model-args", f"base_url={stub.base_url}")
        refuses(polymeter("--tasks", "judged_toy", "--include-path", ".", model=model), "--judge openai:NAME")
        refuses(polymeter(*table("cubes", "index|prompt", "0|A red cube"), model=model), "--judge openai:NAME")
        assert stub.received == []


JUDGING = """\
from lmms_eval.llm_judge import ServerConfig, get_server

server = get_server(server_name="openai", config=ServerConfig(model_name="gpt-4o"))


def by_judge(doc, results):
    verdict = server.evaluate_binary(question=doc["question"], answer=doc["answer"], prediction=results[0])
    return {"acc": float(verdict["result"])}


def by_rule(doc, results):
    return {"acc": 1.0}
"""


@pytest.mark.needs_system("lmms_eval")
def test_a_task_whose_code_may_ask_a_judge_says_where(polymeter):
    words = scored_by("by_judge", "by_rule")
    Path("scoring.py").write_text(JUDGING)
    ended = polymeter(*words)
    assert ended.code == 1
    (note,) = [note for note in ended.results["notes"] if "judge" in note]
    assert note.startswith("Task 'by_judge': Its scoring may ask a judge (scoring.py:7), but the run has none: ")
    assert "--judge openai:NAME" in note
    assert "Failed: nothing is scored in by_judge." in ended.err
    judged = polymeter(*words, "--judge", "mock", "--judge-args", "answer=1", "--restart")
    assert judged.code == 0, judged.err
    assert not [note for note in judged.results["notes"] if "judge" in note]
