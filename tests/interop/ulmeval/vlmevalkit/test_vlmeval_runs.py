"""Whole commands of VLMEvalKit on a dataset class that was written for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.data.formats import load
from tests.helpers.openai_stub import OpenAIStub, chat
from tests.helpers.toy_datasets import write_table

CLASS = """
from vlmeval.dataset.text_base import TextBaseDataset
from vlmeval.smp import dump, get_intermediate_file_path, load


class Letters(TextBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {'letters': '', 'MathVista_small': '', 'DocVQA_TEST': ''}
    DATASET_MD5 = {'letters': None, 'MathVista_small': None, 'DocVQA_TEST': None}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        dump({k: v for k, v in judge_kwargs.items()}, get_intermediate_file_path(eval_file, '_told', 'json'))
        return {'Overall': 100.0 * sum(map(str.__eq__, data['prediction'], data['answer'])) / len(data)}
"""
KEY = "sk-never-written-0123456789"


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    monkeypatch.setenv("PRED_FORMAT", "tsv")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "MMEVAL_ROOT"):
        monkeypatch.delenv(name, raising=False)
    columns = {"index": (0, 1), "question": ("q", "r"), "answer": ("mock", "B")}
    for name in ("letters", "MathVista_small", "DocVQA_TEST"):
        write_table(tmp_path / "data" / f"{name}.tsv", columns)
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "letters.py").write_text(CLASS)
    return ["--include-path", "bench"]


def told(dataset: str) -> dict[str, object]:
    return dict(load(Path(f"outputs/mock/mock_{dataset}_told.json")))


def status() -> dict[str, object]:
    return dict(json.loads(Path("outputs/mock/status.json").read_text())["datasets"])


def test_a_command_leaves_what_run_py_leaves(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--data", "letters", "--model", "mock", "--judge-args", json.dumps({"few": 1, "key": KEY})]
    assert main(["vlmeval", *pair, "--judge", "exact_matching", *words]) == 0
    assert '"Overall": ' in capsys.readouterr().out
    assert told("letters") == {
        "nproc": 32, "verbose": False, "retry": 6, "timeout": 600, "few": 1, "model": "exact_matching"
    }  # fmt: skip
    (entry,) = status().values()
    assert isinstance(entry, dict)
    assert (entry["status"], entry["judge_model"], entry["primary_metric"]) == ("done", "exact_matching", "Overall")
    assert entry["prediction_file"] == "mock_letters.tsv"
    assert Path("outputs/mock/mock_letters.tsv").is_symlink()
    content = [path.read_bytes() for path in Path("outputs").rglob("*") if path.is_file()]
    assert not [text for text in content if KEY.encode() in text]


def test_a_judge_is_named_as_the_command_names_it(words: list[str]) -> None:
    assert main(["vlmeval", "--data", "letters", "--model", "mock", "--judge", "mock", *words]) == 0
    assert told("letters")["model"] == "mock"


def test_a_default_judge_without_a_key_is_noted(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["vlmeval", "--data", "MathVista_small", "--model", "mock", *words]) == 0
    said = capsys.readouterr().err
    assert said.count("gpt-4o-mini, the default, needs OPENAI_API_KEY") == 1
    assert said.index("the default, needs") < said.index("2 samples")
    assert "model" not in told("MathVista_small")


def test_a_dataset_that_the_tool_does_not_score(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--data", "DocVQA_TEST", "--model", "mock"]
    assert main(["vlmeval", *pair, *words]) == 0
    assert "answered 2 of 2 samples; nothing is scored" in capsys.readouterr().out
    (entry,) = status().values()
    assert isinstance(entry, dict)
    assert entry["skip_reason"] == "mode_infer"
    assert main(["vlmeval", *pair, "--mode", "eval", *words]) == 2
    assert "'DocVQA_TEST' cannot be scored" in capsys.readouterr().err


def test_answers_then_scores_then_a_file(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--data", "letters", "--model", "mock", *words]
    assert main(["python", "-m", "vlmeval.run", *pair, "--mode", "infer"]) == 0
    assert "nothing is scored" in capsys.readouterr().out
    assert main(["vlmeval", "run", *pair, "--mode", "eval", "--judge", "exact_matching"]) == 0
    assert told("letters")["model"] == "exact_matching"
    Path("elsewhere").mkdir()
    file = Path("elsewhere/other_letters.tsv")
    file.write_bytes(Path("outputs/mock/mock_letters.tsv").read_bytes())
    for named in ([str(file)], ["letters", str(file)]):
        assert main(["vlmeval", "eval", *named, *words]) == 0
        assert '"Overall": ' in capsys.readouterr().out
    assert Path("outputs/other/status.json").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--data", "leters", "--model", "mock"], "Did you mean 'letters'"),
        (["--data", "letters", "--model", "mok"], "There is no model 'mok'"),
        (["--data", "letters", "--model", "mock", "--judge", "gpt-4o"], "needs a key or your own endpoint"),
        (["--data", "letters", "--model", "mock", "--mode", "evl"], "Did you mean 'eval'"),
        (["--data", "letters", "--model", "mock", "--mode", "eval"], "There are no answers of 'mock'"),
        (["--data", "letters", "--model", "GPT4o"], "OPENAI_API_KEY"),
        (["--data", "letters", "--model", "mock", "--api-nproc", "0"], "0 is not a positive number"),
        (["--config", "none.json"], "no configuration file"),
    ],
)
def test_mistakes_cost_nothing(
    change: list[str], message: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["vlmeval", *change, *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(Path().rglob("journal.db"))


def test_a_configuration_file(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    def run(content: dict[str, object]) -> int:
        Path("c.json").write_text(json.dumps(content))
        return main(["vlmeval", "--config", "c.json", "--judge", "exact_matching", *words])

    named = {"mine": {"class": "Letters", "dataset": "letters"}}
    assert run({"model": {"mock": {"mode": "echo"}}, "data": named}) == 0
    assert Path("outputs/mock/mock_mine.tsv").exists()
    for content, message in (
        ({"model": {"mock": {}}, "dta": named}, "no section 'dta'"),
        ({"model": {"mock": {}}, "data": {"mine": {**named["mine"], "class": "Leters"}}}, "Did you mean 'Letters'"),
        ({"model": {"m": {"class": "GPT4v", "model": "m"}}, "data": named}, "Did you mean 'GPT4V'"),
        ({"model": {"mock": {"mod": "echo"}}, "data": named}, "no argument 'mod'"),
    ):
        assert run(content) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["", "    TYPE = str('VQA')\n"])
def test_a_class_whose_type_is_not_known_gets_the_settings_of_texts(words: list[str], kind: str) -> None:
    Path("bench/letters.py").write_text(CLASS.replace("    TYPE = 'VQA'\n", kind))
    with OpenAIStub(lambda received: chat("B")) as stub:
        pair = ["--data", "letters", "--model", "m", "--judge", "exact_matching", "--base-url", stub.base_url]
        assert main(["vlmeval", *pair, *words]) == 0
    last = stub.bodies[-1]
    assert 32768 in (last.get("max_tokens"), last.get("max_completion_tokens"))


def test_a_missing_table_is_named(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("data/letters.tsv").unlink()
    assert main(["vlmeval", "--data", "letters", "--model", "mock", *words]) == 2
    assert "--local letters=FILE" in capsys.readouterr().err


def test_a_model_at_an_address_gets_the_settings_and_the_key(words: list[str]) -> None:
    with OpenAIStub(lambda received: chat("B")) as stub:
        address = ["--base-url", stub.base_url, "--key", KEY, "--top-k", "3", "--extra-body", '{"thinking": false}']
        pair = ["--data", "letters", "--model", "org/any", "--judge", "exact_matching"]
        assert main(["vlmeval", *pair, *address, "--thinker", *words]) == 0
    first = stub.bodies[-1]  # the first one is only a test of the endpoint
    assert (first["model"], first["temperature"], first["top_k"]) == ("org/any", 0.0, 3)
    assert first["thinking"] is False
    assert 65536 in (first.get("max_tokens"), first.get("max_completion_tokens"))
    assert stub.received[-1].headers["Authorization"] == f"Bearer {KEY}"
    (file,) = Path("outputs").glob("*/*_letters.tsv")
    assert load(file)["prediction"].tolist() == ["B", "B"]
    content = [path.read_bytes() for path in Path("outputs").rglob("*") if path.is_file()]
    assert not [text for text in content if KEY.encode() in text]


def test_a_judge_at_an_address_is_asked_under_its_versions_name(words: list[str]) -> None:
    judging = CLASS.replace("dump({k", "dump({'said': build_judge(**judge_kwargs).generate('good?'), **{k").replace(
        "items()},", "items()}},"
    )
    Path("bench/letters.py").write_text(f"from vlmeval.dataset.utils import build_judge\n{judging}")
    with OpenAIStub(lambda received: chat("yes")) as stub:
        judge = ["--judge", "gpt-4o", "--judge-base-url", stub.base_url, "--judge-key", KEY]
        assert main(["vlmeval", "--data", "letters", "--model", "mock", *judge, *words]) == 0
    assert {body["model"] for body in stub.bodies} == {"gpt-4o-2024-05-13"}
    assert (told("letters")["said"], told("letters")["model"]) == ("yes", "gpt-4o")
    content = [path.read_bytes() for path in Path("outputs").rglob("*") if path.is_file()]
    assert not [text for text in content if KEY.encode() in text]


def test_a_wrapper_of_a_checkout_answers(words: list[str]) -> None:
    package = Path("kit/vlmeval")
    for folder in ("smp", "vlm"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").write_text("")
    (package / "__init__.py").write_text("")
    (package / "config.py").write_text(
        "from functools import partial\nimport vlmeval.vlm as vlm\nall = {'Owl-7B': partial(vlm.Owl, says='B')}\n"
    )
    (package / "vlm" / "owl.py").write_text(
        "from .base import BaseModel\n\n\nclass Owl(BaseModel):\n"
        "    def __init__(self, says):\n        self.says = says\n\n"
        "    def generate_inner(self, message, dataset=None):\n        return self.says\n"
    )
    pair = ["--data", "letters", "--model", "Owl-7B", "--model-path", "kit", "--judge", "exact_matching"]
    assert main(["vlmeval", *pair, *words]) == 0
    assert load(Path("outputs/Owl-7B/Owl-7B_letters.tsv"))["prediction"].tolist() == ["B", "B"]


def test_the_tool_may_be_named_by_its_own_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--data", "letters", "--model", "mock", "--judge", "exact_matching", *words]
    assert main(["vlmeval", *pair, "--parity", "vlmeval"]) == 0
    assert main(["vlmeval", *pair, "--parity", "vlmevl"]) == 2
    assert "There is no system 'vlmevl'" in capsys.readouterr().err
    assert main(["import", "--from", "vlmeval", "outputs/mock", "--output", "imported"]) == 0


def test_what_to_do_without_a_judge_is_something_that_the_command_takes(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(Path("data/drawings.tsv"), {"index": (0, 1), "prompt": ("a cat", "a dog")})
    pair = ["--data", "drawings", "--model", "mock", "--judge", "exact_matching"]
    assert main(["vlmeval", *pair]) == 2
    assert "--mode infer" in " ".join(capsys.readouterr().err.split())
