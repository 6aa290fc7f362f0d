"""The command: live until enough kills have happened, and print the table."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Mapping

from scripts import soak
from scripts.soak.kinds import KINDS
from scripts.soak.lives import Tally, kills_of_life, live
from scripts.soak.places import opened


def main() -> int:
    """Soak; 0 if nothing was lost or asked twice."""
    parser = argparse.ArgumentParser(description=soak.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200, help="kills, shared evenly among the kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", default=[""], metavar="WORDS", help="only kinds whose name contains one")
    parser.add_argument("--list", action="store_true", help="print the names of the kinds")
    given = parser.parse_args()
    if given.list:
        print(*KINDS, sep="\n")
        return 0
    for words in given.kinds:
        if not any(words in name for name in KINDS):
            parser.error(f"no kind's name contains {words!r}: --list prints them")
    names = [name for name in KINDS if any(words in name for words in given.kinds)]
    tallies = {name: Tally() for name in names}
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:  # what has happened is reported
        places = {name: stack.enter_context(opened(KINDS[name])) for name in names}
        while sum(tally.kills.total() for tally in tallies.values()) < given.n:
            name = min(names, key=lambda name: tallies[name].kills.total())
            tally = tallies[name]
            kills = kills_of_life(given.seed, name, tally.lives)
            live(places[name], tally, kills, f"{name}, life {tally.lives}")
            print(f"{name}: {tally.kills.total()} kills, {len(tally.faults)} faults", file=sys.stderr, flush=True)
    return report(tallies, given.seed)


def report(tallies: Mapping[str, Tally], seed: int) -> int:
    """Print the table as Markdown, and the faults; 0 if there is none."""
    print("| kind | SIGKILL | SIGTERM | before its folder | while asking | after its end | sent again | faults |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, tally in tallies.items():
        numbers = (tally.kills["SIGKILL"], tally.kills["SIGTERM"], tally.early, tally.asking, tally.late)
        print("|", " | ".join(map(str, (name, *numbers, tally.repeated, len(tally.faults)))), "|")
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    print(*faults, sep="\n")
    total = sum(tally.kills.total() for tally in tallies.values())
    print(f"{total} kills (seed {seed}): {len(faults)} faults.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
