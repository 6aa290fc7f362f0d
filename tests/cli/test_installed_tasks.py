"""``polymeter tasks`` over installed packages: what they bring, what tasks need, and searching all of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.api import build_catalog
from polymeter.cli.completion import task_names
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.run.plan.selection import matching
from tests.helpers.installed import install

pytestmark = pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    return install(tmp_path, monkeypatch)


def document(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["tasks", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_listing_says_what_packages_have_besides(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    out = capsys.readouterr().out
    assert "lmms-eval: 2 tasks of lmms_eval 0.7.2; polymeter tasks --from lmms-eval lists them." in out
    assert "colours" not in out
    assert document([], capsys)["packages"]["lm-eval"] == {"n_tasks": 2, "n_groups": 0}


def test_from_lists_one_package_with_names_that_can_be_run(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--from", "lmms-eval"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[2].startswith("lmms-eval:painting")
    assert "  lmms-eval:colours  text → text" in out
    assert "2 tasks; tags: paint" in out
    assert "'_template_that_was_left_out' does not exist" in err


def test_from_takes_patterns_with_and_without_what_qualifies(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for pattern in ("siz*", "lm-eval:siz*"):
        names = [task["qualified_name"] for task in document(["--from", "lm-eval", pattern], capsys)["tasks"]]
        assert names == ["lm-eval:sizes"]


def test_from_names_what_there_is(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--from", "lmms_evl"]) == 2
    assert "Did you mean 'lmms-eval'" in capsys.readouterr().err


def test_patterns_find_what_only_packages_have(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [task["qualified_name"] for task in document(["siz*"], capsys)["tasks"]]
    assert sorted(names) == ["lm-eval:sizes", "lmms-eval:sizes"]


def test_one_task_is_described_by_its_qualified_name(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "lm-eval:sizes"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("lm-eval:sizes  ")
    assert "dataset_path" in out
    assert main(["tasks", "sizes"]) == 2
    assert "Say which is meant: lm-eval:sizes or lmms-eval:sizes." in capsys.readouterr().err


def test_what_a_task_needs_is_told_without_running_it(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = site / "lmms_eval/tasks/colours/utils.py"
    code.write_text(
        "import os\nimport no_such_package\nKEY = os.getenv('OPENAI_API_KEY')\n"
        "def doc_to_text(doc):\n    import perhaps_no_package\n    return os.environ['HOME']\n"
    )
    yaml = code.with_name("colours.yaml")
    yaml.write_text(yaml.read_text() + "dataset_kwargs: {token: true}\n")
    (tmp_path / "hub" / "hub" / "datasets--made--colours").mkdir(parents=True)
    (task,) = document(["--from", "lmms-eval", "colo*"], capsys)["tasks"]
    assert task["needs"] | {"extras": []} == {
        "judge": "no",
        "packages": ["no_such_package"],
        "optional_packages": ["perhaps_no_package"],
        "missing": ["no_such_package"],
        "extras": [],
        "keys": ["OPENAI_API_KEY"],
        "hub_token": True,
    }
    assert (task["dataset"], task["is_cached"]) == ("made/colours", True)
    assert task["description"] == "Which colour a patch has."
    assert main(["tasks", "--from", "lmms-eval", "colo*"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert line.endswith(
        "text → text, reads OPENAI_API_KEY, data needs a Hub token, data is cached, needs no_such_package"
    )


def test_a_package_within_a_namespace_that_is_not_there_either_is_missing(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = site / "lmms_eval/tasks/colours/utils.py"
    code.write_text("from azure.no_such_part import Something\ndef doc_to_text(doc):\n    return ''\n")
    assert main(["tasks", "--from", "lmms-eval", "colo*"]) == 0
    assert capsys.readouterr().out.splitlines()[2].endswith("needs azure.no_such_part")
    assert main(["tasks", "lmms-eval:colours"]) == 0


def test_what_is_known_of_tasks_is_kept_until_a_file_changes(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = document(["--from", "evalscope"], capsys)
    with monkeypatch.context() as patched:
        patched.setattr("polymeter.catalog.package_outlines.outline_tasks", lambda *_: pytest.fail("read again"))
        assert document(["--from", "evalscope"], capsys) == before
    adapter = site / "evalscope/benchmarks/counting/counting_adapter.py"
    adapter.write_text(adapter.read_text().replace("Adds two small numbers.", "Adds two large numbers."))
    (task,) = document(["--from", "evalscope"], capsys)["tasks"]
    assert task["description"] == "Adds two large numbers."


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("names of colours in charts", "lmms-eval:colours"),  # by its README and its description
        ("paint", "lmms-eval:painting"),
        ("add numbers", "evalscope:counting"),
        ("receipt totals", "polymeter:demo_receipt_total"),
    ],
)
def test_a_search_finds_by_names_tags_descriptions_and_readmes(
    site: Path, words: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(["--search", words], capsys)["found"]
    assert found[0]["qualified_name"] == first
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)


def test_an_abbreviation_in_a_name_is_found_by_what_it_stands_for(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "lm_eval/tasks/plotqa.yaml").write_text("include: sizes/sizes.yaml\ntask: plotqa\n")
    found = document(["--search", "plot question answering"], capsys)["found"]
    assert found[0]["qualified_name"] == "lm-eval:plotqa"


def test_a_search_may_be_in_one_package_and_may_find_nothing(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(["--search", "sizes", "--from", "lm-eval"], capsys)["found"]
    assert {one["qualified_name"] for one in found} == {"lm-eval:sizes", "lm-eval:more_sizes"}
    assert main(["tasks", "--search", "zzzzzz"]) == 0
    told = capsys.readouterr().out
    assert "Nothing matches 'zzzzzz'. Installed packages are searched too; 'polymeter tasks' lists them." in told
    assert main(["tasks", "--search", "?!"]) == 2
    assert "There is nothing to search for." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("lmms-eval:si", ["lmms-eval:sizes"]),
        ("lm-eval:", ["lm-eval:more_sizes", "lm-eval:sizes"]),
        ("lmm", ["lmms-eval:"]),
        ("demo_signs,evals", ["demo_signs,evalscope:"]),
    ],
)
def test_the_shell_is_offered_qualified_names(site: Path, begun: str, offered: list[str]) -> None:
    found = [name for name, _ in task_names(SimpleNamespace(params={}), begun)]
    assert found == offered


def test_listing_a_package_says_nothing_of_the_oddities_of_its_files(
    site: Path, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    for name in ("lmms_eval/tasks/sizes.yaml", "lm_eval/tasks/sizes/sizes.yaml"):
        yaml = site / name
        yaml.write_text(yaml.read_text() + "output_type: generate_until\n")
    adapter = site / "evalscope/benchmarks/counting/counting_adapter.py"
    adapter.write_text(adapter.read_text() + "ODD = '\\d'\n")
    for package in ("lmms-eval", "lm-eval", "evalscope"):
        assert main(["tasks", "--from", package]) == 0
    assert not [record for record in caplog.records if "is written twice" in record.getMessage()]
    assert not [one for one in recwarn if "invalid escape" in str(one.message)]


def taken_by_a_run(pattern: str) -> list[str]:
    """The qualified names of the tasks that a run takes, without those of groups."""
    return [entry.qualified_name for entry in matching(pattern, build_catalog())]


@pytest.mark.parametrize("pattern", ["mmau*", "colo*", "lmms-eval:*i*", "lm-eval:*", "polymeter:mmau*", "demo_[st]*"])
def test_a_glob_lists_what_a_run_takes(site: Path, pattern: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (site / "lmms_eval/tasks/sizes.yaml").read_text()
    (site / "lmms_eval/tasks/mmau.yaml").write_text(text.replace("task: sizes", "task: mmau"))
    found = document([pattern], capsys)
    names = [task["qualified_name"] for task in (*found["tasks"], *found["groups"])]
    assert names == taken_by_a_run(pattern)
    qualifier, mark, bare = pattern.partition(":")
    if mark:
        assert document(["--from", qualifier, bare], capsys)["tasks"] == found["tasks"]


def test_a_listing_says_what_a_glob_does_not_mean(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (site / "lmms_eval/tasks/sizes.yaml").read_text()
    (site / "lmms_eval/tasks/mmau.yaml").write_text(text.replace("task: sizes", "task: mmau"))
    assert main(["tasks", "mmau*"]) == 0
    out = capsys.readouterr().out
    assert "lmms-eval:mmau " in out
    assert "Not meant by 'mmau*': polymeter:mmau* (1)." in out
    assert main(["tasks", "siz*"]) == 0
    assert "A run has to name one of them: lm-eval:siz* or lmms-eval:siz*." in capsys.readouterr().out
    with pytest.raises(PlanError, match="several packages"):
        taken_by_a_run("siz*")
