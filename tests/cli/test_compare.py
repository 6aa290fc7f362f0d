"""``polymeter compare`` on runs of the mock model: what it shows, refuses, tells, and how it exits."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path

import pytest

import polymeter
from tests.cli.kit import Typing

N = 120
SUMS = """\
task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{prompt}"
doc_to_target: "{{{{answer}}}}"
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
"""


def sums(rows: str = "rows.jsonl", prompt: str = "What is {{question}}?", more: str = "") -> str:
    return SUMS.format(rows=rows, prompt=prompt) + more


def rows(n: int = N, start: int = 0) -> str:
    return "".join(json.dumps({"question": f"{i} + {i}", "answer": str(2 * i)}) + "\n" for i in range(start, start + n))


def answers(share: float, seed: int) -> str:
    generator = random.Random(seed)
    return json.dumps({str(i): str(2 * i) if generator.random() < share else "no" for i in range(N)})


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write(
        {
            "rows.jsonl": rows(),
            "sums.yaml": sums(),
            "base.json": answers(0.6, 1),
            "alike.json": answers(0.6, 2),
            "good.json": answers(0.9, 3),
        }
    )
    return typing


def run(typing: Typing, name: str, more: str = "", tasks: str = "sums.yaml", answers: str = "") -> None:
    words = f"run --model mock --model-args {answers or f'answers={name}.json'} --tasks {tasks} -q -o {name} {more}"
    assert typing(words).code in (0, 1)


def test_noise_and_a_real_difference(typing: Typing) -> None:
    for name in ("base", "alike", "good"):
        run(typing, name)
    done = typing("compare base alike good")
    assert done.code == 0
    assert "sums: no difference between base and alike is shown. The true one lies between" in done.out
    assert "or more would likely have been seen." in done.out
    assert "sums: good is better, by 0." in done.out
    assert "Differences are alike and good less base" in done.out
    assert "McNemar's test, mid-p), corrected for 2 tests (Holm)" in done.out
    assert max(map(len, (line for line in done.out.splitlines() if line.startswith(" ")))) <= 100


def test_every_form(typing: Typing) -> None:
    for name in ("base", "good"):
        run(typing, name)
    document = json.loads(typing("compare base good --json").out)
    (score,) = document["others"][0]["scores"]
    assert score["verdict"] == "better"
    assert score["difference"] == pytest.approx(score["second"] - score["first"])
    assert score["interval"][0] < score["difference"] < score["interval"][1]
    assert score["wins"] + score["ties"] + score["losses"] == score["n"] == N
    assert len(score["gained"]) == score["wins"]
    (row,) = csv.DictReader(io.StringIO(typing("compare base good --format csv").out))
    assert float(row["difference"]) == score["difference"]
    assert row["verdict"] == "better"
    assert typing("compare base good --format markdown").out.startswith("| task | metric |")
    latex = typing("compare base good --format latex").out
    assert "exact\\_match & $\\uparrow$ & 120" in latex
    assert latex.startswith("\\begin{tabular}{lll")


def test_its_numbers_are_those_of_python(typing: Typing) -> None:
    for name in ("base", "good"):
        run(typing, name)
    found = polymeter.compare("base", "good")
    plain = json.loads(typing("compare base good --json").out)
    assert json.loads(json.dumps(found.document()["others"][0]["scores"])) == plain["others"][0]["scores"]
    first, second = (polymeter.open_run(name) for name in ("base", "good"))
    (line,) = found.others[0].scores
    assert (line.first, line.second) == (first.value("sums", "exact_match"), second.value("sums", "exact_match"))


def test_a_regression_exits_with_3(typing: Typing) -> None:
    for name in ("base", "alike", "good"):
        run(typing, name)
    done = typing("compare good base --max-regression 0.02")
    assert done.code == 3
    assert "REGRESSION: sums (exact_match): base is" in done.out
    assert typing("compare base good --max-regression 0.02").code == 0
    done = typing("compare base alike --max-regression 0.02")
    assert done.code == 4
    assert "UNDECIDED: sums (exact_match):" in done.out
    assert "samples would decide it." in done.out
    assert "No loss of more than 0.02 is shown." in done.out
    assert "Exit code 4: such a loss is not excluded either. --allow-undecided accepts that." in done.out
    assert typing("compare base alike --max-regression 0.02 --allow-undecided").code == 0
    document = json.loads(typing("compare good base --max-regression 0.9 --json").out)
    assert document["max_regression"]["regressions"] == []
    done = typing("compare base good --max-regression -1")
    assert (done.code, "0 or more" in done.err) == (2, True)


def test_other_samples_are_refused_and_can_be_allowed(typing: Typing) -> None:
    run(typing, "base")
    run(typing, "good", "--limit 100")
    done = typing("compare base good")
    assert done.code == 2
    assert "sums: the runs have different samples: 20 samples only in base (100, 101, 102, 103, 104 and" in done.err
    assert "add --allow samples (compare the samples that both have)" in done.err
    done = typing("compare base good --allow samples --json")
    assert json.loads(done.out)["others"][0]["scores"][0]["n"] == 100
    done = typing("compare base good --allow sample")
    assert (done.code, "samples" in done.err) == (2, True)


def test_other_prompts_are_refused_with_the_place(typing: Typing) -> None:
    run(typing, "base")
    typing.write({"other/sums.yaml": sums("../rows.jsonl", "What is {{question}}? Answer briefly.")})
    run(typing, "good", tasks="other/sums.yaml")
    done = typing("compare base good")
    assert done.code == 2
    assert "sums: 120 of 120 samples were sent different prompts, first 0:" in done.err
    assert "Answer briefly." in done.err
    assert "the task is defined differently: doc_to_text" in done.err
    assert "--allow task,prompts" in done.err
    assert typing("compare base good --allow task,prompts").code == 0


def test_other_choices_are_other_prompts(typing: Typing) -> None:
    """They may come from code, so that neither the rows nor the settings of the task show it."""
    task = (
        "task: colours\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "output_type: multiple_choice\ndoc_to_text: '{{question}}'\ndoc_to_choice: !function choices.of\n"
        "doc_to_target: 0\nmetric_list: [{metric: acc}]\n"
    )
    for name, choices in (("short", "['red', 'blue']"), ("long", "['a red one', 'a blue one']")):
        code = f"def of(doc):\n    return {choices}\n"
        typing.write({f"{name}/colours.yaml": task, f"{name}/choices.py": code, f"{name}/rows.jsonl": rows(20)})
        run(typing, f"of_{name}", tasks=f"{name}/colours.yaml", answers="mode=gold")
    done = typing("compare of_short of_long")
    assert done.code == 2
    assert "colours: 20 of 20 samples were sent different prompts, first 0:" in done.err
    assert "a red one" in done.err
    assert "--allow prompts" in done.err


def test_few_samples_promise_nothing(typing: Typing) -> None:
    typing.write({"rows.jsonl": rows(5), "some.json": json.dumps({"0": "0", "1": "2"}), "none.json": "{}"})
    run(typing, "some")
    run(typing, "none")
    done = typing("compare some none --max-regression 0.9")
    assert "no difference between some and none is shown" in done.out
    assert "would likely have been seen" not in done.out
    assert "UNDECIDED: sums (exact_match): fewer than 20 samples. About 20 samples would decide it." in done.out
    assert done.code == 4


def test_a_large_loss_on_few_samples_does_not_pass_the_gate(typing: Typing) -> None:
    right = {str(i): str(2 * i) for i in range(5)}
    typing.write({"rows.jsonl": rows(5), "all.json": json.dumps(right), "one.json": json.dumps({"0": "0"})})
    run(typing, "all")
    run(typing, "one")
    done = typing("compare all one --max-regression 0.02")
    assert done.code == 4
    assert "UNDECIDED: sums (exact_match): one is 0.8000 worse than all, but that could be noise" in done.out
    needed = re.search(r"About ([\d,]+) samples would decide it", done.out)
    assert needed is not None
    assert int(needed[1].replace(",", "")) > 1000
    assert typing("compare all one --allow-undecided").code == 2


def test_a_large_gain_on_few_samples_passes_the_gate(typing: Typing) -> None:
    typing.write({"rows.jsonl": rows(40), "none.json": "{}"})
    typing.write({"all.json": json.dumps({str(i): str(2 * i) for i in range(40)})})
    run(typing, "none")
    run(typing, "all")
    assert typing("compare none all --max-regression 0.02").code == 0


def test_the_same_rows_in_another_place_are_the_same(typing: Typing) -> None:
    run(typing, "base")
    typing.write({"other/sums.yaml": sums("moved.jsonl"), "other/moved.jsonl": rows()})
    run(typing, "good", tasks="other/sums.yaml")
    done = typing("compare base good")
    assert done.code == 0, done.err
    assert "Note" not in done.out


def test_other_rows_are_refused(typing: Typing) -> None:
    run(typing, "base")
    typing.write({"other/sums.yaml": sums("moved.jsonl"), "other/moved.jsonl": rows(N - 1) + rows(1, 999)})
    run(typing, "good", tasks="other/sums.yaml")
    done = typing("compare base good")
    assert done.code == 2
    assert "sums: 1 of 120 rows differ under the same id, first 119:" in done.err
    assert "sent different prompts, first 119: 'What is 119 + 119?' and 'What is 999 + 999?'." in done.err
    assert typing("compare base good --unpaired").code == 0


def test_other_settings_are_told(typing: Typing) -> None:
    run(typing, "base")
    run(typing, "good", "--seed 7 --gen-kwargs temperature=0.5")
    done = typing("compare base good")
    assert done.code == 0, done.err
    assert "Note: The runs have different settings: generation none and" in done.out
    assert "seed 0 and 7" in done.out


def test_unscored_samples_are_told(typing: Typing) -> None:
    run(typing, "base")
    run(typing, "good", answers="answers=good.json,failure=permanent,failure_rate=0.2")
    done = typing("compare base good")
    assert done.code == 0, done.err
    assert "no score in good only: left out of both means" in done.out


def test_a_run_that_has_not_ended_is_refused(typing: Typing) -> None:
    run(typing, "base")
    run(typing, "good")
    manifest = json.loads(Path("good/run.json").read_text())
    Path("good/run.json").write_text(json.dumps(manifest | {"status": "interrupted"}))
    done = typing("compare base good")
    assert (done.code, "good has not ended (status interrupted)" in done.err) == (2, True)
    assert typing("compare base good --allow unfinished").code == 0


def test_runs_without_journals_are_read_from_their_files(typing: Typing) -> None:
    for name in ("base", "good"):
        run(typing, name)
    before = json.loads(typing("compare base good --json").out)
    Path("good/journal.db").unlink()
    assert json.loads(typing("compare base good --json").out) == before


def test_what_is_no_mean_of_samples_is_not_compared(typing: Typing) -> None:
    more = "  - {metric: bleu, aggregation: bleu, higher_is_better: true}\n"
    typing.write({"sums.yaml": sums(more=more)})
    for name in ("base", "good"):
        run(typing, name)
    done = typing("compare base good")
    assert done.code == 0, done.err
    assert "sums (bleu) is not compared: it is computed from all answers together" in done.out


def test_mistakes(typing: Typing) -> None:
    run(typing, "base")
    run(typing, "good")
    for words, said in (
        ("compare base", "needs at least two runs"),
        ("compare base base", "named twice"),
        ("power base base", "named twice"),
        ("compare base nowhere", "no run"),
        ("compare base good --metric exact_macth", "exact_match"),
        ("compare base good --tasks sum", "sums"),
    ):
        done = typing(words)
        assert (done.code, said in done.err) == (2, True), done.err


def test_groups_log_likelihoods_and_lengths(typing: Typing) -> None:
    for mode in ("gold", "wrong"):
        typing(f"run --model mock --model-args mode={mode} --tasks demo,demo_vlm_loglikelihood -q -o {mode}")
    document = json.loads(typing("compare gold wrong --json").out)
    (other,) = document["others"]
    group = next(score for score in other["scores"] if score["kind"] == "group")
    assert (group["name"], group["n"], group["difference"], group["verdict"]) == ("demo", 96, -1.0, "worse")
    assert group["family"] == 1
    assert {score["family"] for score in other["scores"] if score["is_main"] and score["kind"] == "task"} == {4}
    choices = next(answer["choices"] for answer in other["answers"] if answer["choices"])
    assert (choices["n"], choices["n_changed"]) == (120, 120)
    assert 0.9 < choices["divergence_bits"] <= 1
    receipts = next(answer for answer in other["answers"] if answer["task"] == "demo_receipts")
    assert receipts["lengths"][0]["unit"] == "characters"
    assert receipts["lengths"][0]["second"] == 4
    cer = next(score for score in other["scores"] if score["metric"] == "cer")
    assert (cer["verdict"], cer["wins"], cer["losses"]) == ("worse", 0, 24)
    assert len(cer["lost"]) == 24
    assert "Demo (reading) (anls) is not compared: groups" in typing("compare gold wrong --unpaired").out
    done = typing("compare gold wrong --tasks demo --metric anls")
    assert "Choices by likelihood" not in done.out
    assert "Demo (reading): gold is better" in done.out


def test_repeats_and_clusters_are_those_of_the_run(typing: Typing) -> None:
    paged = "".join(
        json.dumps({**json.loads(line), "page": f"p{i // 4}"}) + "\n" for i, line in enumerate(rows().splitlines())
    )
    typing.write({"rows.jsonl": paged, "sums.yaml": sums(more="repeats: 3\ncluster_key: page\n")})
    for name in ("base", "good"):
        run(typing, name)
    (other,) = json.loads(typing("compare base good --json").out)["others"]
    (score,) = other["scores"]
    assert score["n"] == N
    assert score["p_method"] == "permutation of clusters, mid-p"
    assert score["first"] == polymeter.open_run("base").value("sums", "exact_match")
    characters = other["answers"][0]["lengths"][0]
    assert 2 <= characters["first"] <= 3  # of one answer, not of three


QUIZ = "index\tquestion\tA\tB\tanswer\tcategory\n" + "".join(
    f"{i}\tWhich is {i}?\t{i}\t{i + 1}\t{'AB'[i % 2]}\t{('sums', 'products', 'powers')[i % 3]}\n" for i in range(90)
)


def test_subsets_are_compared_when_asked(typing: Typing) -> None:
    right = {str(i): "AB"[i % 2] for i in range(90)}
    wrong = {str(i): "AB"[(i + 1) % 2] for i in range(90) if i % 3 == 0 and i < 60}
    typing.write({"quiz.tsv": QUIZ, "base.json": json.dumps(right | wrong), "good.json": json.dumps(right)})
    for name in ("base", "good"):
        run(typing, name, tasks="quiz.tsv")
    plain = json.loads(typing("compare base good --json").out)["others"][0]["scores"]
    assert {score["kind"] for score in plain} == {"task"}
    document = json.loads(typing("compare base good --subsets --json").out)
    scores = document["others"][0]["scores"]
    whole = [score for score in scores if score["kind"] == "task"]
    assert whole == plain
    found = {score["subset"][1]: score for score in scores if score["kind"] == "subset"}
    assert set(found) == {"sums", "products", "powers"}
    assert {(score["subset"][0], score["n"], score["family"]) for score in found.values()} == {("category", 30, 3)}
    assert (found["sums"]["wins"], found["sums"]["losses"], found["sums"]["verdict"]) == (20, 0, "better")
    assert found["sums"]["first"] == pytest.approx(1 / 3)
    assert (found["powers"]["verdict"], found["powers"]["false_positive_rate"]) == ("equal", 0.0)
    done = typing("compare base good --subsets")
    assert "\n   category/sums" in done.out
    assert "quiz, category/sums: good is better, by 0.667" in done.out
    assert "(McNemar's test, mid-p), corrected for 3 tests of subsets (Holm)" in done.out
    lines = csv.DictReader(io.StringIO(typing("compare base good --subsets --format csv").out))
    assert [line["subset"] for line in lines if line["is_main"] == "True"] == [
        "",
        *(f"category/{one}" for one in found),
    ]
    unpaired = json.loads(typing("compare base good --subsets --unpaired --json").out)["others"][0]["scores"]
    (sums_of,) = [score for score in unpaired if score["subset"] == ["category", "sums"]]
    assert (sums_of["difference"], sums_of["p_method"]) == (pytest.approx(2 / 3), "score test")
    assert typing("compare good base --subsets --max-regression 0.3").code == 0  # the whole lost 0.22


def test_a_page_knows_the_subsets_of_samples(typing: Typing) -> None:
    typing.write({"quiz.tsv": QUIZ})
    for name, mode in (("base", "wrong"), ("good", "gold")):
        run(typing, name, tasks="quiz.tsv", answers=f"mode={mode}")
    typing("compare base good --output page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count('"subsets":["category/sums"]') == page.count('"subsets":["category/powers"]') == 30


def test_a_page_is_written_and_needs_pairs(typing: Typing) -> None:
    for name in ("base", "good"):
        run(typing, name)
    assert typing("compare base good --output page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "good is better" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    done = typing("compare base good --unpaired --output page.html")
    assert (done.code, "side by side" in done.err) == (2, True)
