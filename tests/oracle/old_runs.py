"""Old run folders: how each was made, how it is packed and unpacked, and what is read from it to compare.

Nothing here imports Polymeter: a command runs as ``python -m polymeter`` does, and a run folder is read as files.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import runpy
import shutil
import sqlite3
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing, redirect_stdout
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

ORACLE = Path(__file__).parent
INPUTS = ORACLE / "inputs" / "guests"
PACKED = ORACLE / "runs"
HERE = "{HERE}"
CALLS = "calls.log"

_ASKED = ("--import", "asked.py", "--model", "oracle_asked")
_TASKS, _BENCH, _TABLES = (("--include-path", name) for name in ("tasks", "bench", "tables"))
_LMMS = ("--model", "lmms:oracle_lmms", "--model-path", "lmms_wrapper.py", "--model-args", "scale=3")
_ULM = ("--model", "ulm:OracleUlm", "--model-path", "ulm_wrapper.py", "--model-args", "shade=50")
_ALL = ("--tasks", "arithmetic,rounds,quiz,animals,shades,tones", *_TASKS, *_BENCH, *_TABLES)
_ALL_LMMS = ("--tasks", "sums,votes,choices,rounds", *_TASKS)
_ALL_ULM = ("--tasks", "animals,garden,shades,sums", *_TASKS, *_TABLES)
_CIRCULAR = ("--dialect-option", "tsv.circular=true")
_JUDGE = ("--judge", "mock", "--judge-args")


@dataclass(frozen=True)
class Kind:
    """How a run was made.

    Attributes:
        words: What follows ``polymeter run``; the run folder's name comes after.
        dies_at: The question at which the process is killed; ``None``: it ends.
        score: What follows ``polymeter score RUN``.
        packages: Packages whose versions the run rests on.
    """

    words: tuple[str, ...]
    dies_at: int | None = None
    score: tuple[str, ...] = ()
    packages: tuple[str, ...] = field(default=())


KINDS: Mapping[str, Kind] = {
    "finished": Kind((*_ASKED, *_ALL, *_CIRCULAR)),
    "killed": Kind((*_ASKED, *_ALL, *_CIRCULAR), dies_at=70),
    "killed_early": Kind((*_ASKED, *_ALL), dies_at=9),
    "unscored": Kind(
        (*_ASKED, *_JUDGE, "answer=A,failure=permanent,failure_rate=0.4", "--tasks", "judged", *_TASKS),
        score=(*_JUDGE, "answer=B"),
    ),
    "repeats": Kind(
        (*_ASKED, "--tasks", "votes,animals,shades", *_TASKS, *_TABLES, "--dialect-option", "tsv.num_generations=3")
    ),
    "repeats_killed": Kind(
        (*_ASKED, "--tasks", "votes,animals,shades", *_TASKS, *_TABLES, "--dialect-option", "tsv.num_generations=3"),
        dies_at=33,
    ),
    "generations": Kind((*_ASKED, "--tasks", "quiz,animals", *_BENCH, *_TABLES, "--gen-kwargs", "n=3,temperature=0.8")),
    "choices": Kind(("--model", "mock", "--tasks", "choices,quiz_choice", *_TASKS, *_BENCH)),
    "images": Kind(
        (
            *("--model", "shapes", "--tasks", "demo_t2i,demo_edit,garden,tones", *_TABLES),
            *("--limit", "3", "--gen-kwargs", "num_generations=2"),
        ),
        packages=("pillow", "opencv-python-headless", "scikit-image", "numpy"),
    ),
    "lmms": Kind((*_LMMS, *_ALL_LMMS)),
    "lmms_killed": Kind((*_LMMS, *_ALL_LMMS), dies_at=40),
    "own_prompts": Kind((*_ULM, *_ALL_ULM)),
    "own_prompts_killed": Kind((*_ULM, *_ALL_ULM), dies_at=17),
    "tiny": Kind(
        ("--model", "tiny_vlm", "--tasks", "demo_vlm", "--limit", "2"), packages=("torch", "transformers", "pillow")
    ),
}
STEPS = ("resume", "again", "score")


def words_of(kind: str, step: str) -> list[str]:
    """The command of a step: ``resume``, the first command ``again``, ``score``."""
    how = KINDS[kind]
    if step == "again":
        return ["run", *how.words, "--quiet", "--output", kind]
    return [step, kind, "--quiet", *(how.score if step == "score" else ())]


def folder_of(kind: str, step: str) -> str:
    """The run folder that a step writes."""
    if step != "score":
        return kind
    return f"{kind}-scored" if KINDS[kind].score else f"{kind}-rescored"


def environment(here: Path) -> dict[str, str]:
    """What commands find around them. Nothing but a question's number ever tells a process to die."""
    return {
        "COLUMNS": "200",
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "POLYMETER_CACHE_DIR": str(here / "cache"),
        "LMUData": str(here / "data"),
        "ORACLE_CALLS": str(here / CALLS),
        "ORACLE_DIES_AT": "-1",
    }


def carry_out(here: Path, kind: str, step: str) -> dict[str, str]:
    """Carry out a step in this process; gives what is compared of it, by label."""
    (here / CALLS).unlink(missing_ok=True)
    words = words_of(kind, step)
    if step == "score" and KINDS[kind].score:
        words += ["--output", folder_of(kind, step)]
    code, said = command(here, words)
    return {"exit code": str(code), "stdout": said, **read_run(here, folder_of(kind, step)), "calls": _calls(here)}


def command(here: Path, words: list[str]) -> tuple[int, str]:
    """Run a command line in this process, in a folder; its exit code and what it prints."""
    printed = io.StringIO()
    code = 0
    before = Path.cwd()
    os.chdir(here)
    try:
        with (
            mock.patch.dict(os.environ, environment(here)),
            mock.patch.object(sys, "argv", ["polymeter", *words]),
            redirect_stdout(printed),
        ):
            try:
                runpy.run_module("polymeter", run_name="__main__", alter_sys=False)
            except SystemExit as end:
                code = int(end.code or 0)
    finally:
        os.chdir(before)
    return code, _placeless(printed.getvalue(), here)


def read_run(here: Path, name: str) -> dict[str, str]:
    """What is compared of a run folder: results, samples, journal, artifacts, and what the page shows."""
    run = here / name
    results = run / "results.json"
    found = {"results": results.read_text(encoding="utf-8") if results.exists() else ""}
    for file in sorted((run / "samples").glob("*.jsonl")):
        found[f"samples {file.stem}"] = _timeless(_placeless(file.read_text(encoding="utf-8"), here))
    for label, rows in journal(run / "journal.db"):
        found[label] = _timeless(_placeless("\n".join(rows), here))
    artifacts = (path for path in (run / "artifacts").rglob("*") if path.is_file())
    found["artifacts"] = "\n".join(sorted(str(path.relative_to(run)) for path in artifacts))
    media = (path for path in (run / "media").rglob("*") if path.is_file())
    found["media"] = "\n".join(sorted(f"{path.name} {digest(path.read_bytes())}" for path in media))
    page = run / "report.html"
    if page.exists():
        text = _timeless(_placeless(page.read_text(encoding="utf-8"), here))
        found["page table"] = "\n".join(re.findall(r"<table.*?</table>|<li>.*?</li>", text, re.DOTALL))
        found["page data"] = "\n".join(re.findall(r'<script type="application/json".*?</script>', text, re.DOTALL))
    return found


def journal(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The tables of a journal as texts, in an order that does not depend on when rows were written."""
    queries = {
        "requests": "SELECT fingerprint, body FROM requests ORDER BY 1",
        "responses": (
            "SELECT t.name, sample, role, model, fingerprint, occurrence, turn, body FROM responses r"
            " JOIN tasks t ON t.id = r.task"
            " WHERE role != 'own_prompt' ORDER BY 1, 2, 3, 4, 5, 6"  # kept since; the base asked the model again
        ),
        "ends": (
            "SELECT t.name, sample, s.id, subset, cluster, status, error, doc, returned, seal FROM samples s"
            " JOIN tasks t ON t.id = s.task ORDER BY 1, 2"
        ),
        "scores": (
            "SELECT t.name, sample, digest, is_exact, body FROM scores s JOIN tasks t ON t.id = s.task ORDER BY 1, 2"
        ),
    }
    with closing(sqlite3.connect(path)) as db:
        for label, query in queries.items():
            yield f"journal {label}", [json.dumps(row, ensure_ascii=False) for row in db.execute(query)]


def answers(path: Path) -> set[tuple[Any, ...]]:
    """All answers of a journal with their times: one that is asked again differs."""
    with closing(sqlite3.connect(path)) as db:
        return set(
            db.execute(
                "SELECT t.name, sample, role, model, fingerprint, occurrence, body FROM responses r"
                " JOIN tasks t ON t.id = r.task"
            )
        )


def pack(here: Path, kind: str, expected: Mapping[str, Mapping[str, str]], raw: Mapping[str, bytes]) -> Path:
    """Write a run folder as it was before any step, and what came of each step, into one file."""
    PACKED.mkdir(exist_ok=True)
    versions = {name: metadata.version(name) for name in KINDS[kind].packages}
    contents = {f"run/{name}": content for name, content in raw.items()}
    contents["run/run.json"] = contents["run/run.json"].replace(str(here).encode(), HERE.encode())
    contents["versions.json"] = json.dumps(versions).encode()
    for step, labels in expected.items():
        whole = {label: digest(text.encode()) if _is_long(label) else text for label, text in labels.items()}
        contents[f"{step}.json"] = json.dumps(whole, ensure_ascii=False, indent=1).encode()
    target = PACKED / f"{kind}.tar.gz"
    with tarfile.open(target, "w:gz", compresslevel=9) as archive:
        for name, content in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return target


def unpack(here: Path, kind: str) -> dict[str, dict[str, str]]:
    """Put a run folder into a folder that holds the inputs, in place of what is there; what is expected of each step.

    Raises:
        LookupError: A package that the run rests on has another version here.
    """
    with tarfile.open(PACKED / f"{kind}.tar.gz") as archive:
        contents = {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]
    for name, version in json.loads(contents["versions.json"]).items():
        with contextlib.suppress(metadata.PackageNotFoundError):
            if metadata.version(name) == version:
                continue
        raise LookupError(f"{kind} was made with {name} {version}")
    for step in STEPS:
        shutil.rmtree(here / folder_of(kind, step), ignore_errors=True)
    for name, content in contents.items():
        if name.startswith("run/"):
            file = here / kind / name.removeprefix("run/")
            file.parent.mkdir(parents=True, exist_ok=True)
            is_manifest = name == "run/run.json"
            file.write_bytes(content.replace(HERE.encode(), str(here).encode()) if is_manifest else content)
    return {step: json.loads(contents[f"{step}.json"]) for step in STEPS}


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What differs, by label: expected and found."""
    shown = {label: digest(text.encode()) if _is_long(label) else text for label, text in found.items()}
    expected, shown = (
        {label: without_intervals(label, text) for label, text in one.items()} for one in (expected, shown)
    )
    labels = sorted({*expected, *shown})
    return {
        label: (expected.get(label, "<none>"), found.get(label, "<none>") if _is_long(label) else shown.get(label, ""))
        for label in labels
        if expected.get(label) != shown.get(label)
    }


_USAGE = '<th scope="col">Role</th><th scope="col">Model</th>'
_RULES = re.compile(r"Parts of this run read|The model was sent media by")


def without_intervals(label: str, text: str) -> str:
    """A text without what it says of intervals, which other methods compute than when the runs were made, and without
    what older versions did not say: the range of a number, what a task was scored with, the kinds of its failures, what
    requests took by role and model, and by which rules answers were read and media was sent, which also is in the
    digests of scores. Values and standard errors stay.
    """
    if label in ("journal ends", "journal scores"):
        return re.sub(r'"[0-9a-f]{32}', '"<digest>', text)
    if label == "stdout":
        text = re.sub(rf"^(?:{_RULES.pattern}) .*\n?", "", text, flags=re.MULTILINE)
    if label == "page table":
        text = re.sub(rf"\n?<li>(?:{_RULES.pattern}) .*", "", text)
    if label == "results" and text:
        document = json.loads(text)
        document.pop("usage_by_role", None)
        document["notes"] = [note for note in document["notes"] if not _RULES.match(note)]
        for holder in [*document["tasks"].values(), *document["groups"].values()]:
            for name in ("scorers", "failures", "n_failure_kinds"):
                holder.pop(name, None)
            for result in holder["results"]:
                for name in ("interval", "ci_method", "no_interval", "bounds"):
                    result.pop(name, None)
                if result.get("failed_members") == []:  # older versions did not say how many members a group has
                    result.pop("failed_members")
                    result.pop("n_members")
        return json.dumps(document, indent=1)
    if label == "stdout":
        return re.sub(r"^failed   .*?^see one  [^\n]*\n?", "", text, flags=re.DOTALL | re.MULTILINE)
    if label == "page table":
        text = re.sub(r"\n?<li>(?:\w+: )?[\d,]+ × .*?</li>", "", text)
        text = re.sub(rf"\n?<table>(?:(?!</table>).)*?{_USAGE}.*?</table>", "", text, flags=re.DOTALL)
        text = re.sub(r'<td role="cell" class="scale">.*?</td>', "", text, flags=re.DOTALL)
        # Since then the heading of intervals can be seen, and a filter stands where its column has no room.
        text = re.sub(r'(class="scale">\s*)(95 % interval)\n', r'\1<span class="unseen">\2</span>\n', text)
        text = re.sub(r'<span class="beside-metric">.*?</span>', "", text)
        return re.sub(r'(class="aside right stderr") title="[^"]*"', r"\1", text)
    return text


def digest(data: bytes) -> str:
    """A short digest."""
    return hashlib.sha256(data).hexdigest()[:16]


def _is_long(label: str) -> bool:
    """Whether a text is kept as its digest alone."""
    return label.startswith(("samples", "journal requests", "journal responses", "page data"))


def _calls(here: Path) -> str:
    """The questions that were asked; several at a time come in any order."""
    file = here / CALLS
    return "\n".join(sorted(file.read_text(encoding="utf-8").splitlines())) if file.exists() else ""


def _placeless(text: str, here: Path) -> str:
    return text.replace(str(here.resolve()), HERE).replace(str(here), HERE)


def _timeless(text: str) -> str:
    """A text without times, and without what older versions did not keep of an answer: the media that its request held,
    the key by which other runs find it, and the model that the endpoint stated.
    """
    text = re.sub(r',\\*"(?:content_key|served)\\*":\\*"[^"\\]*\\*"', "", text)
    text = re.sub(r',\\*"sent\\*":\{[^{}]*\}', "", text)
    return re.sub(r'(\\*"latency_ms\\*":)[0-9.e-]+', r"\g<1>0", text)
