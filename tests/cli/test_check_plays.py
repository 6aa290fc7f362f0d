"""``polymeter check`` plays a few rows of each task, and says what is remarkable."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket

import pytest

from polymeter.catalog import playing
from polymeter.cli.main import main
from tests.cli.kit import CAPITALS as YAML

COUNTRIES = ["France", "Japan", "Kenya", "Peru", "Italy", "Cuba", "Chad", "Laos", "Mali", "Oman", "Iran", "Iraq"]
OWN = "process_results: !function utils.score\nmetric_list: [{metric: right, aggregation: mean}]"
UTILS = "def score(doc, results):\n    return {'right': RIGHT}\n"
EXPECTED = "played with the reference, an empty and a wrong answer: as expected."


def write(folder, *lines, name="capitals", utils=""):
    """A task with some of its lines replaced, or added."""
    text = YAML.replace("task: capitals", f"task: {name}")
    for line in lines:
        key = line.partition(":")[0]
        kept = [old for old in text.splitlines(keepends=True) if not old.startswith(f"{key}:")]
        text = "".join(kept) + line.rstrip("\n") + "\n"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(text)
    rows = [f"{country},City of {country},{'ABCD'[number % 4]}" for number, country in enumerate(COUNTRIES)]
    (folder / "capitals.csv").write_text("country,capital,letter\n" + "\n".join(rows) + "\n")
    if utils:
        (folder / "utils.py").write_text(utils)
    return folder


def check(folder, capsys, *words):
    code = main(["check", str(folder), *words])
    said = capsys.readouterr()
    return code, said.out, said.err


LETTERS = (
    "filter_list: [{name: letter, filter: [{function: regex, regex_pattern: '^([A-D])$'}, {function: take_first}]}]"
)
PASSES = {
    "text": [],
    "another number of rows": [],
    "a filter that reads references": ["doc_to_target: letter", LETTERS],
    "choices": ["output_type: multiple_choice", "doc_to_choice: [A, B, C, D]", "doc_to_target: letter"],
    "its own score": ["process_results: !function utils.score", "metric_list: [{metric: right, aggregation: mean}]"],
}


@pytest.mark.parametrize("case", PASSES)
def test_a_sound_task_costs_one_line(tmp_path, capsys, case):
    write(tmp_path, *PASSES[case], utils=UTILS.replace("RIGHT", "float(results[0] == doc['capital'])"))
    n = 5 if case == "another number of rows" else 3
    code, said, _ = check(tmp_path / "capitals.yaml", capsys, *(["--rows", "5"] if n == 5 else []))
    assert code == 0
    assert said.splitlines()[0] == f"capitals: {n} rows {EXPECTED} It has 12 rows."
    assert said.splitlines()[1].endswith("no problems found.")


REMARKABLE = {
    "a filter that removes the reference": (
        [LETTERS],
        "",
        "the reference, an empty answer and a wrong answer all score the same "
        "(exact_match 0.0000; expected 'City of France', scored '[invalid]')",
    ),
    "a score that ignores the answer": ([OWN], UTILS.replace("RIGHT", "1.0"), "all score the same (right 1"),
    "a reference that is nearly right": (
        [OWN],
        UTILS.replace("RIGHT", "float(results[0] == doc['capital'] and 'J' in doc['country'])"),
        "the reference does not get full marks: right 0.3333 (sample 0; expected 'City of France'",
    ),
    "a reference that cannot be scored": (
        [OWN],
        UTILS.replace("RIGHT", "doc['nothing']"),
        "sample 0 cannot be scored: ",
    ),
    "one prompt": (
        ["doc_to_text: Name a capital."],
        "",
        "The prompt is the same in all 12 samples looked at: 'Name a capital.'",
    ),
    "one target": (["doc_to_target: something"], "", "The target is 'something' in every sample: "),
    "one target that its own score does not read": (
        ["doc_to_target: something", OWN],
        UTILS.replace("RIGHT", "float(results[0] == 'something') / 2"),
        "the reference is 'something' in all 12 rows looked at, and does not get full marks.",
    ),
    "a template that code returns": (
        ["doc_to_text: !function utils.prompt"],
        "def prompt(doc):\n    return 'Capital of {{ country }}, ' + doc['country']\n",
        "the prompt of sample 0 holds '{{ country }}', which is not rendered.",
    ),
    "a statement that code returns": (
        ["doc_to_text: !function utils.prompt"],
        "def prompt(doc):\n    return doc['country'] + '{% if x %}'\n",
        "the prompt of sample 0 holds '{% if x %}', which is not rendered.",
    ),
}


@pytest.mark.parametrize("case", REMARKABLE)
def test_what_is_remarkable_is_said_and_is_no_problem(tmp_path, capsys, case):
    lines, utils, words = REMARKABLE[case]
    write(tmp_path, *lines, utils=utils)
    code, said, err = check(tmp_path, capsys)
    assert code == 0, err
    assert "capitals: 3 of its 12 rows played:" in said
    assert words in said
    last = said.splitlines()[-1]
    assert "no problems found, but look at " in last
    shown = words.partition(" (")[0].rstrip(".").replace("The ", "the ")
    assert last.endswith("above about capitals.") or shown in last or "sample 0" in last
    assert EXPECTED not in said


def test_the_last_line_names_the_tasks_to_look_at(tmp_path, capsys):
    for name in ("one", "two"):
        write(tmp_path, "doc_to_target: something", name=name)
    write(tmp_path, name="sound")
    _, said, _ = check(tmp_path, capsys)
    assert said.endswith("no problems found, but look at the warnings above about one, two.\n")


def photos(folder, **files):
    """A task over a table whose column names images, in which some rows have other files."""
    from PIL import Image

    write(folder, "doc_to_visual: file", "doc_to_text: Read the sign.")
    (folder / "photos").mkdir()
    names = {f"row{number}": f"photos/{number}.png" for number in range(1, 9)}
    for name in names.values():
        Image.new("RGB", (8, 8), (len(name), 0, 0)).save(folder / name)
    rows = [f"{files.get(row, name)},City of {row}" for row, name in names.items()]
    (folder / "capitals.csv").write_text("file,capital\n" + "\n".join(rows) + "\n")
    return folder


def test_all_rows_are_asked_for_their_files(tmp_path, capsys):
    assert check(photos(tmp_path / "sound"), capsys)[0] == 0
    missing = photos(tmp_path / "missing", row7="photos/77.png", row5="photos/55.png")
    code, said, _ = check(missing, capsys)
    assert code == 2
    assert "2 rows of 8 cannot be asked. The first is sample 4: " in said
    assert "photos/55.png" in said
    text = photos(tmp_path / "text")
    (text / "photos/7.png").write_text("no image")
    code, said, _ = check(text, capsys)
    assert code == 2
    assert "1 row of 8 cannot be asked. The first is sample 6: " in said
    assert "photos/7.png" in said


BROKEN = {
    "a row with too many cells": "country,capital\nFrance,Paris\nJapan,Tokyo,x\n",
    "another encoding": "country,capitál\nFrance,Paris\n".encode("cp1250"),
    "no rows": "country,capital\n",
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("is_given", [False, True], ids=["in the YAML", "given"])
def test_broken_data_is_a_problem(tmp_path, capsys, case, is_given):
    write(tmp_path, *(["dataset_path: example/far", "dataset_kwargs: {}"] if is_given else []))
    content = BROKEN[case]
    (tmp_path / "capitals.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ["--data", f"example/far={tmp_path / 'capitals.csv'}"] if is_given else []
    code, said, err = check(tmp_path / "capitals.yaml", capsys, *words)
    assert code == 2, said
    assert "capitals.csv" in said
    assert "1 problem found." in err


def mcq(folder, answers):
    """A table of multiple choice; its indices are no positions."""
    photos(folder)
    image = base64.b64encode((folder / "photos/1.png").read_bytes()).decode()
    rows = [f"{n + 10}\t{image}\tWhich?\tred\tblue\t{answer}\n" for n, answer in enumerate(answers)]
    (folder / "colours.tsv").write_text("index\timage\tquestion\tA\tB\tanswer\n" + "".join(rows))
    return folder / "colours.tsv"


@pytest.mark.parametrize(
    ("words", "said_first"),
    [
        ([], "1 of 3 rows played cannot be scored, whatever the answer. The first is sample 11: The answer 'X'"),
        (["--rows", "6"], "2 of 6 rows played cannot be scored, whatever the answer. The first is sample 11: "),
    ],
)
def test_a_row_that_nothing_can_score_is_a_problem(tmp_path, capsys, words, said_first):
    code, said, err = check(mcq(tmp_path, "AXBABQ"), capsys, *words)
    assert code == 2, said
    assert said_first in said
    assert "1 problem found." in err
    assert "no problems" not in said


def test_rows_that_can_be_scored_are_no_problem(tmp_path, capsys):
    code, said, _ = check(mcq(tmp_path, "ABBA"), capsys)
    assert code == 0
    assert said.splitlines()[0] == f"colours: 3 rows {EXPECTED} It has 4 rows."


def test_a_row_without_a_target_that_is_played_is_a_problem(tmp_path, capsys):
    write(tmp_path)
    (tmp_path / "capitals.csv").write_text("country,capital\na,7\nb,\nc,9.50\n")
    code, said, _ = check(tmp_path / "capitals.yaml", capsys)
    assert code == 2
    assert "1 of 3 rows played cannot be scored, whatever the answer. The first is sample 1: " in said


def test_rows_without_a_target_are_counted(tmp_path, capsys):
    write(tmp_path)
    (tmp_path / "capitals.csv").write_text("country,capital\na,7\nb,8\nc,9.50\nd,\ne,NA\nf,\n")
    code, said, _ = check(tmp_path / "capitals.yaml", capsys)
    assert code == 0
    assert "2 of 6 samples have no target: column 'capital' is empty in samples 3, 5. They are not sent" in said
    assert "but look at capitals: 2 of 6 samples" in said


def test_a_metric_of_its_own_is_known(tmp_path, capsys):
    write(tmp_path, "metric_list: [starts_alike]")
    (tmp_path / "metrics.py").write_text(
        "from polymeter import register_metric\n\n\n"
        '@register_metric("starts_alike", aggregation="mean", higher_is_better=True)\n'
        "def starts_alike(references, predictions):\n    return float(predictions[0] in references)\n"
    )
    code, said, _ = check(tmp_path, capsys)
    assert (code, EXPECTED in said) == (0, True), said


def test_braces_of_the_data_are_no_template(tmp_path, capsys):
    write(tmp_path)
    rows = [f'"\\frac{{{{{number}}}}}{{2}}",City {number},A' for number in range(5)]
    (tmp_path / "capitals.csv").write_text("country,capital,letter\n" + "\n".join(rows) + "\n")
    code, said, _ = check(tmp_path, capsys)
    assert (code, EXPECTED in said) == (0, True), said


@pytest.mark.parametrize("lines", [["doc_to_visual: image"], []], ids=["shown", "not shown"])
def test_images_that_no_prompt_shows_are_told(tmp_path, capsys, lines):
    from PIL import Image

    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(3):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(folder / f"{number}.png")
    names = [f"{number}.png,word {number}" for number in range(3)]
    (folder / "metadata.csv").write_text("file_name,word\n" + "\n".join(names) + "\n")
    source = ["dataset_path: imagefolder", "dataset_kwargs: {data_dir: images}", "test_split: train"]
    write(tmp_path, *source, "doc_to_target: word", "doc_to_text: Read the sign.", *lines)
    code, said, _ = check(tmp_path / "capitals.yaml", capsys)
    assert code == 0
    assert ("The rows have images (column 'image'), but no prompt shows any." in said) == (not lines)
    assert ("The prompt is the same in all 3 samples" in said) == (not lines)


PROBLEMS = {
    "a misspelt target": (["doc_to_target: captial"], "Did you mean 'capital'?", "doc_to_target"),
    "a misspelt prompt": (["doc_to_text: contry"], "Did you mean 'country'?", "doc_to_text"),
    "a misspelt template": (['doc_to_text: "{{ contry }}"'], "Did you mean 'country'?", "doc_to_text"),
    "a misspelt image": (["doc_to_visual: contry"], "Did you mean 'country'?", "doc_to_visual"),
    "a split that is not there": (["test_split: tset"], "Did you mean 'test'? It has: test.", "test_split"),
}


def test_a_folder_of_images_says_which_split_it_has(tmp_path, capsys):
    from PIL import Image

    folder = tmp_path / "images"
    folder.mkdir()
    Image.new("RGB", (8, 8)).save(folder / "0.png")
    (folder / "metadata.csv").write_text("file_name,word\n0.png,a\n")
    source = ["dataset_path: imagefolder", "dataset_kwargs: {data_dir: images}", "test_split: test"]
    write(tmp_path, *source, "doc_to_target: word", "doc_to_text: Read the sign.", "doc_to_visual: image")
    code, said, _ = check(tmp_path / "capitals.yaml", capsys)
    assert code == 2
    assert "Dataset imagefolder has no split 'test'. It has: train." in said
    assert "cannot be read" not in said


def numbered(folder, choices, targets):
    """A multiple-choice task whose targets are numbers."""
    lines = [
        "output_type: multiple_choice",
        f"doc_to_choice: {choices}",
        "doc_to_target: number",
        "metric_list: [{metric: acc}]",
    ]
    write(folder, *lines)
    rows = [f"{country},{number}" for country, number in zip(COUNTRIES * 2, targets, strict=False)]
    (folder / "capitals.csv").write_text("country,number\n" + "\n".join(rows) + "\n")


AMBIGUOUS = {
    "the text of another choice": (
        "['1', '2', '3']",
        [1, 2] * 6,
        "another choice has the number as its text: the first expects '2'",
    ),
    "counted from 1": ("[a, b, c, d]", [1, 2, 3] * 8, "none of the 24 rows looked at has index 0"),
    "": ("[a, b, c]", [0, 1, 2] * 8, ""),
    "numbers in order": ("['0', '1', '2']", [1, 2] * 6, ""),
    "few rows": ("[a, b, c]", [1, 2] * 3, ""),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_numbers_that_may_mean_another_choice_are_told(tmp_path, capsys, case):
    choices, targets, words = AMBIGUOUS[case]
    numbered(tmp_path, choices, targets)
    code, said, _ = check(tmp_path / "capitals.yaml", capsys)
    assert code == 0
    assert ("doc_to_target gives numbers, which are indices from 0" in said) == bool(words)
    assert words in said


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_only_rows_show_is_a_problem_with_its_line(tmp_path, capsys, case):
    lines, words, field = PROBLEMS[case]
    write(tmp_path, *lines)
    write(tmp_path, name="sound")
    code, said, err = check(tmp_path, capsys)
    written = (tmp_path / "capitals.yaml").read_text().splitlines()
    number = next(n for n, line in enumerate(written, 1) if line.startswith(field))
    assert code == 2
    assert f"{tmp_path / 'capitals.yaml'}:{number}: " in said
    assert words in said
    assert f"sound: 3 rows {EXPECTED}" in said, "the others are played"
    assert "1 problem found." in err
    assert main(["check", str(tmp_path), "--rows", "0"]) == 0, "it shows by its rows alone"


def test_a_file_with_a_problem_leaves_the_others_to_be_played(tmp_path, capsys):
    write(tmp_path, "doc_to_txt: country")
    write(tmp_path, name="sound")
    code, said, _ = check(tmp_path, capsys)
    assert code == 2
    assert said.count("capitals.yaml:") == 1
    assert f"sound: 3 rows {EXPECTED}" in said


JUDGE = """\
from polymeter.judge import LLMJudge

judge = LLMJudge()


def score(doc, results):
    return {"right": judge.get_score(judge(judge.build_prompt(pred=results[0], gold="x", question="?")))}
"""
SKIPPED = {
    "a judge": ([OWN], JUDGE, "a judge scores the answers"),
    "data of the hub": (["dataset_path: example/far", "dataset_kwargs: {}"], "", "the data is not on this machine"),
    "data of the hub without an owner": (["dataset_path: farquiz", "dataset_kwargs: {}"], "", "not on this machine"),
    "missing files": (["dataset_kwargs: {data_files: {test: no.csv}}"], "", "no.csv"),
    "a package": ([OWN], "import no_such_package\n" + UTILS.replace("RIGHT", "1.0"), "no_such_package"),
    "the network": (
        ["doc_to_text: !function utils.prompt"],
        "import urllib.request\n\n\ndef prompt(doc):\n    return urllib.request.urlopen('http://example.com').read()\n",
        "without the network",
    ),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_a_task_that_cannot_be_played_here_is_named_with_the_reason(tmp_path, capsys, case):
    lines, utils, words = SKIPPED[case]
    write(tmp_path / "a", *lines, utils=utils)
    write(tmp_path / "b", name="sound")
    before = main(["check", str(tmp_path), "--rows", "0"])
    capsys.readouterr()
    code, said, _ = check(tmp_path, capsys)
    assert code == before
    if before == 0:
        assert any(line.startswith("not played: capitals: ") and words in line for line in said.splitlines()), said
    assert f"sound: 3 rows {EXPECTED}" in said


def test_data_given_for_an_id_is_played(tmp_path, capsys):
    write(tmp_path, "dataset_path: example/far", "dataset_kwargs: {}")
    code, said, _ = check(tmp_path / "capitals.yaml", capsys, "--data", f"example/far={tmp_path / 'capitals.csv'}")
    assert (code, f"capitals: 3 rows {EXPECTED}" in said) == (0, True), said


def test_a_mirror_in_the_cache_is_played(tmp_path, capsys, monkeypatch):
    cache, commit = tmp_path / "hub", "0" * 40
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
    lines = ["dataset_path: example/far", "dataset_kwargs: {}", "protocol: {name: official, mirrors: [there/near]}"]
    write(tmp_path, *lines)
    file = tmp_path / "capitals.yaml"
    assert "the data is not on this machine" in check(file, capsys)[1]
    rows = cache / "datasets--there--near/snapshots" / commit / "test.csv"
    rows.parent.mkdir(parents=True)
    rows.write_text((tmp_path / "capitals.csv").read_text())
    (refs := cache / "datasets--there--near/refs").mkdir()
    (refs / "main").write_text(commit)
    code, said, _ = check(file, capsys)
    assert (code, f"capitals@official: 3 rows {EXPECTED}" in said) == (0, True), said
    assert main(["tasks", "--include-path", str(file), "capitals", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["task"]["is_cached"] is True
    shutil.rmtree(cache)
    code, said, _ = check(file, capsys, "--data", f"there/near={tmp_path / 'capitals.csv'}")
    assert (code, f"capitals@official: 3 rows {EXPECTED}" in said) == (0, True), said


CANARY = "import os\nos.environ['POLYMETER_CANARY'] = 'sang'\n\n\ndef prompt(doc):\n    return doc['country']\n"


@pytest.mark.parametrize("lines", [[], ["dataset_path: example/far", "dataset_kwargs: {}"]], ids=["none", "elsewhere"])
def test_no_code_runs_with_no_rows_or_without_the_data(tmp_path, capsys, monkeypatch, lines):
    monkeypatch.delenv("POLYMETER_CANARY", raising=False)
    write(tmp_path, "doc_to_text: !function utils.prompt", *lines, utils=CANARY)
    code, _, err = check(tmp_path, capsys, *([] if lines else ["--rows", "0"]))
    assert (code, err) == (0, "")
    assert "POLYMETER_CANARY" not in os.environ


def test_code_that_runs_is_named_before_it_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("POLYMETER_CANARY", raising=False)
    write(tmp_path, "doc_to_text: !function utils.prompt", utils=CANARY)
    code, said, err = check(tmp_path, capsys)
    assert os.environ.pop("POLYMETER_CANARY") == "sang"
    assert (code, f"capitals: 3 rows {EXPECTED}" in said) == (0, True)
    assert err == f"Playing rows runs {tmp_path / 'utils.py'}; --rows 0 runs no code.\n"
    assert check(write(tmp_path / "plain"), capsys)[2] == ""


def test_sockets_work_again_afterwards(tmp_path, capsys):
    check(write(tmp_path), capsys)
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_a_large_folder_is_played_in_part_unless_asked(tmp_path, capsys, monkeypatch):
    assert playing.MOST_TASKS == 20
    monkeypatch.setattr(playing, "MOST_TASKS", 6)  # 20 take a minute
    for number in range(8):
        write(tmp_path, name=f"task_{number:02}")
    code, said, _ = check(tmp_path, capsys)
    assert code == 0
    assert "task_00, task_01, task_02, task_03, task_04 and 1 more: 3 rows played" in said
    assert "not played: task_06, task_07: name a file, or play all tasks with --rows 3" in said
    code, said, _ = check(tmp_path, capsys, "--rows", "1")
    assert "task_04 and 3 more: 1 row played" in said


def test_older_flags_go_on_working(tmp_path, capsys):
    write(tmp_path)
    code, said, _ = check(tmp_path, capsys, "--prompts", "1", "--run-gold", "--limit", "2")
    assert code == 0
    assert "What is the capital of France?" in said
    assert "capitals: references of 2 samples, 2 scored\n  exact_match = 1.0000: full marks" in said


RAISES = "def target(doc):\n    return doc['nothing' if doc['country'] == 'Japan' else 'capital']\n\n\n"
EXPECTED_LINES = {
    "text": ([], "expected: City of France"),
    "an index": (
        ["output_type: multiple_choice", "doc_to_choice: [' Lima', ' Paris']", "doc_to_target: '1'"],
        "expected: B ' Paris'",
    ),
    "a letter": (
        ["output_type: multiple_choice", "doc_to_choice: [Lima, Paris, Rome, Oslo]", "doc_to_target: letter"],
        "expected: A 'Lima'",
    ),
    "several": (["doc_to_target: '{{ [capital, letter] }}'"], "expected: ['City of France', 'A']"),
    "code that raises": (
        ["doc_to_target: !function utils.target", OWN],
        "expected: unusable: doc_to_target of task 'capitals' raised KeyError: 'nothing'",
    ),
}


@pytest.mark.parametrize("case", EXPECTED_LINES)
def test_prompts_show_what_is_expected(tmp_path, capsys, case):
    lines, told = EXPECTED_LINES[case]
    write(tmp_path, *lines, utils=RAISES + UTILS.replace("RIGHT", "1.0"))
    n = "2" if case == "code that raises" else "1"
    code, said, err = check(tmp_path / "capitals.yaml", capsys, "--rows", "0", "--prompts", n)
    assert code == 0, err
    assert told in said.splitlines()[-1]


def test_prompts_show_leading_zeros(tmp_path, capsys):
    write(tmp_path)
    (tmp_path / "capitals.csv").write_text("country,capital\na,007\nb,012\n")
    _, said, _ = check(tmp_path / "capitals.yaml", capsys, "--rows", "0", "--prompts", "1")
    assert said.splitlines()[-1] == "expected: 007"


def test_prompts_name_the_files_of_images(tmp_path, capsys):
    photos(tmp_path)
    _, said, _ = check(tmp_path / "capitals.yaml", capsys, "--rows", "0", "--prompts", "2")
    assert "<image: 1.png>" in said
    assert "<image: 2.png>" in said
    _, said, _ = check(mcq(tmp_path / "table", "AB"), capsys, "--rows", "0", "--prompts", "1")
    assert "<image: 10.png>" in said
    assert said.splitlines()[-1] == "expected: A 'red'"


def test_prompts_name_the_images_of_a_folder(tmp_path, capsys):
    from PIL import Image

    (tmp_path / "signs").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "signs/stop.png")
    (tmp_path / "signs/metadata.csv").write_text("file_name,word\nstop.png,STOP\n")
    write(
        tmp_path,
        "dataset_path: imagefolder",
        "dataset_kwargs: {data_dir: signs}",
        "test_split: train",
        "doc_to_visual: image",
        "doc_to_text: Read the sign.",
        "doc_to_target: word",
    )
    _, said, _ = check(tmp_path / "capitals.yaml", capsys, "--rows", "0", "--prompts", "1")
    assert "<image: stop.png>" in said
    assert said.splitlines()[-1] == "expected: STOP"
