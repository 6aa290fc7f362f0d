"""Systems of outside packages, a format and a dialect of task YAML: built as wheels, installed beside Polymeter, and
used from the command line.
"""

from __future__ import annotations

import ast
import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import tokenize
import venv
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.e2e.kit import sealed, wait_for_samples
from tests.helpers.openai_stub import OpenAIStub, Received, chat

SOURCE = Path(__file__).parents[1] / "toy_system"
DIALECT = Path(__file__).parents[1] / "toy_dialect"
CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima", "Kenya": "Nairobi"}
N_LONG = 24
_NOTHING = frozenset(
    (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
)

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheels, and what the tests' own environment has."""
    folder = tmp_path_factory.mktemp("toy")
    for source in (SOURCE, DIALECT):
        shutil.copytree(source, folder / source.name)
        pip(sys.executable, "wheel", "--no-build-isolation", "--wheel-dir", str(folder), str(folder / source.name))
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    inner = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / Path(sys.executable).name
    # Packages of the tests' environment are borrowed and not installed again: nothing here may need a network.
    outer = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(Path(polymeter.__file__).parents[1])}
    asked = [str(inner), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    (site / "borrowed.pth").write_text("\n".join(sorted(outer)))
    pip(str(inner), "install", "--no-index", *map(str, folder.glob("*.whl")))
    return inner


def pip(python: str, *words: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, *words[:1], "--no-deps", *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def command(python: Path, quizzes: Path) -> Command:
    """Runs ``polymeter`` in that environment, in the folder of the quizzes."""

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), "-m", "polymeter", *words],
            cwd=quizzes,
            env=environment(quizzes),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return call


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "POLYMETER_SETTINGS")}
    nobody = str(folder / "nobody")
    return {**kept, "COLUMNS": "200", "XDG_CONFIG_HOME": nobody, "POLYMETER_CACHE_DIR": nobody, "OPENAI_API_KEY": "k"}


@pytest.fixture
def quizzes(tmp_path: Path) -> Path:
    """A folder with a quiz about capitals, a long one, and the questions of ``demo_vlm`` about images."""
    text = "\n\n".join(f"Q: What is the capital of {country}?\nA: {capital}" for country, capital in CAPITALS.items())
    (tmp_path / "capitals.quiz").write_text(text + "\n")
    long = [f"Q: What is the capital of {country} {number}?\nA: {CAPITALS[country]}" for number, country in countries()]
    (tmp_path / "long.quiz").write_text("\n\n".join(long))
    return tmp_path


def countries() -> Iterator[tuple[int, str]]:
    for number in range(N_LONG):
        yield number, list(CAPITALS)[number % len(CAPITALS)]


def image_quiz(folder: Path, n: int) -> None:
    import pyarrow.parquet as parquet

    data = Path(polymeter.__file__).parent / "library" / "demo_vlm" / "data" / "generate.parquet"
    rows = parquet.read_table(data).slice(0, n).to_pylist()
    blocks = []
    for number, row in enumerate(rows):
        (folder / f"{number}.png").write_bytes(row["image"]["bytes"])
        blocks.append(f"Image: {number}.png\nQ: {row['question']}\nA: {row['answer']}")
    (folder / "seeing.quiz").write_text("\n\n".join(blocks))


def results(folder: Path, task: str) -> dict[str, Any]:
    """The only result of a run's task."""
    (result,) = json.loads((folder / "results.json").read_text())["tasks"][task]["results"]
    return dict(result)


@pytest.mark.parametrize(("source", "most"), [(SOURCE, 80), (DIALECT, 60)])
def test_it_is_small_and_imports_the_public_api_alone(source: Path, most: int) -> None:
    lines = 0
    for file in source.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in _NOTHING]
        lines += len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)})
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert not [item.name for item in node.names if item.name.startswith("polymeter")]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polymeter"):
                names = {f"{node.module}.{item.name}" for item in node.names}
                assert all(name.startswith("polymeter.extend") for name in names), names
    assert lines <= most


@pytest.mark.slow
def test_type_checkers_see_the_types_of_the_public_api(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    options = ("--config-file=", "--strict", "--follow-imports=silent", "--ignore-missing-imports")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "--cache-dir", str(tmp_path), "-p", "quiz_system"],
        cwd=SOURCE,
        env={**os.environ, "MYPYPATH": str(Path(polymeter.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_its_benchmarks_are_listed_described_and_checked(command: Command, quizzes: Path) -> None:
    listed = command("tasks", "--include-path", ".")
    assert listed.returncode == 0, listed.stderr
    assert "capitals" in listed.stdout
    assert "long" in listed.stdout
    assert "demo_receipts" in listed.stdout
    described = command("tasks", "capitals", "--include-path", ".")
    assert "questions  4" in described.stdout
    flat = command("tasks", "capitals", "--include-path", ".", "--yaml")
    assert flat.stdout == (quizzes / "capitals.quiz").read_text()
    assert command("check", ".").returncode == 0
    (quizzes / "broken.quiz").write_text("Q: Why?\nBecause.")
    (quizzes / "blind.quiz").write_text("Image: none.png\nQ: What is this?\nA: Nothing")
    checked = command("check", ".")
    assert checked.returncode != 0
    said = checked.stdout + checked.stderr
    assert "is not a question" in said
    assert "'none.png' is missing" in said


@pytest.mark.slow
def test_it_runs_with_mock_and_shows_in_the_report(command: Command, quizzes: Path) -> None:
    answers = dict(zip("0123", ["Paris", "tokyo.", "Quito", "Nairobi is"], strict=True))
    (quizzes / "answers.json").write_text(json.dumps(answers))
    done = command(
        *("run", "--model", "mock", "--model-args", "answers=answers.json", "--tasks", "capitals"),
        *("--include-path", ".", "--output", "runs/mock"),
    )
    assert done.returncode == 0, done.stderr
    result = results(quizzes / "runs" / "mock", "capitals")
    assert (result["value"], result["n"]) == (0.5, 4)
    assert "0.5000" in done.stdout
    gold = command(
        *("run", "--model", "mock", "--model-args", "mode=gold", "--tasks", "capitals"),
        *("--include-path", ".", "--output", "runs/gold"),
    )
    assert gold.returncode == 0, gold.stderr
    assert results(quizzes / "runs" / "gold", "capitals")["value"] == 1.0
    report = (quizzes / "runs" / "mock" / "report.html").read_text(encoding="utf-8")
    assert "capitals" in report
    assert "What is the capital of Peru?" in report


@pytest.mark.slow
@pytest.mark.skipif(
    any(util.find_spec(name) is None for name in ("torch", "transformers")), reason="the extra [hf] is not installed"
)
def test_it_shows_images_to_tiny_vlm(command: Command, quizzes: Path) -> None:
    image_quiz(quizzes, 16)
    done = command(
        *("run", "--model", "tiny_vlm", "--model-args", "device=cpu", "--tasks", "seeing"),
        *("--include-path", ".", "--output", "runs/seeing"),
    )
    assert done.returncode == 0, done.stderr
    result = results(quizzes / "runs" / "seeing", "seeing")
    assert result["n"] == 16
    assert result["value"] >= 0.8, "the model has learnt these questions; with other images it guesses"
    blind = command(
        *("run", "--model", "mock", "--model-args", "answer=red", "--tasks", "seeing"),
        *("--include-path", ".", "--output", "runs/blind"),
    )
    assert blind.returncode == 0, blind.stderr
    assert results(quizzes / "runs" / "blind", "seeing")["value"] < 0.5


def capital(received: Received) -> str:
    """What the stub says: it does not know Peru."""
    question = json.dumps(received.body["messages"])
    return next((capital for name, capital in CAPITALS.items() if name in question and name != "Peru"), "No idea")


def endpoint(stub: OpenAIStub, task: str, output: str) -> list[str]:
    return [
        *("run", "--model", "openai:quizzer", "--model-args", f"base_url={stub.base_url}", "--tasks", task),
        *("--include-path", ".", "--concurrency", "1", "--output", output),
    ]


@pytest.mark.slow
def test_it_asks_an_endpoint(command: Command, quizzes: Path) -> None:
    with OpenAIStub(lambda received: chat(capital(received))) as stub:
        done = command(*endpoint(stub, "capitals", "runs/endpoint"))
    assert done.returncode == 0, done.stderr
    assert results(quizzes / "runs" / "endpoint", "capitals")["value"] == 0.75


@pytest.mark.slow
def test_a_killed_run_resumes_and_asks_nothing_completed_again(python: Path, command: Command, quizzes: Path) -> None:
    asked: list[str] = []
    is_held, is_killed = threading.Event(), threading.Event()

    def answer(received: Received) -> Any:
        question = json.dumps(received.body["messages"])
        if "capital of" in question:
            asked.append(question)
        if is_held.is_set() and len(asked) == N_LONG // 2:
            is_killed.wait(120)
        return chat(capital(received))

    with OpenAIStub(answer) as stub:
        whole = command(*endpoint(stub, "long", "runs/whole"))
        assert whole.returncode == 0, whole.stderr
        assert len(asked) == N_LONG
        asked.clear()
        is_held.set()
        words = [str(python), "-m", "polymeter", *endpoint(stub, "long", "runs/killed")]
        journal = quizzes / "runs" / "killed" / "journal.db"
        with subprocess.Popen(
            words, cwd=quizzes, env=environment(quizzes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            wait_for_samples(journal, 4, process)
            process.kill()
        is_held.clear()
        is_killed.set()
        completed = sealed(journal)
        assert 4 <= len(completed) < N_LONG // 2
        asked.clear()
        resumed = command("resume", "runs/killed")
    assert resumed.returncode == 0, resumed.stderr
    assert not [question for question in asked for number in completed if f" {number}?" in question]
    assert 0 < len(asked) <= N_LONG - len(completed)
    first, second = (quizzes / "runs" / name / "results.json" for name in ("whole", "killed"))
    assert second.read_bytes() == first.read_bytes()


CARDS = {
    "base.yaml": "rows: {data_files: capitals.jsonl}\nexpect: '{{capital}}'\n",
    "capitals.yaml": "card: capitals\nlike: base.yaml\nask: 'What is the capital of {{country}}?'\n",
    "shouted.yaml": "card: shouted\nlike: [capitals.yaml]\nmarks: [{metric: exact_match}]\n",
    "all.yaml": "box: geography\ngroup_alias: Geography\nask: '{{country}}'\n"
    "task: [capitals, {card: shouted, ask: '{{country}}!'}]\n",
}
"""``all.yaml`` says of one member what ``ask`` is; by the rule of cards that wins over the box."""


@pytest.fixture
def cards(quizzes: Path) -> Path:
    """A folder with cards about capitals, beside a task of ours and one of lm-eval's."""
    (quizzes / "cards").mkdir()
    for file, text in CARDS.items():
        (quizzes / "cards" / file).write_text(text)
    rows = "".join(json.dumps({"country": country, "capital": capital}) + "\n" for country, capital in CAPITALS.items())
    task = "task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: capitals.jsonl}}\ntest_split: train\n"
    task += "doc_to_text: '{{{{country}}}}'\ndoc_to_target: capital\n"
    (quizzes / "ours").mkdir()
    (quizzes / "ours" / "mine.yaml").write_text(task.format(name="mine"))
    (quizzes / "theirs").mkdir()
    (quizzes / "theirs" / "other.yaml").write_text(task.format(name="other") + "gen_prefix: ''\n")
    for place in ("cards", "ours", "theirs"):
        (quizzes / place / "capitals.jsonl").write_text(rows)
    return quizzes


def test_each_file_belongs_to_the_dialect_that_its_folder_shows(command: Command, cards: Path) -> None:
    done = command("tasks", "--include-path", ".", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    formats = {entry["name"]: entry["format"] for kind in ("tasks", "groups") for entry in listed[kind]}
    own = ("capitals", "shouted", "geography", "mine", "other")
    assert [formats[name] for name in own] == ["cards", "cards", "cards", "task_yaml", "lm_eval"]


def test_a_dialect_of_another_package_runs_on_the_same_engine(command: Command, cards: Path) -> None:
    words = ("--model", "mock", "--model-args", "answer=paris", "--include-path", "cards")
    done = command("run", *words, "--tasks", "geography", "--output", "out")
    assert done.returncode == 0, done.stderr
    found = {name: results(cards / "out", name)["value"] for name in ("capitals", "shouted")}
    assert found == {"capitals": 0.25, "shouted": 0.0}
    samples = {name: _prompts(cards / "out" / "samples" / f"{name}.jsonl") for name in found}
    assert samples["capitals"][0] == "France"
    assert samples["shouted"][0] == "France!"


def test_a_dialect_that_cannot_be_loaded_stops_nothing_else(python: Path, command: Command, cards: Path) -> None:
    (record,) = python.parents[1].rglob("card_system/__init__.py")
    whole = record.read_text()
    record.write_text(whole.replace("card_system.dialect:DIALECT", "card_system.gone:DIALECT"))
    try:
        listed = command("tasks", "--include-path", "ours")
        ran = command("run", "--model", "mock", "--include-path", "ours", "--tasks", "mine", "--output", "out")
    finally:
        record.write_text(whole)
    assert "Loading the task YAML dialect of Cards" in listed.stdout + listed.stderr
    assert "card_system.gone" in listed.stdout + listed.stderr
    assert ran.returncode == 0, ran.stderr


def test_a_mistake_is_reported_with_its_line_in_the_file(command: Command, cards: Path) -> None:
    (cards / "cards" / "capitals.yaml").write_text("card: capitals\nlike: base.yaml\nask: '{{land}}'\n")
    done = command("run", "--model", "mock", "--include-path", "cards", "--tasks", "capitals", "--output", "out")
    assert done.returncode == 2
    assert "'land', which the dataset does not have" in done.stderr
    assert "capitals.yaml:3" in done.stderr
    (cards / "cards" / "capitals.yaml").write_text("card: capitals\nask: '{{country}}'\nexpct: capital\n")
    checked = command("check", "cards/capitals.yaml")
    assert "There is no task field 'expct'" in checked.stdout + checked.stderr


def _prompts(file: Path) -> list[str]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [line["exchanges"][0]["request"]["messages"][-1]["parts"][0]["text"] for line in lines]
