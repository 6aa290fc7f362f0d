"""A fake ``polymeter.api``: records how it is called, so that the commands are tested without an engine."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from polymeter.api.result import RunResult
from polymeter.core.errors import PlanError, Problem
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.names.registries import AGGREGATIONS, METRICS, MODELS
from polymeter.run.plan.named_paths import NamedTasks
from polymeter.store.folder import RunFolder

RESULTS = {
    "schema_version": 1,
    "status": "complete",
    "model": "mock",
    "tasks": {
        "t": {
            "alias": "Title",
            "version": "1",
            "num_fewshot": 0,
            "n_samples": 4,
            "n_scored": 3,
            "statuses": {"ok": 3, "error": 1},
            "n_length": 0,
            "n_nondeterministic": 0,
            "results": [{"metric": "acc", "filter": "none", "subset": [], "value": 0.75, "n": 3, "stderr": 0.25}],
        }
    },
    "groups": {},
    "layout": [["task", "t", 0]],
    "notes": [],
}


@dataclass
class FakeResult:
    folder: RunFolder
    results: dict[str, Any]
    status: str = "complete"
    exit_code: int = 0
    reason: str = ""
    is_strict: bool = False
    n_failed: int = 0
    missed: tuple[str, ...] = ()
    logged: tuple[object, ...] = ()
    published: None = None
    incomplete: tuple[str, ...] = ()
    document = RunResult.document

    @property
    def report(self) -> Path:
        return self.folder.report


@dataclass
class FakeApi:
    """What the commands were told, and what they are to get."""

    folder: Path
    calls: list[dict[str, Any]] = field(default_factory=list)
    status: str = "complete"
    exit_code: int = 0
    reason: str = ""
    has_results: bool = True
    error: BaseException | None = None
    problems: list[Problem] = field(default_factory=list)
    catalog: Catalog = field(default_factory=Catalog)

    def _result(self) -> FakeResult:
        if self.error is not None:
            raise self.error
        self.folder.mkdir(exist_ok=True)
        (self.folder / "report.html").write_text("page")
        (self.folder / "results.json").write_text(json.dumps(RESULTS))
        results = RESULTS if self.has_results else {}
        return FakeResult(RunFolder(self.folder), results, self.status, self.exit_code, self.reason)

    def evaluate(self, model, tasks, *, progress, **rest):
        self.calls.append({"model": model, "tasks": tasks, **rest})
        progress.stage("planning")
        progress.begin(4, 0)
        progress.advance(4, 1, 12)
        progress.note("one note")
        progress.end()
        return self._result()

    def resume(self, path, *, progress, **options):
        self.calls.append({"path": path, **options})
        return self._result()

    def build_catalog(self, include_paths=(), cache_dir=None):
        self.calls.append({"include_paths": include_paths})
        return self.catalog

    def named_tasks(self, names, include_paths=(), cache_dir=None, parity=None):
        self.build_catalog(include_paths)
        return NamedTasks(tuple(names), tuple(include_paths), self.catalog)

    def check_path(self, path, include_paths=(), parity=None):
        return self.problems

    def describe_task(self, name, include_paths=()):
        return [("task", name, Path("/lib/ocr.yaml")), ("output_type", "generate_until", Path("/lib/_base.yaml"))]

    def outline_tasks(self, catalog, entries):
        return iter(())

    def flatten_task(self, name, include_paths=()):
        if name not in self.catalog.entries:
            raise PlanError(f"There is no task {name!r}.", hint="Did you mean 'ocr_a'?")
        return f"task: {name}\n"


@pytest.fixture
def api(monkeypatch, tmp_path) -> FakeApi:
    monkeypatch.chdir(tmp_path)
    catalog = Catalog()
    for entry in (
        Entry("reading", "group", "task_yaml", Path("/lib/reading.yaml"), alias="Reading", members=("ocr_a", "ocr_b")),
        Entry("ocr_a", "task", "task_yaml", Path("/lib/ocr.yaml"), alias="First", tags=("fast",)),
        Entry("ocr_b", "task", "task_yaml", Path("/lib/b.yaml")),
        Entry("mine", "task", "task_yaml", Path("/home/mine.yaml"), is_user=True, tags=("fast",)),
    ):
        catalog.add(entry)
    fake = FakeApi(tmp_path / "runs", catalog=catalog)
    module = ModuleType("polymeter.api")
    names = ("evaluate", "resume", "build_catalog", "named_tasks", "check_path", "describe_task", "flatten_task")
    for name in (*names, "outline_tasks"):
        setattr(module, name, getattr(fake, name))
    monkeypatch.setitem(sys.modules, "polymeter.api", module)
    return fake


@pytest.fixture(autouse=True)
def _registrations_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test registers under a name is nothing to the next."""
    for registry in (MODELS, METRICS, AGGREGATIONS):
        monkeypatch.setattr(registry, "_users", dict(registry._users))
