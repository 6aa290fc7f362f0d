"""``polymeter leaderboard`` on runs of the mock model: ranks, what is missing, what is not comparable, every form."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError
from tests.cli.kit import Typing

N = 150
TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
doc_to_text: "{prompt} {{{{question}}}}?"
doc_to_target: answer
metric_list: [{{metric: exact_match}}]
metadata: {{version: {version}}}
"""


def task(name: str = "sums", rows: str = "rows.jsonl", prompt: str = "What is", version: str = "1.0") -> str:
    return TASK.format(name=name, rows=rows, prompt=prompt, version=version)


def rows(n: int = N, start: int = 0) -> str:
    pairs = ({"question": f"{i} + {i}", "answer": str(2 * i)} for i in range(start, start + n))
    return "".join(json.dumps(row) + "\n" for row in pairs)


def answers(share: float, seed: int) -> str:
    """What is hard for one model is hard for the others."""
    hard, luck = random.Random(0), random.Random(seed)
    return json.dumps({str(i): str(2 * i) if hard.random() + luck.gauss(0, 0.1) < share else "no" for i in range(N)})


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write(
        {
            "rows.jsonl": rows(),
            "sums.yaml": task(),
            "other.yaml": task("other", prompt="Compute"),
            "weak.json": answers(0.4, 1),
            "same.json": answers(0.4, 6),
            "good.json": answers(0.8, 3),
        }
    )
    return typing


def run(typing: Typing, name: str, tasks: str = "sums.yaml", more: str = "", folder: str = "") -> Path:
    words = f"run --model mock --model-args answers={name}.json --tasks {tasks} -q -o runs/{folder or name} {more}"
    assert typing(words).code in (0, 1)
    return typing.folder / "runs" / (folder or name)


def board(typing: Typing, words: str = "runs") -> dict:
    done = typing(f"leaderboard {words} --json")
    assert done.code == 0, done.said
    return json.loads(done.out)


def by_name(document: dict) -> dict:
    return {model["runs"][0]["name"]: model for model in document["models"]}


def test_models_that_cannot_be_told_apart_share_their_ranks(typing: Typing) -> None:
    for name in ("weak", "same", "good"):
        run(typing, name)
    document = board(typing)
    models = by_name(document)
    assert [model["cells"][0]["rank"] for model in document["models"]] == [[1, 1], [2, 3], [2, 3]]
    assert next(iter(models)) == "good"
    assert models["weak"]["cells"][0]["value"] == polymeter.open_run("runs/weak").value("sums", "exact_match")
    assert document["columns"][0]["ranks"] == "paired"
    assert document["average"] is None
    text = typing("leaderboard runs").out
    assert "mock (good)" in text
    assert "2–3" in text
    assert "comparing samples one by one" in text


def test_pairs_leave_fewer_ranks_open_than_intervals(typing: Typing) -> None:
    for seed, share in enumerate((0.5, 0.62, 0.74)):
        typing.write({f"m{seed}.json": answers(share, 10 + seed)})
        run(typing, f"m{seed}")
    paired, unpaired = board(typing), board(typing, "runs --unpaired")
    assert unpaired["columns"][0]["ranks"] == "unpaired"

    def width(document: dict) -> int:
        return sum(high - low for low, high in (model["cells"][0]["rank"] for model in document["models"]))

    assert width(paired) < width(unpaired)


def test_what_is_missing_is_missing(typing: Typing) -> None:
    run(typing, "good", "sums.yaml,other.yaml")
    run(typing, "weak")
    document = board(typing)
    assert by_name(document)["weak"]["cells"][1] is None
    assert document["average"] is None
    assert any("There is no average" in note for note in document["notes"])
    text = typing("leaderboard runs").out
    assert "missing" in text
    assert "0.000" not in text
    (empty,) = [
        row
        for row in csv.DictReader(io.StringIO(typing("leaderboard runs --format csv").out))
        if row["notes"] == "missing"
    ]
    assert (empty["name"], empty["value"], empty["rank_low"]) == ("other", "", "")


def test_the_average_is_that_of_the_tasks_that_all_have(typing: Typing) -> None:
    for name in ("good", "weak"):
        run(typing, name, "sums.yaml,other.yaml")
    document = board(typing)
    assert document["average"] == {"columns": ["sums", "other"], "ranks": "paired"}
    for model in document["models"]:
        values = [cell["value"] for cell in model["cells"]]
        assert model["average"]["value"] == pytest.approx(sum(values) / 2)
        low, high = model["average"]["interval"]
        assert low < model["average"]["value"] < high
        width = model["cells"][0]["interval"][1] - model["cells"][0]["interval"][0]
        assert high - low < width
    assert [model["average"]["rank"] for model in document["models"]] == [[1, 1], [2, 2]]
    assert any("plain mean of sums and other" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("files", "more", "words", "says"),
    [
        ({"sums.yaml": task(prompt="How much is")}, "", "task", "the task is defined differently: doc_to_text"),
        ({"sums.yaml": task(version="2.0")}, "", "task", "the task is defined differently: version 2.0 instead of 1.0"),
        ({}, "--limit 60", "samples", "60 samples instead of 150"),
        ({"rows.jsonl": rows(start=1)}, "", "data", "other rows of data"),
        ({}, "--system-prompt Think.", "prompts", "other prompts: system_prompt Think. instead of none"),
    ],
)
def test_a_run_that_is_not_comparable_says_how_and_has_no_rank(
    typing: Typing, files: dict[str, str], more: str, words: str, says: str
) -> None:
    for name in ("weak", "same"):
        run(typing, name)
    typing.write(files)
    run(typing, "good", more=more)
    document = board(typing)
    models = by_name(document)
    cell = models["good"]["cells"][0]
    assert cell["rank"] is None
    assert not cell["is_comparable"]
    (number,) = cell["footnotes"]
    assert says in document["footnotes"][number - 1]
    assert models["weak"]["cells"][0]["rank"] == [1, 2]
    text = typing("leaderboard runs").out
    assert f"[1] {document['footnotes'][0]}" in text
    allowed = by_name(board(typing, f"runs --allow {words}"))
    assert allowed["good"]["cells"][0]["rank"] is not None


def test_the_same_rows_in_another_folder_are_the_same_data(typing: Typing) -> None:
    run(typing, "weak")
    typing.write({"moved/rows.jsonl": rows(), "sums.yaml": task(rows="moved/rows.jsonl")})
    run(typing, "good")
    assert board(typing)["footnotes"] == []
    assert {model["cells"][0]["rank"][0] for model in board(typing)["models"]} == {1, 2}


def test_other_settings_are_told_and_ranked(typing: Typing) -> None:
    run(typing, "weak")
    run(typing, "same")
    run(typing, "good", more="--seed 7")
    document = board(typing)
    cell = by_name(document)["good"]["cells"][0]
    assert cell["rank"] == [1, 1]
    assert document["footnotes"] == ["asked with other settings: seed 7 instead of 0"]


def test_of_several_runs_of_a_model_the_newest_complete_one_counts(typing: Typing) -> None:
    old = run(typing, "weak", folder="old")
    new = run(typing, "weak", folder="new")
    manifest = json.loads((old / "run.json").read_text())
    (old / "run.json").write_text(json.dumps({**manifest, "ended": "2020-01-01T00:00:00+00:00"}))
    (model,) = board(typing)["models"]
    assert [own["name"] for own in model["runs"]] == ["new"]
    assert any("so old is not shown (--all shows all)" in note for note in board(typing)["notes"])
    assert len(board(typing, "runs --all")["models"]) == 2
    manifest = json.loads((new / "run.json").read_text())
    (new / "run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    (model,) = board(typing)["models"]
    assert [own["name"] for own in model["runs"]] == ["old"]
    document = board(typing, "runs --all")
    assert "not finished (status interrupted): its number may change" in document["footnotes"]


def test_runs_of_one_model_on_different_tasks_are_one_row(typing: Typing) -> None:
    run(typing, "good", folder="one")
    run(typing, "good", "other.yaml", folder="two")
    (model,) = board(typing)["models"]
    assert sorted(own["name"] for own in model["runs"]) == ["one", "two"]
    assert [cell is not None for cell in model["cells"]] == [True, True]
    assert model["expense"]["n"] == 2 * N


def test_checkpoints_of_a_tracked_training_are_found_below_the_folder_of_runs(typing: Typing) -> None:
    run(typing, "good", folder="track/out/400")
    assert [own["name"] for model in board(typing)["models"] for own in model["runs"]] == ["400"]


def test_failed_samples_are_shown(typing: Typing) -> None:
    run(typing, "good")
    results = typing.folder / "runs" / "good" / "results.json"
    document = json.loads(results.read_text())
    document["tasks"]["sums"] |= {"n_scored": N - 3, "statuses": {"ok": N - 3, "error": 3}}
    results.write_text(json.dumps(document))
    found = board(typing, "runs --unpaired")
    assert found["models"][0]["cells"][0]["n_missing"] == 3
    assert found["footnotes"] == ["3 samples without a score (3 error)"]


def test_runs_without_a_journal_are_ranked(typing: Typing) -> None:
    for name in ("weak", "good"):
        (run(typing, name) / "journal.db").unlink()
    document = board(typing)
    assert document["columns"][0]["ranks"] == "paired"
    for name in ("weak", "good"):
        shutil.rmtree(typing.folder / "runs" / name / "samples")
    assert board(typing)["columns"][0]["ranks"] == "unpaired"


def test_a_damaged_run_is_left_out_and_named(typing: Typing) -> None:
    run(typing, "good")
    typing.write({"runs/broken/run.json": "{", "runs/begun/run.json": '{"schema_version": 1, "status": "running"}'})
    document = board(typing)
    assert len(document["models"]) == 1
    told = {Path(left_out["path"]).name: left_out["why"] for left_out in document["left_out"]}
    assert "run.json is damaged" in told["broken"]
    assert "it has no results yet (status running)" in told["begun"]


def test_cost_is_made_from_tokens_and_prices(typing: Typing) -> None:
    run(typing, "good")
    document = board(typing, "runs --x cost --price mo*=2/10")
    expense = document["models"][0]["expense"]
    assert expense["cost"] == pytest.approx((2 * expense["input_tokens"] + 10 * expense["output_tokens"]) / 1e6)
    assert document["plot"]["points"][0]["x"] == pytest.approx(expense["cost"] / N)
    done = typing("leaderboard runs --x cost")
    assert done.code == 2
    assert "No run has recorded cost." in done.err
    assert "is not a price" in typing("leaderboard runs --price 3").err


def test_a_price_of_no_model_is_told(typing: Typing) -> None:
    run(typing, "weak")
    done = typing("leaderboard runs --price mock=1/2 --price mok=1/2")
    assert done.code == 0, done.err
    assert "--price mok: no run has such a model." in done.out
    assert "--price mock" not in done.out


def test_it_shows_itself_in_a_session_as_the_command_prints_it(typing: Typing) -> None:
    for name in ("weak", "good"):
        run(typing, name)
    shown = repr(polymeter.leaderboard("runs"))
    printed = typing("leaderboard runs").out
    assert [line.split() for line in shown.splitlines() if line] == [
        line.split() for line in printed.splitlines() if line.strip()
    ]


def test_wrong_words_are_told(typing: Typing) -> None:
    run(typing, "good")
    assert "The runs have no task or group 'sum'. " in typing("leaderboard runs --tasks sum").err.replace("\n", " ")
    assert "Did you mean 'exact_match'?" in typing("leaderboard runs --metric exact_mach").err
    assert "The folder nowhere does not exist" in typing("leaderboard nowhere").err
    Path("curve.csv").touch()
    assert "curve.csv is a file, not a folder" in typing("leaderboard curve.csv").err
    (typing.folder / "empty").mkdir()
    assert "contains no run" in typing("leaderboard empty").err
    assert "that can be allowed" in typing("leaderboard runs --allow anything").err
    with pytest.raises(PlanError, match="no run to rank"):
        polymeter.leaderboard()


def test_every_form(typing: Typing) -> None:
    typing.write({"=evil|<b>_.json": answers(0.5, 4)})
    for name in ("weak", "good"):
        run(typing, name)
    run(typing, "weak", more="--seed 3", folder="=evil_<b>")
    document = board(typing, "runs --all")
    assert document == json.loads(json.dumps(polymeter.leaderboard("runs", every=True).document()))
    table = [*csv.DictReader(io.StringIO(typing("leaderboard runs --all --format csv").out))]
    assert len(table) == 3
    assert [float(row["value"]) for row in table] == [model["cells"][0]["value"] for model in document["models"]]
    assert {row["run"] for row in table} == {"weak", "good", "'=evil_<b>"}
    markdown = typing("leaderboard runs --all --format markdown").out
    assert markdown.startswith("| model | sums | rank |")
    assert "=evil\\_&lt;b&gt;" in markdown
    latex = typing("leaderboard runs --all --format latex").out
    assert latex.startswith("\\begin{tabular}{lrr}")
    assert "=evil\\_$<$b>" in latex


def test_members_of_groups_are_shown_when_asked_for(typing: Typing) -> None:
    typing.write(
        {
            "both.yaml": "group: both\ntask: [sums, other]\naggregate_metric_list: "
            "[{metric: exact_match, aggregation: mean, weight_by_size: true}]\n"
        }
    )
    for name in ("weak", "good"):
        run(typing, name, "both", "--include-path .")
    assert [column["name"] for column in board(typing)["columns"]] == ["both"]
    document = board(typing, "runs --members")
    assert [column["name"] for column in document["columns"]] == ["both", "sums", "other"]
    assert [column["ranks"] for column in document["columns"]] == ["unpaired", "paired", "paired"]
    assert [column["name"] for column in board(typing, "runs --tasks s*")["columns"]] == ["sums"]


@pytest.mark.needs_system("lm_eval")
def test_an_imported_run_is_ranked_with_a_footnote(typing: Typing) -> None:
    for name in ("weak", "good"):
        run(typing, name)
    assert typing("export runs/good --to lm-eval --output log").code == 0
    assert typing("import log --output runs/imported").code == 0
    document = board(typing)
    models = by_name(document)
    assert models["imported"]["cells"][0]["value"] == models["good"]["cells"][0]["value"]
    assert models["imported"]["cells"][0]["rank"] == [1, 2]
    assert models["weak"]["cells"][0]["rank"] == [3, 3]
    (footnote,) = document["footnotes"]
    assert footnote.startswith("imported from lm-eval")
    assert models["imported"]["cells"][0]["footnotes"] == [1]
    assert models["imported"]["expense"]["input_tokens"] is None


@pytest.mark.parametrize(
    ("manifest", "tokens", "note"),
    [
        ({}, (9, 5), ""),
        (
            {"roles": {"judge": {"spec": None, "identity": {}}}},
            (None, None),
            "good kept the tokens of mock and of its judges as one sum, so its own are unknown. "
            "'polymeter score RUN' counts them apart.",
        ),
        (
            {"usage_by_role": {"model": {"mock": {"input": 8, "output": 5, "requests": 3, "unknown": {"input": 1}}}}},
            (None, None),
            "The tokens of mock are unknown: 1 answer did not report all of theirs.",
        ),
        (
            {
                "usage_by_role": {
                    "model": {"mock": {"input": 2, "cached_read": 6, "output": 5, "requests": 3}},
                    "judge": {"a": {"input": 7, "requests": 2}, "b": {"requests": 1}},
                }
            },
            (8, 5),
            "Not included in the tokens and cost of mock: judge a: 2 requests, 7 tokens in; judge b: 1 "
            "request, tokens unknown.",
        ),
    ],
    ids=["old, no judge", "old, judged", "an answer is silent", "judges"],
)
def test_tokens_and_cost_are_those_of_the_model(typing: Typing, manifest: dict, tokens: tuple, note: str) -> None:
    path = run(typing, "good") / "run.json"
    written = json.loads(path.read_text()) | {"usage": {"input_tokens": 9, "output_tokens": 5}}
    del written["usage_by_role"]
    path.write_text(json.dumps(written | manifest))
    document = board(typing, "runs --price mock=2/10")
    expense = document["models"][0]["expense"]
    assert (expense["input_tokens"], expense["output_tokens"]) == tokens
    assert expense["cost"] == (None if None in tokens else (2 * tokens[0] + 10 * tokens[1]) / 1e6)
    assert [text for text in document["notes"] if "tokens" in text] == ([note] if note else [])
