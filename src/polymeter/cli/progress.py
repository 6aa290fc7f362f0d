"""Progress of a run: a bar on a terminal, plain lines elsewhere, nothing when quiet. All on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from polymeter.core.records.progress import LiveScore, Progress, Silence
from polymeter.report.formatting import count, duration, number, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

LINE_EVERY_S = 10.0
LINE_EVERY_SHARE = 0.1
_LINE_AT_LEAST_S = 1.0
MOST_SCORES = 3
_WIDE = 100
"""Columns from which a terminal has room for a long bar."""


ReadScores = Callable[[], list[LiveScore]]
ReadState = Callable[[], str]


def live_scores(scores: list[LiveScore]) -> str:
    """The scores so far in one line: of the last few tasks, since tasks run one after another."""
    shown = [one_line(f"{score.task} {score.metric} {number(score.mean)}") for score in scores[-MOST_SCORES:]]
    return ", ".join([*(["…"] if len(scores) > MOST_SCORES else []), *shown])


class PlainProgress:
    """Writes a line about every ten seconds or ten percent.

    Args:
        write: Called with each line.
        clock: A monotonic clock in seconds.
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._total = self._before = self._ended = self._failed = self._tokens = 0
        self._began = self._last_time = clock()
        self._last_share = 0.0
        self._scores: ReadScores = list
        self._replicas: ReadState = str
        self._spending: ReadState = str

    def watch(self, scores: ReadScores) -> None:
        """Show these scores in each line."""
        self._scores = scores

    def watch_replicas(self, state: ReadState) -> None:
        """Show the state of replicas in each line."""
        self._replicas = state

    def watch_spending(self, state: ReadState) -> None:
        """Show what was spent of the caps in each line."""
        self._spending = state

    def stage(self, text: str) -> None:
        """Write the stage."""
        self._write(one_line(text))

    def begin(self, total: int, done: int) -> None:
        """Reset all counts and write the totals."""
        self._total = total
        self._before = done
        self._ended = self._failed = self._tokens = 0
        self._began = self._last_time = self._clock()
        self._last_share = done / total if total else 0.0
        earlier = f", {done:,} of them already done" if done else ""
        self._write(f"{count(total, 'sample')}{earlier}")

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        """Add to the counts, and write a line if one is due."""
        self._ended += ended
        self._failed += failed
        self._tokens += tokens
        now = self._clock()
        waited = now - self._last_time
        share = (self._before + self._ended) / self._total if self._total else 1.0
        is_far = share - self._last_share >= LINE_EVERY_SHARE and waited >= _LINE_AT_LEAST_S
        if share < 1 and (waited >= LINE_EVERY_S or is_far):
            self._last_time = now
            self._last_share = share
            self._write(self._state(now))

    def note(self, text: str) -> None:
        """Write the note."""
        self._write(f"note: {one_line(text)}")

    def warning(self, text: str) -> None:
        """Write the warning."""
        self._write(f"warning: {one_line(text)}")

    def waiting(self, text: str) -> None:
        """Write what the run waits for."""
        if text:
            self._write(f"waiting: {one_line(text)}")

    def end(self) -> None:
        """Write the final state."""
        self._write(self._state(self._clock()))

    def _state(self, now: float) -> str:
        done = self._before + self._ended
        spent = now - self._began
        facts = [f"{done:,}/{self._total:,} samples" + (f" ({100 * done // self._total} %)" if self._total else "")]
        if spent > 0 and self._ended:
            facts.append(f"{self._ended / spent:,.1f}/s")
            left = self._total - done
            facts.append(f"about {duration(left * spent / self._ended)} left" if left else f"in {duration(spent)}")
            if self._tokens:
                facts.append(f"{self._tokens / spent:,.0f} tokens/s")
        if self._failed:
            facts.append(f"{self._failed:,} failed")
        facts += filter(None, (self._replicas(), self._spending()))
        return "; so far ".join(part for part in (", ".join(facts), live_scores(self._scores())) if part)


class BarProgress:
    """A bar with samples, rate, time left, failures and tokens per second; below it the scores so far.

    Args:
        console: The terminal.
        clock: A monotonic clock in seconds.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import RenderableType
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        class WithScores(RichProgress):
            """The bar, and lines with what ``state`` and ``read`` give whenever it is drawn."""

            read: ReadScores = list
            state: ReadState = str
            spending: ReadState = str

            def get_renderables(self) -> Iterable[RenderableType]:
                yield from super().get_renderables()
                for state in filter(None, (self.state(), self.spending())):
                    yield Text(f"  {state}", style="dim")
                scores = live_scores(self.read())
                if scores:
                    yield Text(f"  so far {scores}", style="dim")

        self._clock = clock
        self._began = clock()
        self._ended = self._failed = self._tokens = 0
        self._bar = WithScores(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=28 if console.width >= _WIDE else 8),
            MofNCompleteColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            refresh_per_second=8,
        )
        self._task: TaskID | None = None

    def start(self) -> None:
        """Show the bar."""
        self._bar.start()

    def stop(self) -> None:
        """Remove the bar and restore the terminal."""
        self._bar.stop()

    def watch(self, scores: ReadScores) -> None:
        """Show these scores below the bar."""
        self._bar.read = scores

    def watch_replicas(self, state: ReadState) -> None:
        """Show the state of replicas below the bar."""
        self._bar.state = state

    def watch_spending(self, state: ReadState) -> None:
        """Show what was spent of the caps below the bar."""
        self._bar.spending = state

    def stage(self, text: str) -> None:
        """Show the stage in place of the bar's text."""
        if self._task is None:
            self._task = self._bar.add_task(one_line(text), total=None, facts="")
        else:
            self._bar.update(self._task, description=one_line(text))

    def begin(self, total: int, done: int) -> None:
        """Show the bar."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._began = self._clock()
        self._ended = self._failed = self._tokens = 0
        self._task = self._bar.add_task("samples", total=total, completed=done, facts="")

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        """Move the bar."""
        self._ended += ended
        self._failed += failed
        self._tokens += tokens
        if self._task is not None:
            self._bar.update(self._task, advance=ended, facts=self._facts())

    def note(self, text: str) -> None:
        """Print the note above the bar."""
        self._print(f"note: {one_line(text)}")

    def warning(self, text: str) -> None:
        """Print the warning above the bar."""
        self._print(f"warning: {one_line(text)}")

    def _print(self, line: str) -> None:
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def waiting(self, text: str) -> None:
        """Show what the run waits for in place of the bar's text."""
        if self._task is not None:
            self._bar.update(self._task, description=one_line(f"waiting: {text}") if text else "samples")

    def end(self) -> None:
        """Leave the bar full, without the scores; a stage follows."""
        self._bar.read, self._bar.state, self._bar.spending = list, str, str

    def _facts(self) -> str:
        spent = self._clock() - self._began
        facts = []
        if spent > 0:
            facts.append(f"{self._ended / spent:,.1f}/s")
            if self._tokens:
                facts.append(f"{self._tokens / spent:,.0f} tokens/s")
        if self._failed:
            facts.append(f"{self._failed:,} failed")
        return "  ".join(facts)


def _write_line(line: str) -> None:
    with suppress(OSError):  # the reader of the progress may have ended; the run continues
        print(line, file=sys.stderr, flush=True)


@contextmanager
def make_progress(*, is_quiet: bool) -> Iterator[Progress]:
    """The progress suited to stderr: a bar on a terminal, lines elsewhere. A bar is removed however the block ends."""
    if is_quiet:
        yield Silence()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield PlainProgress(_write_line)
        return
    bar = BarProgress(console)
    bar.start()
    try:
        yield bar
    finally:
        bar.stop()
