"""Progress as lines and as a bar, over a clock that the test turns."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from polymeter.cli.progress import BarProgress, PlainProgress, live_scores, make_progress
from polymeter.core.records.progress import LiveScore, Silence


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def progress(clock, lines) -> PlainProgress:
    return PlainProgress(lines.append, clock)


def test_a_line_every_ten_seconds(progress, clock, lines):
    progress.begin(1000, 0)
    for _ in range(40):
        clock.now += 1
        progress.advance(1, 0, 5)
    assert lines == [
        "1,000 samples",
        "10/1,000 samples (1 %), 1.0/s, about 16 min 30 s left, 5 tokens/s",
        "20/1,000 samples (2 %), 1.0/s, about 16 min 20 s left, 5 tokens/s",
        "30/1,000 samples (3 %), 1.0/s, about 16 min 10 s left, 5 tokens/s",
        "40/1,000 samples (4 %), 1.0/s, about 16 min 00 s left, 5 tokens/s",
    ]


def test_a_line_every_ten_percent_but_not_many_a_second(progress, clock, lines):
    progress.begin(100, 0)
    for _ in range(100):
        clock.now += 0.0625
        progress.advance(1, 0, 0)
    progress.end()
    assert [line.split()[0] for line in lines] == [
        "100",
        "16/100",
        "32/100",
        "48/100",
        "64/100",
        "80/100",
        "96/100",
        "100/100",
    ]
    assert lines[-1] == "100/100 samples (100 %), 16.0/s, in 6.2 s"


def test_what_an_earlier_run_ended_counts_as_done_but_not_as_speed(progress, clock, lines):
    progress.begin(100, 50)
    clock.now += 10
    progress.advance(10, 2, 0)
    assert lines == [
        "100 samples, 50 of them already done",
        "60/100 samples (60 %), 1.0/s, about 40 s left, 2 failed",
    ]


def test_no_samples_and_no_time_divide_by_nothing(progress, lines):
    progress.begin(0, 0)
    progress.advance(0, 0, 0)
    progress.end()
    assert lines == ["0 samples", "0/0 samples"]


def test_stages_and_notes_stay_on_one_line(progress, lines):
    progress.stage("opening\ndatasets")
    progress.note("two\nlines \x1b[2J")
    assert lines == ["opening datasets", "note: two lines \N{REPLACEMENT CHARACTER}[2J"]


def test_the_bar_shows_stage_counts_rate_and_failures(clock):
    buffer = io.StringIO()
    bar = BarProgress(Console(file=buffer, force_terminal=True, width=140, color_system=None), clock)
    bar.start()
    bar.stage("opening [datasets]")
    bar.begin(100, 10)
    clock.now += 2
    bar.advance(20, 3, 400)
    bar.note("a [note]")
    bar.stop()
    shown = buffer.getvalue()
    for text in ("30/100", "10.0/s", "200 tokens/s", "3 failed", "note: a [note]"):
        assert text in shown


def test_quiet_is_silent_and_pipes_get_lines(capsys):
    with make_progress(is_quiet=True) as progress:
        assert isinstance(progress, Silence)
    with make_progress(is_quiet=False) as progress:
        progress.stage("planning")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "planning\n")


def test_waits_are_told_as_lines(progress, lines):
    progress.begin(10, 0)
    progress.waiting("60 s for the judge\x1b[2J (j at host)")
    progress.waiting("")
    assert len(lines) == 2
    assert lines[1].startswith("waiting: 60 s for the judge")
    assert "\x1b" not in lines[1]


def test_waits_take_the_place_of_the_bars_text():
    screen = io.StringIO()
    bar = BarProgress(Console(file=screen, force_terminal=True, width=160))
    bar.waiting("before the first sample")
    bar.begin(10, 0)
    bar.waiting("60 s for the judge (j at host)")
    bar.start()
    bar.stop()
    assert "waiting: 60 s for the judge (j at host)" in screen.getvalue()
    screen.truncate(0)
    bar.waiting("")
    bar.start()
    bar.stop()
    assert "waiting" not in screen.getvalue()


SCORES = [LiveScore("demo_signs", "anls", 0.81234, 30), LiveScore("demo_page", "cer", 0.1, 2)]


def test_lines_and_bar_show_the_scores_so_far(progress, lines, clock):
    progress.watch(lambda: SCORES)
    progress.begin(10, 0)
    clock.now += 10
    progress.advance(5, 0, 0)
    assert lines[-1].endswith("left; so far demo_signs anls 0.8123, demo_page cer 0.1000")
    screen = io.StringIO()
    bar = BarProgress(Console(file=screen, force_terminal=True, width=60, color_system=None), clock)
    bar.watch(lambda: SCORES)
    bar.begin(10, 0)
    bar.start()
    bar.advance(5, 0, 0)
    bar.stop()
    assert "so far demo_signs anls 0.8123, demo_page cer 0.1000" in screen.getvalue()
    assert "5/10" in screen.getvalue()


def test_of_many_tasks_the_last_ones_are_shown():
    assert live_scores([LiveScore(f"t{n}", "acc", n / 10, 1) for n in range(5)]) == (
        "…, t2 acc 0.2000, t3 acc 0.3000, t4 acc 0.4000"
    )
    assert live_scores([]) == ""
    assert (
        live_scores([LiveScore("two\nlines\x1b[2J", "acc", 0.5, 1)])
        == "two lines\N{REPLACEMENT CHARACTER}[2J acc 0.5000"
    )


def test_the_state_of_replicas_is_told_in_each_line_and_below_the_bar(progress, clock, lines):
    progress.watch_replicas(lambda: "2/2 replicas, 90% busy, 7 queued")
    progress.begin(10, 0)
    clock.now += 1
    progress.advance(10, 0, 0)
    progress.end()
    assert lines[-1] == "10/10 samples (100 %), 10.0/s, in 1.0 s, 2/2 replicas, 90% busy, 7 queued"
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    bar = BarProgress(console, clock)
    bar.watch_replicas(lambda: "2/2 replicas, 90% busy, 7 queued")
    bar.start()
    bar.begin(10, 0)
    bar.stop()
    assert "2/2 replicas, 90% busy, 7 queued" in console.file.getvalue()
