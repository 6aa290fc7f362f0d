"""One life: a run that is killed a few times, then resumed to its end, then compared with the unbroken run."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from scripts.soak.places import (
    END_S,
    Place,
    command,
    fresh,
    journal_of,
    left_by,
    n_answered,
    n_asked,
    n_asked_at_rest,
    started,
)

_MOST_KILLS = 3
_LEAST_S = 0.05
_SHOWN = 400


@dataclass(frozen=True)
class Kill:
    """How a run is killed.

    Attributes:
        how: The signal.
        after: Counted from when: the run's ``start``, its journal (``opened``), or its first request (``asked``).
        share: After which share of what the unbroken run still took from then on.
    """

    how: signal.Signals
    after: str
    share: float


@dataclass
class Tally:
    """What happened.

    Attributes:
        lives: How many lives were lived.
        kills: Kills by signal.
        early: Kills before the run folder was there.
        asking: Kills between the first request and the last answer.
        late: Kills that came after the run had ended.
        repeated: Requests that were sent again, all of them in flight at a kill.
        faults: What must not happen.
    """

    lives: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    early: int = 0
    asking: int = 0
    late: int = 0
    repeated: int = 0
    faults: list[str] = field(default_factory=list)


def kills_of_life(seed: int, kind: str, number: int) -> list[Kill]:
    """How a life is ended: the same for the same seed, kind and number."""
    chance = random.Random(f"{seed}/{kind}/{number}")
    return [
        Kill(
            chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]),
            chance.choice(["start", "opened", "asked"]),
            chance.random(),
        )
        for _ in range(chance.randint(1, _MOST_KILLS))
    ]


def live(place: Place, tally: Tally, kills: list[Kill], name: str) -> None:
    """Live one life."""
    tally.lives += 1
    faults_before = len(tally.faults)
    here = fresh(place.root / "life")
    served_before, in_flight = place.server.n_asked, 0
    for kill in kills:
        asked_before, answered_before = n_asked_at_rest(place, here, served_before), n_answered(here)
        if not _killed(place, here, kill, tally, served_before):
            break
        asked, answered = n_asked_at_rest(place, here, served_before), n_answered(here)
        in_flight += max(0, (asked - asked_before) - (answered - answered_before))
        tally.asking += asked > asked_before and answered < place.n_needed
    code = started(place, here).wait(END_S)
    if code not in (0, 1):
        tally.faults.append(f"{name}: the resumed run ended with {code}: {_said(here)}")
    else:
        repeated = n_asked_at_rest(place, here, served_before) - place.n_needed
        tally.repeated += max(0, repeated)
        _compare(place, here, tally, name)
        if not 0 <= repeated <= in_flight:
            tally.faults.append(
                f"{name}: {repeated} requests more than needed, and {in_flight} were in flight at the kills"
            )
    if len(tally.faults) > faults_before:
        kept = Path(tempfile.mkdtemp(prefix="polymeter_soak_fault_"))
        shutil.copytree(here, kept / "life")
        shutil.copytree(place.root / "whole", kept / "whole")
        tally.faults[-1] += f" ({kept})"


def _killed(place: Place, here: Path, kill: Kill, tally: Tally, served_before: int) -> bool:
    """Start the run and kill it; whether it was still there to be killed."""
    asked_before = n_asked(place, here, served_before)
    share_left = 1 - n_answered(here) / place.n_needed
    process, began = started(place, here), time.monotonic()
    wait_s = kill.share * place.whole_s
    if kill.after != "start":
        while process.poll() is None and not (
            journal_of(here) if kill.after == "opened" else n_asked(place, here, served_before) > asked_before
        ):
            time.sleep(0.002)
        passed_s = place.opened_s if kill.after == "opened" else place.asked_s
        wait_s = time.monotonic() - began + kill.share * max((place.whole_s - passed_s) * share_left, _LEAST_S)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, wait_s - (time.monotonic() - began)))
    if process.poll() is not None:
        tally.late += 1
        return False
    tally.early += journal_of(here) is None
    process.send_signal(kill.how)
    tally.kills[kill.how.name] += 1
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        tally.faults.append(f"{kill.how.name} did not end a run within {END_S:g} s: {_said(here)}")
        process.kill()
        process.wait()
    return True


def _compare(place: Place, here: Path, tally: Tally, name: str) -> None:
    """What the life left, with what the unbroken run left; and with itself."""
    left = left_by(here)
    differing = sorted(file for file in left.keys() | place.left.keys() if left.get(file) != place.left.get(file))
    if differing:
        tally.faults.append(f"{name}: {', '.join(differing)} differ from the unbroken run's")
    journal = journal_of(here)
    if journal is not None and command(here, ["verify", str(journal.parent)]).wait(END_S) != 0:
        tally.faults.append(f"{name}: polymeter verify finds: {_said(here)}")


def _said(here: Path) -> str:
    return (here / "said").read_text()[-_SHOWN:]
