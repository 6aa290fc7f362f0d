"""Groups of published tasks: what the suites share that compare the numbers a group makes of its members'."""

from __future__ import annotations

import fnmatch
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.comparing import Expected, Observations, compare, print_comparison
from conformance.frame import MODELS, read_observations, run_child


def copy_rows(sources: Sequence[Path], target: Path, n_rows: int) -> None:
    """Write the first rows of each split; what several members read of one dataset stands together.

    Args:
        sources: Folders of rows, a Parquet file for each split.
        target: The folder to write.
        n_rows: How many rows of each source.
    """
    import pyarrow
    from pyarrow import parquet

    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    splits: dict[str, list[pyarrow.Table]] = {}
    for source in sources:
        for file in sorted(source.glob("*.parquet")):
            splits.setdefault(file.name, []).append(parquet.read_table(file).slice(0, n_rows))
    for name, tables in splits.items():
        whole = tables[0] if len(tables) == 1 else pyarrow.concat_tables(tables, promote_options="default")
        parquet.write_table(whole, target / name)


@dataclass(frozen=True)
class GroupSuite:
    """Groups of one tool, compared in its environment.

    Attributes:
        name: The tool's name, as ``--parity`` has it.
        module: The driver: ``members`` writes what each group needs, ``original`` and ``ours`` run the groups.
        work: The folder for rows, observations and logs.
        python: The interpreter of the tool's environment.
        variables: Environment variables of the drivers.
        expected: Differences that have a row.
        least: How many groups have to be compared.
        models: Who answers the members.
        tolerance: How far apart equal numbers may be, relative to them.
    """

    name: str
    module: str
    work: Path
    python: Path
    variables: Mapping[str, str]
    expected: Sequence[Expected]
    least: int
    models: Sequence[str] = MODELS
    tolerance: float = 1e-12

    def run(self, only: str, parity: str) -> bool:
        """Compare the numbers of groups; whether all are equal or have their row.

        Args:
            only: Glob of groups.
            parity: ``on``, ``off`` or ``both``.
        """
        file = self.work / "groups.json"
        if not self._ran("members", "groups", "--only", only):
            print(f"groups could not be prepared: see {self.work / 'groups.log'}")
            return False
        groups = json.loads(file.read_text(encoding="utf-8"))
        groups = {name: group for name, group in groups.items() if fnmatch.fnmatchcase(name, only)}
        if not groups:
            return only != "*"
        file.write_text(json.dumps(groups), encoding="utf-8")
        theirs = self._observed("original", "original")
        is_good = True
        for switched in [mode for mode in ("off", "on") if parity in (mode, "both")]:
            ours = self._observed("ours", f"ours-{switched}", *(["--parity"] if switched == "on" else []))
            rules = [rule for rule in self.expected if switched == "off" or rule.stays]
            made = compare(theirs, ours, rules, models_of=lambda _group: self.models, tolerance=self.tolerance)
            made.same_for_all_models.clear()  # what tells the models apart are the members
            title = f"groups, {f'with --parity {self.name}' if switched == 'on' else 'without --parity'}"
            is_good = print_comparison(made, title, self.least if only == "*" else 1) and is_good
            n_members = sum(len(groups[name]["members"]) for name in made.tasks)
            print(f"  {', '.join(sorted(made.tasks))}: {n_members} members")
        return is_good

    def _ran(self, what: str, label: str, *more: str) -> bool:
        words = [what, "--work", str(self.work), "--groups", str(self.work / "groups.json"), *more]
        log = self.work / f"{label}.log"
        return run_child(self.python, self.module, words, environment=self.variables, log=log) == 0

    def _observed(self, what: str, label: str, *more: str) -> Observations:
        out = self.work / f"groups-{label}.jsonl"
        self._ran(what, f"groups-{label}", "--out", str(out), *more)
        return read_observations(out)
