"""``polymeter.track``: what is measured, once; what it is compared with; and what becomes of trouble."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

import polymeter
from polymeter.analysis.tracking.record import CheckpointRecord, Record
from polymeter.core.errors import PlanError
from polymeter.core.names.registries import MODELS
from polymeter.core.records.progress import Silence
from polymeter.models.mock import MockBatch
from tests.helpers.checkpoint_folders import MODEL_ARGS, Time, differences, save, values, write_task


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path)
    save(tmp_path / "out", 100, 20)
    save(tmp_path / "out", 200, 45)
    save(tmp_path / "out", 1000, 30)
    return tmp_path / "out"


def track(folder: Path, tasks: Any = "sums.yaml", **more: Any) -> polymeter.Curve:
    settings = {"model": "mock", "model_args": MODEL_ARGS, "waiting": Time().waiting(), **more}
    return polymeter.track(folder, tasks, **settings)


def test_each_checkpoint_is_measured_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve = track(out)
    assert curve.new == (100, 200, 1000)
    assert values(curve.document()) == pytest.approx({100: 20 / 60, 200: 45 / 60, 1000: 30 / 60})
    assert curve.folder == Path("runs/track/out")
    assert [run.parent.name for run in sorted(curve.folder.glob("*/run.json"))] == ["100", "1000", "200"]
    assert curve.value("sums", "exact_match") == 0.5
    assert curve.value("sums", "exact_match", step=200) == 0.75
    asked = _requests(monkeypatch)
    again = track(out)
    assert (again.new, asked) == ((), [])
    assert again.document()["lines"] == curve.document()["lines"]
    save(out, 1500, 50)
    assert track(out).new == (1500,)
    assert len(asked) == 60


def test_the_numbers_are_those_of_compare(out: Path) -> None:
    curve = track(out, against="previous")
    runs = curve.folder
    (line,) = polymeter.compare(runs / "200", runs / "1000").others[0].scores
    found = differences(curve.document())[1000]
    assert (found["to"], found["difference"], found["interval"]) == (200, line.difference, list(line.interval or ()))
    # 45 right, then 30 of the same: 15 lost, none won. The most extreme split counts by half (mid-p).
    assert found["p_value"] == pytest.approx(binomtest(0, 15).pvalue / 2)
    smaller = differences(curve.document())[200]  # 20, then 45: 25 won
    assert (found["family"], smaller["family"]) == (2, 2)
    assert smaller["p_corrected"] == pytest.approx(2 * binomtest(0, 25).pvalue / 2)
    assert found["p_corrected"] == found["p_value"]  # Holm: the larger of two counts once
    assert found["verdict"] == "worse"


@pytest.mark.parametrize(
    ("against", "to"),
    [
        ("previous", {200: 100, 300: 200, 1000: 300}),
        ("first", {200: 100, 300: 100, 1000: 100}),
        ("best", {200: 100, 300: 200, 1000: 200}),
        (200, {100: 200, 300: 200, 1000: 200}),
        (77, {}),
    ],
)
def test_what_a_checkpoint_is_compared_with(out: Path, against: str | int, to: dict[int, int]) -> None:
    save(out, 300, 40)
    curve = track(out, against=against)
    assert {step: one["to"] for step, one in differences(curve.document()).items()} == to
    told = "Step 77 is not measured, so nothing is compared with it."
    assert (told in curve.warnings) == (against == 77)


def test_each_task_has_its_own_best_checkpoint(out: Path, tmp_path: Path) -> None:
    write_task(tmp_path, "others")
    rows = [json.loads(line) for line in (tmp_path / "others.jsonl").read_text().splitlines()]
    swapped = [*rows[30:], *rows[:30]]  # the rows that 100 answers with "no" come first
    (tmp_path / "others.jsonl").write_text("".join(json.dumps(row) + "\n" for row in swapped))
    for step, n_right in ((100, 50), (200, 10), (1000, 30)):
        answers = json.loads((save(out, step, {100: 20, 200: 45, 1000: 30}[step]) / "answers.json").read_text())
        (out / f"checkpoint-{step}" / "others.json").write_text(
            json.dumps({str(i): swapped[i]["answer"] if i < n_right else "no" for i in range(60)})
        )
        assert len(answers) == 60
    sums = track(out, ["sums.yaml"], output="runs/sums")
    others = track(out, ["others.yaml"], output="runs/others", model_args={"answers": "{checkpoint}/others.json"})
    assert differences(sums.document())[1000]["to"] == 200
    assert differences(others.document(), "others")[1000]["to"] == 100
    both = track(out, ["sums.yaml", "others.yaml"], output="runs/both").document()
    assert differences(both)[1000]["family"] == 4


def test_a_regression_is_told_with_the_newest_checkpoint(out: Path) -> None:
    curve = track(out, max_regression=0.02)
    assert curve.exit_code == 3
    (sentence,) = curve.regressions(0.02)[0]
    assert sentence.startswith("sums (exact_match): step 1000 is 0.2500 worse than step 200, more than 0.0200 (p ")
    assert curve.document()["max_regression"]["regressions"] == [sentence]
    assert track(out, max_regression=0.3).exit_code == 0
    assert track(out, against="first", max_regression=0.0).exit_code == 0
    save(out, 1500, 60)
    assert track(out, max_regression=0.02).exit_code == 0


def test_a_deleted_checkpoint_stays_on_the_curve(out: Path) -> None:
    before = track(out).document()
    for path in out.iterdir():
        shutil.rmtree(path)
    after = track(out).document()
    assert after["lines"] == before["lines"]


def test_a_checkpoint_that_changed_is_measured_again_and_the_earlier_run_is_kept(out: Path) -> None:
    track(out)
    save(out, 200, 60)
    curve = track(out)
    assert curve.new == (200,)
    assert values(curve.document())[200] == 1.0
    assert polymeter.open_run(curve.folder / "200").value("sums", "exact_match") == 0.75
    assert polymeter.open_run(curve.folder / "200-2").value("sums", "exact_match") == 1.0
    told = "checkpoint-200 has changed since it was measured: it was measured again into 200-2; "
    assert any(warning.startswith(told) for warning in curve.warnings)


def test_files_that_were_only_touched_are_the_same_checkpoint(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    track(out)
    asked = _requests(monkeypatch)
    answers = out / "checkpoint-200" / "answers.json"
    answers.write_bytes(answers.read_bytes())
    curve = track(out)
    assert (asked, curve.new) == ([], ())
    assert not (curve.folder / "200-2").exists()
    assert track(out).document()["lines"] == curve.document()["lines"]


def test_a_model_known_by_its_path_alone_is_measured_again_when_its_files_change(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MODELS, "_users", dict(MODELS._users))  # what is registered here is nothing to other tests
    Path("mine.py").write_text(
        "import polymeter\n"
        "@polymeter.register_model('mine')\n"
        "class Mine(polymeter.BatchModel):\n"
        "    traits = polymeter.ModelTraits(family='mine')\n"
        "    def __init__(self, name):\n"
        "        self.name = name\n"
        "    @property\n"
        "    def identity(self):\n"
        "        return {'name': self.name}\n"
        "    def respond(self, requests):\n"
        "        import pathlib\n"
        "        text = (pathlib.Path(self.name) / 'answer.txt').read_text()\n"
        "        return [polymeter.Response((polymeter.Output(text),)) for _ in requests]\n"
    )
    for path in out.iterdir():
        (path / "answer.txt").write_text("118")
    more = {"model": "mine", "model_args": {}, "imports": ["mine.py"]}
    assert values(track(out, **more).document()) == pytest.approx(dict.fromkeys((100, 200, 1000), 1 / 60))
    (out / "checkpoint-200" / "answer.txt").write_text("999")  # as long as before
    curve = track(out, **more)
    assert (curve.new, values(curve.document())[200]) == ((200,), 0.0)


def test_one_metric_can_be_chosen(out: Path) -> None:
    assert [line["metric"] for line in track(out, metric="exact_match").document()["lines"]] == ["exact_match"]
    with pytest.raises(PlanError, match="no metric 'exact_mach'") as caught:
        track(out, metric="exact_mach")
    assert "exact_match" in caught.value.hint


def test_other_settings_are_refused_with_what_differs(out: Path) -> None:
    track(out, limit=30)
    with pytest.raises(PlanError, match="other settings: limit was 30, is 40") as caught:
        track(out, limit=40)
    assert "--output" in caught.value.hint
    with pytest.raises(PlanError, match=r'tasks was \["sums\.yaml"\]'):
        track(out, ["sums.yaml", "demo"], limit=30)
    assert track(out, limit=30, batch_size=7).new == ()


def test_a_checkpoint_that_fails_is_recorded_and_the_others_go_on(out: Path) -> None:
    (out / "checkpoint-200" / "answers.json").write_text("{")
    curve = track(out)
    assert (curve.exit_code, sorted(values(curve.document()))) == (1, [100, 1000])
    (failed,) = [point for point in curve.points if point.status == "failed"]
    assert (failed.step, failed.run) == (200, None)
    assert "answers file cannot be read" in failed.error
    save(out, 200, 45)
    curve = track(out)
    assert (curve.new, curve.exit_code) == ((200,), 0)


def test_what_no_checkpoint_could_be_measured_with_is_an_error_at_once(out: Path) -> None:
    with pytest.raises(PlanError, match="no task, group or tag 'sum'"):
        track(out, "sum")
    with pytest.raises(PlanError, match="mock:name would be the same model for every checkpoint") as caught:
        track(out, model="mock:name", model_args={})
    assert "--model 'mock:{checkpoint}'" in caught.value.hint
    with pytest.raises(PlanError, match="'bets' is not a checkpoint to compare with") as caught:
        track(out, against="bets")
    assert "best" in caught.value.hint
    with pytest.raises(PlanError, match="does not exist"):
        track(out / "nowhere")
    with pytest.raises(PlanError, match="no option 'limits'"):
        track(out, limits=3)
    assert not Path("runs").exists()


def test_a_backend_alone_gets_the_checkpoint_as_its_name(out: Path) -> None:
    curve = track(out, model="hf", model_args={})
    assert [point.status for point in curve.points] == []
    assert "checkpoint-100 is not complete: config.json is missing." in curve.warnings
    (out / "checkpoint-100" / "config.json").write_text('{"model_type": "llama"}')
    (out / "checkpoint-100" / "pytorch_model.bin").write_bytes(b"no weights")
    curve = track(out, model="hf", model_args={})
    assert curve.points[0].status == "failed"


def test_the_step_is_a_number_where_it_stands_alone(out: Path) -> None:
    curve = track(out, model_args={"answers": "{checkpoint}/answers.json", "seed": "{step}"})
    assert [
        json.loads((curve.folder / str(step) / "run.json").read_text())["model"]["spec"]["args"]["seed"]
        for step in (100, 200, 1000)
    ] == [100, 200, 1000]


def test_an_empty_folder_is_told(out: Path) -> None:
    shutil.rmtree(out)
    out.mkdir()
    told = "out contains no checkpoint yet: a folder or file with a step in its name."
    assert track(out).warnings == (told.replace("out", str(out)),)
    save(out, 100, 20)
    assert track(out).warnings == ()


def test_every_and_last(out: Path) -> None:
    assert track(out, every=200, output="a").new == (200, 1000)
    assert track(out, last=True, output="b").new == (1000,)
    assert track(out, last=True, every=3, output="c").new == ()
    assert track(out, name="*-?00", output="d").new == (100, 200)


def test_a_checkpoint_that_is_being_written_is_left_for_later(out: Path) -> None:
    young = out / "checkpoint-2000"
    time = Time(lambda: (young / "answers.json").write_text("{} "))

    class Now(Time):
        """Files are written at this moment."""

        def waiting(self, **times: float) -> Any:
            return time.waiting(**times).__class__(sleep=time._sleep, clock=lambda: 0.0, now=lambda: 0.0, **times)

    save(out, 2000, 60)
    curve = track(out, waiting=Now().waiting(settle_s=10))
    assert time.slept == [10]
    assert "checkpoint-2000 was still being written." in curve.warnings
    assert 2000 not in curve.new


def test_it_waits_for_new_checkpoints_until_a_step(out: Path) -> None:
    time = Time(lambda: save(out, 1500, 50), lambda: None, lambda: save(out, 2000, 55))
    seen: list[int] = []
    curve = track(
        out, watch=True, until=2000, waiting=time.waiting(poll_s=5), on_measured=lambda _, step: seen.append(step)
    )
    assert seen == [100, 200, 1000, 1500, 2000]
    assert time.slept == [5, 5, 5]
    assert (curve.status, curve.exit_code) == ("complete", 0)


def test_ctrl_c_while_waiting_keeps_everything(out: Path) -> None:
    curve = track(out, watch=True, waiting=Time(KeyboardInterrupt()).waiting())
    assert (curve.status, curve.exit_code, len(curve.measured)) == ("interrupted", 130, 3)
    assert curve.page.exists()


def test_a_regression_ends_the_watch(out: Path) -> None:
    time = Time(lambda: save(out, 1500, 60), lambda: save(out, 2000, 20))
    curve = track(out, watch=True, max_regression=0.3, waiting=time.waiting())
    assert (curve.exit_code, len(time.slept), curve.new[-1]) == (3, 2, 2000)


def test_a_run_that_was_interrupted_goes_on(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    respond = MockBatch.respond

    def interrupted(self: MockBatch, requests: Any) -> Any:
        monkeypatch.setattr(MockBatch, "respond", respond)
        raise KeyboardInterrupt

    monkeypatch.setattr(MockBatch, "respond", interrupted)
    curve = track(out)
    assert curve.exit_code == 130
    assert [point.status for point in curve.points] == ["unfinished"]
    curve = track(out)
    assert (curve.exit_code, len(curve.measured)) == (0, 3)
    manifest = json.loads((curve.folder / "100" / "run.json").read_text())
    assert [session["status"] for session in manifest["sessions"]] == ["interrupted", "complete"]


def test_what_another_process_measures_is_waited_for_and_not_measured_twice(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one claims step 100, measures it, and lets go while this one waits for it."""
    first = track(out, every=200)
    other = track(out, every=100, output="elsewhere")  # makes the run that the other process ends
    (entry,) = [entry for entry in _entries(other.folder) if entry.step == 100]
    shutil.copytree(other.folder / "100", first.folder / "100")
    asked = _requests(monkeypatch)
    is_claimed, is_waited_for = threading.Event(), threading.Event()

    def other_process() -> None:
        record = Record(first.folder)
        claim = record.claim(100)
        assert claim is not None
        is_claimed.set()
        is_waited_for.wait(60)
        record.add(entry)
        claim.release()

    class Told(Silence):
        def stage(self, text: str) -> None:
            if text == "waiting for another process that measures checkpoint-100":
                is_waited_for.set()

    thread = threading.Thread(target=other_process)
    thread.start()
    is_claimed.wait(60)
    # every is no setting of the curve: which checkpoints are measured does not change their numbers
    curve = track(out, progress=Told())
    thread.join()
    assert is_waited_for.is_set()
    assert (asked, curve.new) == ([], ())
    assert sorted(values(curve.document())) == [100, 200, 1000]


def test_two_threads_share_the_work(out: Path) -> None:
    for step in range(300, 900, 100):
        save(out, step, step // 20)
    with ThreadPoolExecutor(2) as threads:
        curves = [*threads.map(lambda _: track(out), range(2))]  # raises what either raised
    measured = [step for curve in curves for step in curve.new]
    assert sorted(measured) == [100, 200, *range(300, 900, 100), 1000]


def test_a_damaged_record_is_told_and_can_be_made_again(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve = track(out)
    (curve.folder / "track.json").write_text('{"settings": {}}')
    with pytest.raises(PlanError, match=r"track\.json is damaged"):
        track(out)
    (curve.folder / "track.json").unlink()
    asked = _requests(monkeypatch)
    assert values(track(out).document()) == values(curve.document())
    assert asked == []


def test_tasks_that_changed_are_not_compared(out: Path, tmp_path: Path) -> None:
    track(out)
    task = tmp_path / "sums.yaml"
    task.write_text(task.read_text().replace("What is", "Tell me"))
    save(out, 1500, 50)
    curve = track(out)
    assert 1500 in curve.refused
    assert 1500 not in differences(curve.document())
    assert values(curve.document())[1500] == pytest.approx(50 / 60)
    assert "step 1500 is not compared" in curve.regressions(0.1)[1][0]
    assert 1500 in differences(track(out, allow=["prompts", "task"]).document())


def _requests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests that the mock gets from now on."""
    asked: list[Any] = []
    respond = MockBatch.respond
    monkeypatch.setattr(
        MockBatch, "respond", lambda self, requests: (asked.extend(requests), respond(self, requests))[1]
    )
    return asked


def _entries(folder: Path) -> list[CheckpointRecord]:
    record = Record(folder)
    record.read()
    return list(record.entries.values())
