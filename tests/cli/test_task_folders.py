"""Files and folders in place of names of tasks, for every command that takes names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.kit import CAPITALS, Typing
from tests.tasks.guessed.kit import draw, write_table

CSV = "country,capital\nFrance,Paris\nJapan,Tokyo\n"
RUN = "run --model mock --model-args mode=gold -o run --restart --tasks"
TABLE = "index\tquestion\tanswer\n1\tWhat is the capital of France?\tParis\n"
BROKEN = "task: broken\ndoc_to_text: [\n"
BOOM = "raise SystemExit('task code was run')\n"
GROUP = "group: both\ntask: [capitals, more]\n"
QUESTIONS = [{"question": "What?", "answer": "x", "prompt": "y"}]


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    return Typing(tmp_path, capsys)


def folder_of_two(typing: Typing, name: str = "mine") -> None:
    more = CAPITALS.replace("task: capitals", "task: more")
    typing.write(
        {f"{name}/capitals.yaml": CAPITALS, f"{name}/deep/more.yaml": more, f"{name}/deep/capitals.csv": CSV}
        | {f"{name}/capitals.csv": CSV, f"{name}/table.tsv": TABLE, f"{name}/rows.csv": "question,answer\na,b\n"}
    )


def measured(typing: Typing) -> list[str]:
    return [*json.loads((typing.folder / "run/results.json").read_text())["tasks"]]


@pytest.mark.parametrize("place", ["mine", "mine/", "./mine", "mine/../mine"])
def test_a_folder_stands_for_all_of_its_tasks(typing: Typing, place: str) -> None:
    folder_of_two(typing)
    done = typing(f"{RUN} {place}")
    assert done.code == 0, done.said
    assert measured(typing) == ["capitals", "more", "table"]
    assert "rows.csv" not in done.said, "in a folder with tasks, tables are their data"


def test_all_commands_agree_about_a_folder(typing: Typing) -> None:
    folder_of_two(typing)
    assert typing("check mine").code == 0
    listed = typing("tasks mine")
    assert listed.code == 0
    assert "3 tasks" in listed.out
    assert [word for word in ("capitals", "more", "table", "rows") if word in listed.out] == [
        "capitals",
        "more",
        "table",
    ]
    assert "3 of 3 tasks are ready" in typing("fetch mine --yes").said
    assert typing("docs mine --no-samples --output pages --language en").out.startswith("3 benchmarks")
    done = typing(f"{RUN} mine/deep,mine/table.tsv")
    assert done.code == 0
    assert measured(typing) == ["more", "table"]


def test_one_task_of_a_file_is_named_behind_two_colons(typing: Typing) -> None:
    folder_of_two(typing)
    done = typing(f"{RUN} mine/capitals.yaml::capitals,./mine/deep/more.yaml")
    assert done.code == 0, done.said
    assert measured(typing) == ["capitals", "more"]
    assert json.loads((typing.folder / "run/run.json").read_text())["patterns"] == [
        f"{typing.folder / 'mine/capitals.yaml'}::capitals",
        f"{typing.folder / 'mine/deep/more.yaml'}",
    ]
    assert "doc_to_target" in typing("tasks mine/capitals.yaml::capitals").out
    refused = typing(f"{RUN} mine/capitals.yaml::capital")
    assert refused.code == 2
    assert "has no task 'capital'" in refused.said
    assert "Did you mean 'capitals'?" in refused.said


def test_a_group_of_the_folder_keeps_its_members(typing: Typing) -> None:
    folder_of_two(typing)
    typing.write({"mine/both.yaml": GROUP})
    assert typing(f"{RUN} mine").code == 0
    results = json.loads((typing.folder / "run/results.json").read_text())
    assert [*results["groups"]] == ["both"]
    assert sorted(results["tasks"]) == ["capitals", "more", "table"]


def test_a_name_wins_over_a_folder_and_the_run_says_so(typing: Typing) -> None:
    folder_of_two(typing)
    typing.write({"more/other.yaml": CAPITALS.replace("task: capitals", "task: other"), "more/capitals.csv": CSV})
    done = typing(f"{RUN} more --include-path mine")
    assert done.code == 0
    assert measured(typing) == ["more"]
    assert "'more' is a task and a folder here; the task is run. Write ./more for the folder." in done.said
    done = typing(f"{RUN} ./more --include-path mine")
    assert measured(typing) == ["other"]
    assert "is a task and a folder" not in done.said


def test_a_folder_wins_over_a_task_in_it_of_the_same_name(typing: Typing) -> None:
    folder_of_two(typing, "capitals")
    assert typing(f"{RUN} capitals").code == 0
    assert measured(typing) == ["capitals", "more", "table"]
    done = typing(f"{RUN} capitals --include-path capitals")
    assert measured(typing) == ["capitals"]
    assert "is a task and a folder" not in done.said, "the task is the folder's own"


def test_the_results_of_a_task_may_lie_in_a_folder_of_its_name(typing: Typing) -> None:
    folder_of_two(typing)
    words = "run --model mock --tasks more --include-path mine --output more"
    assert typing(words).code == 0
    assert "is a task and a folder" not in typing(words).said


def test_a_broken_file_of_the_folder_is_named_and_the_others_are_run(typing: Typing) -> None:
    folder_of_two(typing)
    typing.write({"mine/broken.yaml": BROKEN})
    done = typing(f"{RUN} mine")
    assert done.code == 0
    assert measured(typing) == ["capitals", "more", "table"]
    assert "mine/broken.yaml:" in done.said


@pytest.mark.parametrize(
    ("files", "says", "at"),
    [
        ({"mine/notes.md": "x"}, "There is no task in the folder 'mine'", "--tasks"),
        ({"mine/broken.yaml": BROKEN}, "did not find expected", "mine/broken.yaml"),
        ({"mine/rows.csv": CSV}, "rows.csv has no column for the prompt", "mine/rows.csv:1"),
        (
            {"mine/a.yaml": CAPITALS, "mine/b.yaml": CAPITALS, "mine/capitals.csv": CSV},
            "Two files define 'capitals'",
            "mine/b.yaml",
        ),
    ],
    ids=["nothing", "a broken file", "an unusual table", "a name twice"],
)
def test_a_folder_without_a_task_is_refused(typing: Typing, files: dict[str, str], says: str, at: str) -> None:
    typing.write(files)
    for command in (f"{RUN} mine", "fetch mine --yes", "tasks mine"):
        done = typing(command)
        assert done.code == 2, command
        assert says in done.err
        places = [line for line in done.err.splitlines() if line.startswith("  at ")]
        if at != "--tasks":
            assert at in places[0]
        else:
            assert places == ["  at --tasks"] * command.startswith("run")
    assert not (typing.folder / "run").exists()


def test_a_folder_of_tables_is_its_tables(typing: Typing) -> None:
    for name in ("one.csv", "two.jsonl", "three.tsv"):
        write_table(typing.folder / "mine" / name, QUESTIONS)
    typing.write({"mine/settings.json": '{"a": 1}', "mine/odd.csv": CSV})
    done = typing(f"{RUN} mine")
    assert done.code == 0, done.said
    assert measured(typing) == ["one", "three", "two"]
    assert "note: one.csv: question → prompt, answer → target, exact_match (ignore_case); not used: prompt" in done.err
    assert "odd.csv has no column for the prompt" in done.said
    assert "settings.json" not in done.said


def test_a_guess_is_printed_before_anything_is_asked(typing: Typing) -> None:
    write_table(typing.folder / "cap.csv", QUESTIONS)
    lines = typing(f"{RUN} cap.csv").err.splitlines()
    guess = "note: cap.csv: question → prompt, answer → target, exact_match (ignore_case); not used: prompt"
    assert lines.index(guess) < lines.index("opening 1 task")
    assert guess.removeprefix("note: ") in typing("check cap.csv").out


def test_listing_a_table_runs_no_code(typing: Typing) -> None:
    write_table(typing.folder / "cap.csv", QUESTIONS)
    typing.write({"metrics.py": BOOM, "utils.py": BOOM, "cap.py": BOOM})
    listed = typing("tasks cap.csv")
    assert listed.code == 0, listed.said
    assert "doc_to_text     {{question}}" in listed.out
    assert "1 sample, text → text" in listed.out
    assert "task code was run" not in listed.said
    flat = typing("tasks cap.csv --yaml")
    assert f"test: {typing.folder / 'cap.csv'}" in flat.out
    assert json.loads(typing("tasks cap.csv --json").out)["task"]["name"] == "cap"


def test_a_run_of_a_folder_resumes_from_anywhere(typing: Typing, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of_two(typing)
    assert typing(f"{RUN} mine --limit 1").code == 0
    (typing.folder / "else").mkdir()
    monkeypatch.chdir(typing.folder / "else")
    done = typing("resume ../run")
    assert done.code == 0, done.said
    assert "scored   3 samples of 3 tasks" in done.out


@pytest.mark.parametrize("place", ["mine", "photos.csv"])
def test_a_run_without_output_is_named_after_the_place(typing: Typing, place: str) -> None:
    write_table(typing.folder / "mine/cap.csv", QUESTIONS)
    write_table(typing.folder / "photos.csv", QUESTIONS)
    assert typing(f"run --model mock --tasks {place}").code == 0
    (folder,) = (typing.folder / "runs").iterdir()
    assert folder.name.startswith(f"mock-{Path(place).stem}-")


def test_an_image_folder_is_listed_with_what_it_shows(typing: Typing) -> None:
    draw(typing.folder / "photos/a.png")
    write_table(typing.folder / "photos/metadata.csv", [{"file_name": "a.png", "question": "?", "answer": "x"}])
    assert "text + image → text" in typing("tasks photos").out
    assert typing("check photos").code == 0
    assert "1 of 1 tasks are ready" in typing("fetch photos --yes").said


@pytest.mark.parametrize("command", [f"{RUN} nothing", "fetch nothing --yes", "tasks nothing"])
def test_the_hint_of_an_unknown_task_holds_for_each_command(typing: Typing, command: str) -> None:
    done = typing(command)
    assert done.code == 2
    assert "There is no task, group or tag 'nothing'" in done.err
    assert "The path of a file or folder works too." in done.err
    assert ("--tasks" in done.err) == command.startswith("run")


def test_a_tsv_with_an_index_stays_what_it_was(typing: Typing) -> None:
    typing.write({"mine/table.tsv": TABLE})
    assert "TYPE" in typing("tasks mine/table.tsv").out
    done = typing(f"{RUN} mine/table.tsv")
    assert "→ prompt" not in done.said
    task = json.loads((typing.folder / "run/run.json").read_text())["tasks"][0]
    assert task["config"] == {"dataset": "table", "TYPE": "VQA", "columns": ["index", "question", "answer"]}
