"""``--dialect-option``: settings of one dialect on the command line."""

import json
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.cli.pairs import parse_dialect_options
from polymeter.core.errors import PlanError
from tests.helpers.toy_datasets import write_table

OPTION = "--dialect-option"


@pytest.mark.needs_system("evalscope")
def test_settings_are_grouped_by_dialect_and_read_like_other_pairs() -> None:
    told = parse_dialect_options(
        ["tsv.circular=true", 'tsv.judge_args={"nproc": 2},adapter.judge_strategy=llm'], OPTION
    )
    assert told == {"tsv": {"circular": True, "judge_args": {"nproc": 2}}, "adapter": {"judge_strategy": "llm"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("circular=true", r"'circular' names no format.*tsv\.circular=true"),
        ("tsb.circular=true", "no format 'tsb'.*Did you mean 'tsv'"),
        ("tsv.=1", "names no format"),
    ],
)
def test_what_names_no_dialect_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        parse_dialect_options([text], OPTION)


def test_a_table_is_run_with_a_setting_of_its_dialect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    columns = {"index": [0], "question": ["Red?"], "A": ["sky"], "B": ["blood"], "answer": ["B"]}
    table = write_table(tmp_path / "pick.tsv", columns)
    command = ["run", "-q", "--model", "mock", "--model-args", "mode=gold", "--tasks", str(table)]
    output = tmp_path / "run"
    assert main([*command, "--output", str(output), OPTION, "tsv.circular=true"]) == 0
    results = json.loads((output / "results.json").read_text())["tasks"]["pick"]["results"]
    assert {item["metric"]: item["value"] for item in results if not item["subset"]}["circular_acc"] == 1.0
    assert main([*command, "--output", str(tmp_path / "other"), OPTION, "tsv.circlar=true"]) == 2
    assert "no option 'circlar'" in " ".join(capsys.readouterr().err.split())
