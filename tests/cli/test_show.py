"""A run that had failures ends with their kinds and counts, and ``polymeter show`` looks into it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.kit import Typing

YAML = """\
task: {task}
dataset_path: imagefolder
dataset_kwargs: {{data_dir: photos}}
test_split: train
doc_to_visual: image
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
{more}metric_list: [{{metric: exact_match}}]
"""
CODE = """\
def score(doc, results):
    if doc["question"].endswith(("1?", "2?")):
        return {"exact_match": 1 / 0}
    return {"exact_match": 1.0}
"""


def photo(number: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 40), (number * 20, 9, 9)).save(buffer, "PNG")
    data = buffer.getvalue()
    return data[:60] if number in (3, 5, 7) else b"no image" if number == 8 else data


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    rows = "".join(f"{number}.png,what \x1b[31mis {number}?,x\n" for number in range(10))
    typing.write(
        {
            **{f"mine/photos/{number}.png": photo(number) for number in range(10)},
            "mine/photos/metadata.csv": f"file_name,question,answer\n{rows}",
            "mine/photos.yaml": YAML.format(task="photos", more="process_results: !function utils.score\n"),
            "mine/plain.yaml": YAML.format(task="plain", more=""),
            "mine/utils.py": CODE,
        }
    )
    return typing


@pytest.fixture
def run(typing: Typing) -> Typing:
    assert typing("run --model mock --tasks photos --include-path mine -q -o run").code == 1
    return typing


def test_a_run_ends_with_the_kinds_of_failure_and_how_to_see_one(typing: Typing) -> None:
    done = typing("run --model mock --tasks photos --include-path mine -q -o run")
    lines = done.out.splitlines()
    end = lines[lines.index(next(line for line in lines if line.startswith("failed"))) :]
    assert end == [
        "failed   3 × Cannot read the image photos/3.png: image file is truncated.",
        "         2 × process_results of task 'photos' raised ZeroDivisionError: division by zero [mine/utils.py:3]",
        "         1 × Cannot read the image photos/8.png: it is of a format that Pillow does not support. "
        "Save it as PNG or JPEG.",
        "see one  polymeter show run --sample 3",
    ]


def test_several_tasks_are_named_and_so_is_the_one_to_see(typing: Typing) -> None:
    done = typing("run --model mock --tasks photos,plain --include-path mine -q -o run")
    assert "photos: 3 × Cannot read the image photos/3.png" in done.out
    assert "plain: 3 × Cannot read the image photos/3.png" in done.out
    assert done.out.rstrip().endswith("polymeter show run --task photos --sample 3")


def test_at_most_five_kinds_are_shown(typing: Typing) -> None:
    typing.write(
        {"mine/utils.py": "def score(doc, results):\n    raise KeyError('abcdefghij'[int(doc['question'][-2])])\n"}
    )
    done = typing("run --model mock --tasks photos --include-path mine -q -o run")
    assert done.out.count(" × ") == 5
    assert "and 3 more kinds" in done.out
    task = json.loads((typing.folder / "run/results.json").read_text())["tasks"]["photos"]
    assert (len(task["failures"]), task["n_failure_kinds"]) == (5, 8)
    assert "and 3 more kinds" in (typing.folder / "run/report.html").read_text()


def test_results_and_report_hold_the_same_and_no_path_of_this_machine(run: Typing) -> None:
    text = (run.folder / "run/results.json").read_text()
    assert str(run.folder) not in text
    failures = json.loads(text)["tasks"]["photos"]["failures"]
    assert [(kind["n"], kind["sample"]) for kind in failures] == [(3, "3"), (2, "1"), (1, "8")]
    assert "3 × Cannot read the image photos/3.png" in (run.folder / "run/report.html").read_text()


def test_a_run_without_failures_says_nothing_of_them(typing: Typing) -> None:
    done = typing("run --model mock --tasks demo_receipts --limit 2 -q -o run")
    assert done.code == 0
    assert "failed" not in done.out
    assert "failures" not in (typing.folder / "run/results.json").read_text()


def test_a_run_that_was_stopped_says_what_failed_until_then(typing: Typing) -> None:
    done = typing("run --model mock --tasks photos --include-path mine -q -o run --max-errors 1 --window 1")
    assert done.code == 1
    assert "division by zero" in done.err
    assert "polymeter show run --sample 1" in done.err
    shown = typing("show run")
    assert "stopped" in shown.out
    assert "division by zero" in shown.out


def test_show_gives_the_numbers_of_a_run(run: Typing) -> None:
    done = run("show run")
    assert done.code == 0
    for fragment in ("mock", "complete", "exact_match", "4 of 10", "3 × Cannot read the image", "--sample 3"):
        assert fragment in done.out
    assert json.loads(run("show run --json").out)["tasks"]["photos"]["n_scored"] == 4


def test_show_gives_a_sample_whole(run: Typing) -> None:
    done = run("show run --sample 0")
    assert done.code == 0
    (medium,) = [line for line in done.out.splitlines() if line.startswith("<image: ")]
    assert medium.endswith(", 40×40, from 0.png>")
    assert Path(medium.removeprefix("<image: ").partition(",")[0]).is_file()
    for fragment in ("task     photos", "status   ok", "is 0?", "exact_match = 1.0000", "target: x", '"question"'):
        assert fragment in done.out
    assert "\x1b" not in done.out, "what a row holds controls no terminal"
    assert json.loads(run("show run --sample 0 --json").out)["sample"]["scores"][0]["value"] == 1.0


def test_an_empty_answer_is_said_to_be_empty(typing: Typing) -> None:
    typing("run --model mock --model-args mode=empty --tasks demo_receipts --limit 1 -q -o run")
    shown = typing("show run --sample 0").out
    assert shown.count("(empty)") == 2, shown
    assert "answer: (empty)" in shown


def test_an_image_is_named_as_its_row_names_it(typing: Typing) -> None:
    typing.write({"mine/rows.csv": "file,answer\n0.png,x\n"})
    (typing.folder / "mine/0.png").write_bytes(photo(0))
    text = "task: named\ndataset_path: csv\ndataset_kwargs: {data_files: {test: rows.csv}}\ntest_split: test\n"
    typing.write({"mine/named.yaml": text + "doc_to_text: Read.\ndoc_to_visual: file\ndoc_to_target: answer\n"})
    typing("run --model mock --tasks named --include-path mine -q -o named")
    assert ", from 0.png>" in typing("show named --sample 0").out
    assert '"name":"0.png"' in (typing.folder / "named/samples/named.jsonl").read_text()
    assert "0.png" in (typing.folder / "named/report.html").read_text()


def test_show_gives_an_error_whole(run: Typing) -> None:
    done = run("show run --sample 1")
    assert f"{run.folder}/mine/utils.py:3" in done.out
    assert "status   error" in done.out


def test_show_lists_what_failed(run: Typing) -> None:
    done = run("show run --failed")
    assert [line.split()[1] for line in done.out.splitlines()] == ["1", "2", "3", "5", "7", "8"]
    assert len(json.loads(run("show run --failed --json").out)) == 6


def test_a_beginning_names_a_task_or_sample_if_it_is_the_only_one(typing: Typing) -> None:
    typing("run --model mock --tasks photos,plain --include-path mine -q -o run")
    assert "task     photos" in typing("show run --task ph --sample 4").out
    several = typing("show run --task p --sample 4")
    assert (several.code, "2 tasks begin with 'p'" in several.err) == (2, True)
    both = typing("show run --sample 4")
    assert (both.code, "Name one with --task" in both.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("show run --sample zz", ["No sample 'zz'", "Its samples are: 0, 1, 2, 3, 4, …"]),
        ("show run --task photso --sample 1", ["no task 'photso'", "Did you mean 'photos'?"]),
        ("show nowhere", ["no run folder", "nowhere"]),
    ],
)
def test_what_is_not_there_is_an_error_that_says_what_is(run: Typing, words: str, said: list[str]) -> None:
    done = run(words)
    assert done.code == 2
    assert all(fragment in done.err for fragment in said), done.err
