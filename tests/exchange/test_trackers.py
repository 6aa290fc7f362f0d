"""Sending runs to trackers: what a tracker is given, when it is made, and that nothing it does harms a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter import PlanError, TrackerError
from polymeter.core.names.registries import TRACKERS, register_tracker
from polymeter.core.records.progress import Silence
from polymeter.core.records.tracker import TrackedRun, flat, sample_limit
from tests.helpers.seen import N, Teller, measured

SECRET = "sk-neverinafile0123456789"


class Keeper:
    """Keeps what it is sent."""

    sent: list[TrackedRun]
    made: list[dict[str, Any]]
    error: BaseException | None

    def __init__(self, *, place: str = "here", token: str = "") -> None:
        self.made.append({"place": place})
        self._place = place

    def send(self, run: TrackedRun) -> str:
        if self.error is not None:
            raise self.error
        self.sent.append(run)
        return self._place


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> type[Keeper]:
    class Own(Keeper):
        sent: list[TrackedRun] = []  # noqa: RUF012
        made: list[dict[str, Any]] = []  # noqa: RUF012
        error: BaseException | None = None

    monkeypatch.setattr(TRACKERS, "_users", {})
    register_tracker("keeper")(Own)
    return Own


def test_a_tracker_is_given_the_run(keeper: type[Keeper], tmp_path: Path) -> None:
    result = measured(tmp_path, log_to={"keeper": {"place": "there"}}, limit=6)
    (run,) = keeper.sent
    (logged,) = result.logged
    assert (logged.tracker, logged.place, logged.error) == ("keeper", "there", "")
    assert (run.name, [*run.tasks], run.config["options"]["limit"]) == ("run", ["seen"], 6)
    assert {number.name: number.value for number in run.numbers} == {
        "seen/exact_match": 0,
        "seen/parts": 0,
        "seen/answer": 0.5,
    }
    samples = [*run.samples("seen", "all")]
    assert [sample.id for sample in run.samples("seen", 2)] == ["0", "1"]
    assert [sample.id for sample in samples] == [str(number) for number in range(6)]
    assert samples[2].scores == {"exact_match": 0, "answer": 0.5}
    assert (samples[2].prompt, samples[2].answer, samples[2].target) == ("What is 2?", "2\\ud83d", "2")
    assert samples[3].error
    assert not samples[3].scores
    assert all(path.is_file() for sample in samples for path in sample.shown)
    assert [path.name for path in run.files] == ["results.json", "report.html"]
    assert str(tmp_path) not in json.dumps(run.config)


def test_the_run_is_the_same_with_and_without(keeper: type[Keeper], tmp_path: Path) -> None:
    assert "***" in repr(measured(tmp_path, log_to={"keeper": {"token": SECRET}}).logged)
    told = polymeter.open_run((tmp_path / "run").rename(tmp_path / "told"))
    plain = measured(tmp_path)
    assert told.folder.results.read_bytes() == plain.folder.results.read_bytes()
    assert told.folder.read_manifest()["identity"] == plain.folder.read_manifest()["identity"]
    assert {path.name for path in told.folder.path.iterdir()} == {path.name for path in plain.folder.path.iterdir()}
    for path in told.folder.path.rglob("*.*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionError(f"no way to {SECRET}"), "raised ConnectionError: no way"),
        (SystemExit(1), "raised SystemExit"),
        (KeyboardInterrupt(), "It was interrupted."),
        (TrackerError("Away."), "Away."),
    ],
)
def test_a_tracker_that_fails_harms_nothing(
    keeper: type[Keeper], tmp_path: Path, error: BaseException, said: str
) -> None:
    keeper.error = error
    plain_code = 1  # one sample has no score
    result = measured(tmp_path, log_to={"keeper": {"token": SECRET}})
    (logged,) = result.logged
    assert said in logged.error
    assert SECRET not in logged.error
    assert (result.status, result.exit_code) == ("complete", plain_code)
    keeper.error = None
    assert polymeter.log_run(tmp_path / "run", "keeper") == "here"
    assert len(keeper.sent) == 1


def test_sending_by_hand_raises(keeper: type[Keeper], tmp_path: Path) -> None:
    run = measured(tmp_path)
    keeper.error = ConnectionError("no way")
    with pytest.raises(TrackerError, match="Sending the run to 'keeper' raised ConnectionError: no way"):
        polymeter.log_run(run, "keeper")


def test_mistakes_cost_nothing(keeper: type[Keeper], tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"no tracker 'keepr'.*Did you mean 'keeper'"):
        measured(tmp_path, log_to={"keepr": {}})
    with pytest.raises(PlanError, match=r"The tracker 'keeper' has no argument 'plce'.*Did you mean 'place'"):
        measured(tmp_path, log_to={"keeper": {"plce": 1}})
    assert not (tmp_path / "run").exists()


def test_a_package_that_is_missing_is_named(keeper: type[Keeper], tmp_path: Path) -> None:
    @register_tracker("absent")
    class Absent:
        def __init__(self) -> None:
            import nobody_has_this  # type: ignore[import-not-found]  # noqa: F401

    with pytest.raises(PlanError, match=r"'nobody_has_this', needed by tracker 'absent', is not installed"):
        measured(tmp_path, log_to={"absent": {}})


def test_an_argument_that_is_needed_is_named(keeper: type[Keeper], tmp_path: Path) -> None:
    @register_tracker("needy")
    def make(project: str) -> Keeper:
        return Keeper()

    with pytest.raises(PlanError, match=r"'needy' needs 'project'.*needy:project="):
        measured(tmp_path, log_to={"needy": {}})


class Stopping(Silence):
    """A user who presses Ctrl-C after some samples."""

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        if ended:
            raise KeyboardInterrupt


def test_a_run_that_has_not_ended_is_not_sent_until_it_has(keeper: type[Keeper], tmp_path: Path) -> None:
    run = measured(tmp_path, progress=Stopping(), batch_size=1, log_to={"keeper": {}})
    assert [logged.error for logged in run.logged] == ["The run has not ended: it is interrupted."]
    with pytest.raises(PlanError, match=r"has not ended.*polymeter resume"):
        polymeter.log_run(run, "keeper")
    assert keeper.sent == []
    resumed = polymeter.resume(tmp_path / "run", model=Teller(), log_to={"keeper": {}})
    assert [logged.place for logged in resumed.logged] == ["here"]
    again = polymeter.resume(tmp_path / "run", model=Teller(), log_to={"keeper": {}})
    assert len(again.logged) == 1
    scored = polymeter.score(tmp_path / "run", output=tmp_path / "scored", log_to={"keeper": {}})
    assert len(scored.logged) == 1
    assert [run.name for run in keeper.sent] == ["run", "run", "scored"]


def test_the_samples_as_tables(keeper: type[Keeper], tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    measured(tmp_path, log_to={"keeper": {}})
    (run,) = keeper.sent
    (few,) = run.write_tables(tmp_path / "few", 3)
    (whole,) = run.write_tables(tmp_path / "all", "all")
    assert (pq.read_table(few).num_rows, pq.read_table(whole).num_rows) == (3, N)


@pytest.mark.parametrize("value", [-1, True, 1.5, "some", None])
def test_what_is_no_limit(value: Any) -> None:
    with pytest.raises(PlanError, match="is not a number of samples"):
        sample_limit(value)


def test_nested_settings_are_one_level() -> None:
    nested = {"a": {"b": {"c": 1}, "d": None}, "e": [1, "x"], "f": True}
    assert flat(nested) == {"a.b.c": 1, "e": "[1, 'x']", "f": True}


def test_every_tracker_has_an_extra_of_its_name() -> None:
    settings = (Path(polymeter.__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    builtin = [name for name in TRACKERS if TRACKERS.is_builtin(name)]
    assert builtin
    for name in builtin:
        assert TRACKERS.find(name).extra == name
        assert f"\n{name} = [" in settings
