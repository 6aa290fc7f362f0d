"""Feed mutated input to everything that reads bytes that others wrote.

Each target takes cases from a small corpus and changes them at random: bits flip, pieces go, come twice or come in
great number, and words that mean something to the format are put in. A case may be read, or refused with one of
Polymeter's own errors. Everything else is a finding: another exception, a case that takes too long, a process that dies
or needs too much memory, and a damaged run whose results change without a word. Findings are kept as files.

    make fuzz                                        each target for ten minutes
    python -m scripts.fuzz --target yaml --seconds 60 --seed 1
    python -m scripts.fuzz --target yaml --case finding.bin   one case again
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import pickle
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import polymeter
from polymeter.core.errors import PolymeterError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.names.systems import systems
from polymeter.core.settings.scoring_limits import ScoringLimits
from scripts import fuzz_reading
from tests.helpers.openai_stub import OpenAIStub, Reply, chat
from tests.oracle.old_runs import INPUTS

ROOT = Path(__file__).parents[1]
MEMORY_MB = 6144
CASE_S = 60.0
MOST_BYTES = 2_000_000
LONGEST_ANSWER = 20_000
"""Longer ones are read in processes that are killed, which takes its time and finds nothing new."""

Run = Callable[[bytes], None]


@dataclass(frozen=True)
class Target:
    """What is fed.

    Attributes:
        corpus: Cases to begin with.
        words: Pieces that mean something to the format.
        run: Reads one case; raises on a finding.
    """

    corpus: Sequence[bytes]
    words: Sequence[bytes]
    run: Run


class Finding(Exception):
    """A case was read, but what came of it must not be."""


def main() -> int:
    """Feed the named targets; 0 without findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=[*TARGETS, "all"], default="all")
    parser.add_argument("--seconds", type=float, default=600, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"), help="where findings are kept")
    parser.add_argument("--case", type=Path, help="feed this file once")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is not None:
        with made(given.target) as target:
            target.run(given.case.read_bytes())
        return 0
    if given.child is not None:
        return child(given.target, given.seconds, given.seed, given.child)
    names = list(TARGETS) if given.target == "all" else [given.target]
    n_findings = 0
    for name in names:
        n_findings += fed(name, given.seconds, given.seed, given.findings)
    return 1 if n_findings else 0


def fed(name: str, seconds: float, seed: int, findings: Path) -> int:
    """Feed one target from a process that may die; prints a line; gives the number of findings."""
    began, n_cases, found = time.monotonic(), 0, Counter[str]()
    with tempfile.TemporaryDirectory(prefix="polymeter_fuzz_") as folder:
        here = Path(folder)
        while (left := seconds - (time.monotonic() - began)) > 0:
            words = ["--target", name, "--seconds", str(left), "--seed", str(seed + n_cases), "--child", folder]
            process = subprocess.Popen([sys.executable, "-m", "scripts.fuzz", *words], cwd=ROOT)
            why = watched(process, here / "case")
            n_cases += int((here / "count").read_text() or 0) if (here / "count").exists() else 0
            for report in here.glob("finding-*.txt"):
                kind = report.read_text().strip().splitlines()[-1][:100]
                found[kind] += 1
                keep(findings / name, report, report.with_suffix(".bin"), is_new=found[kind] == 1)
            if why and (here / "case").exists():
                found[why] += 1
                (here / "last.txt").write_text(why)
                keep(findings / name, here / "last.txt", here / "case", is_new=found[why] <= 5)
            for file in here.iterdir():
                file.unlink()
            if not why or not n_cases:
                break
    print(f"{name:10} {n_cases:7} cases, {sum(found.values()):4} findings of {len(found)} kinds", flush=True)
    for kind, count in found.most_common():
        print(f"    {count:5}  {kind}")
    return len(found)


def watched(process: subprocess.Popen[bytes], case: Path) -> str:
    """Wait for a child; why it did not end by itself, or nothing."""
    last, since = b"", time.monotonic()
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
        now = str(case.stat().st_mtime_ns).encode() if case.exists() else b""
        if now != last:
            last, since = now, time.monotonic()
        elif now and time.monotonic() - since > CASE_S:
            process.kill()
            process.wait()
            return f"took longer than {CASE_S:g} s"
    return "" if process.returncode == 0 else f"the process ended with status {process.returncode}"


def keep(folder: Path, report: Path, case: Path, *, is_new: bool) -> None:
    """Keep a finding, if it is the first of its kind."""
    if is_new:
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.glob("*.txt")))
        shutil.copy(report, folder / f"{number:03}.txt")
        shutil.copy(case, folder / f"{number:03}.bin")


def child(name: str, seconds: float, seed: int, here: Path) -> int:
    """Feed cases until the time is over; write each down before it is read."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MB << 20, MEMORY_MB << 20))
    logging.disable(logging.CRITICAL)
    chance, until, n_cases, n_found = random.Random(f"{name} {seed}"), time.monotonic() + seconds, 0, 0
    with made(name) as target, guest_context_with(limits=ScoringLimits(5, 1024)):
        while time.monotonic() < until:
            case = mutated(chance, target.corpus, target.words)
            (here / "case").write_bytes(case)
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    target.run(case)
            except PolymeterError:
                pass
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                (here / f"finding-{n_found}.txt").write_text(traceback.format_exc())
                (here / f"finding-{n_found}.bin").write_bytes(case)
                n_found += 1
            n_cases += 1
            (here / "count").write_text(str(n_cases))
    return 0


def mutated(chance: random.Random, corpus: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """A case of the corpus, changed a few times."""
    case = bytearray(chance.choice(corpus))
    for _ in range(chance.choice([1, 1, 2, 3, 6])):
        start = chance.randrange(len(case) + 1)
        end = min(len(case), start + chance.choice([1, 4, 16, 64, 512]))
        piece = bytes(case[start:end])
        match chance.randrange(8):
            case 0:
                case[start:end] = bytes(byte ^ (1 << chance.randrange(8)) for byte in piece[:1]) + piece[1:]
            case 1:
                del case[start:end]
            case 2:
                case[start:start] = piece
            case 3:
                case[start:start] = (piece or b"a") * chance.choice([10, 1000, 20_000])
            case 4:
                case[start:start] = chance.choice(words)
            case 5:
                case[start:end] = chance.choice(words)
            case 6:
                case[start:end] = chance.randbytes(len(piece))
            case _:
                other = chance.choice(corpus)
                case[start:] = other[chance.randrange(len(other) + 1) :]
    return bytes(case[:MOST_BYTES])


@contextlib.contextmanager
def made(name: str):  # type: ignore[no-untyped-def]
    """A target, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="polymeter_fuzz_target_") as folder, contextlib.ExitStack() as stack:
        yield TARGETS[name](Path(folder), stack)


def evaluated(task: Path, folder: Path, model: str = "mock", **more: object) -> object:
    """A short run, thrown away."""
    output = folder / "run"
    shutil.rmtree(output, ignore_errors=True)
    return polymeter.evaluate(model, [str(task)], output=output, cache_dir=folder / "cache", limit=2, **more)  # type: ignore[arg-type]


def of_yaml(folder: Path, _: contextlib.ExitStack) -> Target:
    """Task files: listed and run."""
    shutil.copytree(INPUTS / "tasks", folder / "tasks")
    corpus = [file.read_bytes() for file in sorted((INPUTS / "tasks").glob("*yaml"))]
    (folder / "tasks" / "other.yaml").write_text("task: other\ninclude: _base_yaml\ndoc_to_text: x\n")

    def run(case: bytes) -> None:
        file = folder / "tasks" / "case.yaml"
        # A hundred million repeats are run if that is what is written, and take their time.
        file.write_bytes(re.sub(rb"(repeats\W{0,4}\d{1,2})\d+", rb"\1", case))
        evaluated(file, folder)

    words = [
        b"&a ",
        b"*a",
        b"<<: *a\n",
        b"!function utils.score",
        b"!!python/object:os.system",
        b"{{",
        b"}}",
        b"{% for x in y %}",
    ]
    words += [
        b"null",
        b"~",
        b"1e999",
        b"- ",
        b": ",
        b"[",
        b"{",
        b"\x00",
        b"\xff",
        b"include: case.yaml\n",
        b"group: a\n",
    ]
    words += [
        b"repeats: 99999999\n",
        b"filter_list:\n",
        b"metric_list: 1\n",
        b"regex_pattern: '(a+)+$'\n",
        b"\xed\xa0\x80",
    ]
    return Target(corpus, words, run)


def of_tables(folder: Path, _: contextlib.ExitStack) -> Target:
    """Tables without a class, run."""
    corpus = [(INPUTS / "tables" / name).read_bytes() for name in ("animals.tsv", "garden.tsv", "tones.tsv")]

    def run(case: bytes) -> None:
        file = folder / "case.tsv"
        file.write_bytes(case)
        evaluated(file, folder)

    words = [
        b"\t",
        b"\n",
        b"\r",
        b'"',
        b"\x00",
        b"\xff",
        b"image",
        b"image_path",
        b"answer",
        b"index",
        b"/etc/passwd",
        b"[1",
        b"{}",
    ]
    words += [
        b"iVBORw0KGgo=",
        b"data:image/png;base64,",
        b"http://127.0.0.1:1/x.png",
        b"nan",
        b"1e999",
        b"\xed\xa0\x80",
        b"=1+1",
    ]
    return Target(corpus, words, run)


def of_answers(_: Path, stack: contextlib.ExitStack) -> Target:
    """Answers and verdicts: every way to read one."""
    from polymeter.judge import verdict
    from polymeter.metrics import chinese_speech, maths, option_letters, overlap, speech, text, vqa
    from polymeter.tasks.yaml.scoring.filters import multi_choice_regex, regex
    from polymeter.tasks.yaml.scoring.reasoning import strip_reasoning

    letters, options = list("ABCD"), dict(zip("ABCD", ("one", "two", "three", "four"), strict=True))
    ways: list[Callable[[str], object]] = [
        maths.extract_answer,
        lambda said: maths.math_equal(maths.strip_answer_string(said), r"\frac{1}{2}"),
        lambda said: maths.math_equal(said, "x^2+1"),
        lambda said: text.anls(["one"], [said]),
        lambda said: text.word_error_rate([said[::-1]], [said]),
        lambda said: overlap.rouge(overlap.segmented("one two"), overlap.segmented(said)),
        lambda said: overlap.distinct_rouge("one", said),
        option_letters.extract_mcq_answer,
        option_letters.parse_mcq,
        lambda said: option_letters.parse_mmmu_multi_choice_response(said, letters, options),
        lambda said: option_letters.parse_jmmmu_multi_choice_response(said, letters, options),
        lambda said: option_letters.parse_jmmmu_pro_multi_choice_response(said, letters),
        lambda said: speech.remove_sp(said, "en"),
        lambda said: speech.compute_wer(["one"], [said], "en"),
        speech.BasicTextNormalizer(),
        chinese_speech.normalize_nsw,
        vqa.EvalAIAnswerProcessor(),
        lambda said: vqa.relaxed_match(["5"], [said]),
        lambda said: regex()([said], {}),
        lambda said: multi_choice_regex()([said], {"choices": ["one", "two"]}),
        strip_reasoning,
        verdict.read_grade,
        verdict.read_rating,
        verdict.read_bit,
        verdict.read_yes_no,
        verdict.read_correctness,
    ]
    if any(system.name == "evalscope" for system in systems()):
        parsers = import_module("polymeter.interop.evalscope.tasks.scoring.parsers")
        ways += [
            parsers.ResponseParser.parse_first_option,
            lambda said: parsers.ResponseParser.parse_first_option_with_choices(said, letters),
            lambda said: parsers.lmsys_parser(said, "[[rating]]"),
            lambda said: parsers.lmsys_parser(said, "[[rating_a,rating_b]]"),
            parsers.ranking_parser,
        ]

    def run(case: bytes) -> None:
        said = case[:LONGEST_ANSWER].decode("utf-8", "surrogateescape" if case[:1] == b"s" else "replace")
        for way in ways:
            with contextlib.suppress(PolymeterError), guest_context_with(limits=ScoringLimits(1, 1024)):
                way(said)

    corpus = [
        b"The answer is (B).",
        rb"so \boxed{\frac{1}{2}}",
        b"<think>no</think> #### 42",
        b"Final grade: **A**",
        b"[[0.5]]",
        b"(x+1)^2",
    ]
    corpus += [
        "答案是 B，因为 2024年1月".encode(),
        b'[{"model": "model_a", "rank": 1}]',
        b"3.14%",
        b"twenty-one thousand",
        b"A. one\nB. two",
    ]
    words = [
        rb"\frac",
        rb"\sqrt",
        b"{",
        b"}",
        b"^",
        b"!",
        b"9" * 400,
        b"(",
        b")",
        b"\\text{",
        b"<think>",
        b"[[",
        b"Verdict: ",
        "年".encode(),
    ]
    words += [
        b"\x00",
        "\N{RIGHT-TO-LEFT OVERRIDE}".encode(),
        "\N{ARABIC-INDIC DIGIT THREE}".encode(),
        "²".encode(),
        b"1e400",
        b"nan",
        b"inf",
        b"-",
        b",",
        b"=",
        b"Answer: ",
        b"\xed\xa0\x80",
    ]
    return Target(corpus, words, run)


def of_journals(folder: Path, _: contextlib.ExitStack) -> Target:
    """Finished runs of which a file is damaged, resumed: the same results, or a word about it."""
    shutil.copytree(INPUTS / "tasks", folder / "tasks")
    first = evaluated(folder / "tasks" / "sums.yaml", folder)
    whole = measured(folder / "run" / "results.json")
    assert first is not None
    kept = folder / "kept"
    shutil.copytree(folder / "run", kept)

    def run(case: bytes) -> None:
        run_folder = folder / "again"
        shutil.rmtree(run_folder, ignore_errors=True)
        shutil.copytree(kept, run_folder)
        is_journal = case[:6] == b"SQLite"
        (run_folder / ("journal.db" if is_journal else "run.json")).write_bytes(case)
        for file in ("results.json", *(("journal.db-wal", "journal.db-shm") if is_journal else ())):
            (run_folder / file).unlink(missing_ok=True)
        result = polymeter.resume(run_folder)
        # What was damaged is asked for again, and a note says so: the results must be those of the whole run.
        if is_journal and result.exit_code == 0 and measured(run_folder / "results.json") != whole:
            raise Finding("The results of a damaged journal differ.")

    manifest = json.loads((kept / "run.json").read_text())
    manifest["status"] = "interrupted"
    corpus = [(kept / "journal.db").read_bytes(), json.dumps(manifest).encode()]
    return Target(corpus, [b"\x00", b"\xff" * 8, b"null", b"[]", b"{}", b'"', b"1e999", b"NaN", b"../../x"], run)


def measured(file: Path) -> object:
    """The content of a results file, but for its notes, and for what was paid: an answer that is asked for again is
    paid again, and of a damaged session nobody knows how many tries failed.
    """
    content = json.loads(file.read_text())
    return {key: value for key, value in content.items() if key not in ("notes", "usage", "usage_by_role")}


def of_pickles(_: Path, stack: contextlib.ExitStack) -> Target:
    """Pickles of prediction files: read by the restricted unpickler."""
    import numpy as np
    import pandas as pd

    from polymeter.data.pickles import read_pickle

    values = [
        {"a": [1, 2.5, "x"]},
        np.arange(6.0),
        pd.DataFrame({"index": [1, 2], "text": ["a", "b"]}),
        {1, 2},
        [b"x", None, True],
    ]
    corpus = [pickle.dumps(value, protocol) for value in values for protocol in (0, 2, 4, 5)]
    words = [
        b"cos\nsystem\n",
        b"cbuiltins\neval\n",
        b"(",
        b"R",
        b"b",
        b"\x81",
        b"\x92",
        b".",
        b"0",
        b"2",
        b"]",
        b"e",
        b"\x93",
        b"\x8c\x02os",
    ]
    words += [
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x96\xff\xff\xff\xff\xff\xff\xff\x0f",
        b"r\xff\xff\xff\x7f",
        b"j\xff\xff\xff\x7f",
    ]

    def run(case: bytes) -> None:
        read_pickle(case)

    return Target(corpus, words, run)


def of_bodies(folder: Path, stack: contextlib.ExitStack) -> Target:
    """Bodies of an endpoint's answers."""
    shutil.copytree(INPUTS / "tasks", folder / "tasks")
    body = b""
    stub = stack.enter_context(OpenAIStub(lambda received: Reply(body if received.raw else {"data": []})))
    stub._server.handle_error = lambda *_: None  # type: ignore[method-assign]
    os.environ["OPENAI_API_KEY"] = "x"

    def run(case: bytes) -> None:
        nonlocal body
        body = case
        stub.received.clear()
        task = folder / "tasks" / "sums.yaml"
        evaluated(task, folder, "openai:m", model_args={"base_url": stub.base_url}, max_retries=0)

    corpus = [json.dumps(chat("It is 4.")).encode(), json.dumps({"error": {"message": "no", "code": 3}}).encode()]
    words = [
        b"null",
        b"[]",
        b"{}",
        b'"',
        b"1e999",
        b"NaN",
        b"[" * 5000,
        b'{"a":' * 3000,
        b"\x00",
        b"\xff",
        b"\\ud800",
        b"-1",
        b"content",
    ]
    words += [b'"tool_calls": [{}],', b'"finish_reason": 7,', b'"choices": [{}],', b'"usage": {"prompt_tokens": "x"},']
    return Target(corpus, words, run)


def of_reading(_: Path, stack: contextlib.ExitStack) -> Target:
    """Answers whose choice is known, in random wrappings, and answers that choose nothing."""
    corpus = [case.encode() for case in (*fuzz_reading.ANNOUNCED, *fuzz_reading.NOTHING)]
    words = [case.encode() for case in (*fuzz_reading.BEFORE, *fuzz_reading.AFTER, *fuzz_reading.ALONE)]
    return Target(corpus, words, fuzz_reading.check)


TARGETS: dict[str, Callable[[Path, contextlib.ExitStack], Target]] = {
    "yaml": of_yaml,
    "tables": of_tables,
    "answers": of_answers,
    "reading": of_reading,
    "journal": of_journals,
    "pickles": of_pickles,
    "bodies": of_bodies,
}

if __name__ == "__main__":
    sys.exit(main())
