"""``polymeter lmms-eval`` and trackers: what ``--wandb_args`` and ``--hf_hub_log_args`` come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter import PlanError
from polymeter.core.names.registries import TRACKERS, register_tracker
from polymeter.core.records.tracker import TrackedRun
from polymeter.interop.lmms_eval.tracking import hub_arguments, wandb_arguments
from tests.cli.kit import CAPITALS, Typing

COMMAND = "lmms-eval --model mock --model_args answers=answers.json --tasks capitals.yaml --output_path out"


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    rows = "country,capital\nFrance,Paris\nPeru,Lima\n"
    typing.write({"capitals.yaml": CAPITALS, "capitals.csv": rows, "answers.json": '{"0": "Paris"}'})
    return typing


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any], TrackedRun]]:
    """What the trackers were sent: stand-ins for those of services."""
    sent: list[tuple[str, dict[str, Any], TrackedRun]] = []
    monkeypatch.setattr(TRACKERS, "_users", {})
    for name in ("wandb", "hub"):

        class Keeper:
            name = ""

            def __init__(self, **arguments: Any) -> None:
                self._arguments = arguments

            def send(self, run: TrackedRun) -> str:
                if self._arguments.get("entity") == "away":
                    raise ConnectionError("no way")
                sent.append((self.name, self._arguments, run))
                return "there"

        Keeper.name = name
        register_tracker(name)(Keeper)
    return sent


def test_wandb_args_are_those_of_init(typing: Typing, sent: list[Any]) -> None:
    done = typing(f"{COMMAND} --wandb_args project=vlm,job_type=eval,name=mine --wandb_log_samples")
    assert done.code == 0
    ((name, arguments, run),) = sent
    assert name == "wandb"
    assert arguments == {"project": "vlm", "job_type": "eval", "name": "mine", "samples": "all"}
    assert [number.name for number in run.numbers] == ["capitals/exact_match"]
    assert "logged   wandb, there" in done.out


def test_a_run_of_wandb_has_a_name(typing: Typing, sent: list[Any]) -> None:
    typing(f"{COMMAND} --wandb_args project=vlm")
    ((_, arguments, _),) = sent
    assert arguments["samples"] == 0
    assert arguments["name"].startswith("mock_answers=answers")
    assert len(wandb_arguments({}, name="n" * 100, has_samples=False)["name"]) == 43


def test_the_hub_gets_the_results_file_of_lmms_eval(typing: Typing, sent: list[Any]) -> None:
    pushed = "hub_results_org=org,details_repo_name=details,results_repo_name=results,push_results_to_hub=True"
    done = typing(f"{COMMAND} --log_samples --hf_hub_log_args {pushed},push_samples_to_hub=True,public_repo=True")
    assert done.code == 0
    ((name, arguments, run),) = sent
    assert (name, arguments["repo"], arguments["samples_repo"]) == ("hub", "org/results", "org/details")
    assert (arguments["private"], arguments["samples"], arguments["results"]) == (False, "all", True)
    ((place, file),) = run.further.items()
    assert place.startswith("mock/")
    assert place.endswith("_results.json")
    assert json.loads(file.read_text())["results"]["capitals"]["exact_match,none"] == 0.5


def test_a_service_that_is_away_harms_nothing(typing: Typing, sent: list[Any]) -> None:
    done = typing(f"{COMMAND} --wandb_args project=vlm,entity=away")
    assert done.code == 0
    assert "Not logged to wandb: Sending the run to 'wandb' raised ConnectionError: no way" in done.err
    assert "Send it again with: polymeter log out/" in done.err
    assert "written  out/" in done.out


def test_a_token_is_in_no_file(typing: Typing, sent: list[Any]) -> None:
    token = "hf_neverinafile0123456789"
    done = typing(f"{COMMAND} --hf_hub_log_args hub_results_org=org,push_results_to_hub=True,token={token}")
    assert done.code == 0
    assert sent[0][1]["token"] == token
    assert token not in done.said
    for path in Path("out").rglob("*.*"):
        assert path.is_dir() or token.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("given", "has_samples", "expected"),
    [
        ({}, True, None),
        ({"push_samples_to_hub": True}, False, None),
        ({"push_results_to_hub": True}, False, ("lmms-eval-results-private", "", True, 0)),
        ({"push_samples_to_hub": True, "hub_repo_name": "both"}, True, ("both-private", "both-private", False, "all")),
        (
            {
                "push_samples_to_hub": True,
                "push_results_to_hub": True,
                "details_repo_name": "d",
                "hub_results_org": "o",
            },
            True,
            ("o/d-private", "o/d-private", True, "all"),
        ),
    ],
)
def test_which_repositories(given: dict[str, Any], has_samples: bool, expected: Any) -> None:
    found = hub_arguments(given, has_samples=has_samples)
    shown = found and tuple(found[name] for name in ("repo", "samples_repo", "results", "samples"))
    assert shown == expected


def test_an_argument_that_is_not_there() -> None:
    with pytest.raises(PlanError, match="Did you mean 'push_results_to_hub'"):
        hub_arguments({"push_result_to_hub": True}, has_samples=True)
