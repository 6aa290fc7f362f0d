"""Prints how fast Polymeter is on this machine.

Usage: ``python -m benchmarks [--quick]``. Everything is measured from outside the process, start-up included.
``--quick`` leaves out the million documents.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import data, endpoint
from benchmarks.measure import best_of, measure, polymeter


def main() -> None:
    """Run every benchmark and print one line each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="leave out the million documents")
    is_quick = parser.parse_args().quick
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
    folder = Path(tempfile.mkdtemp(prefix="polymeter-bench-"))
    os.environ["POLYMETER_CACHE_DIR"] = str(folder / "cache")
    os.environ["HF_HOME"] = str(folder / "hf")
    try:
        print(f"Polymeter on {len(os.sched_getaffinity(0))} cores, whole processes, start-up included")
        startup(folder)
        index(folder)
        text(folder, 20_000)
        hooks(folder, 20_000)
        images(folder, 2_000)
        endpoints(folder)
        local_models()
        for n_docs in (10_000, 100_000) if is_quick else (10_000, 100_000, 1_000_000):
            memory(folder, n_docs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def startup(folder: Path) -> None:
    """``polymeter --help``."""
    fastest = best_of(5, "--help", cwd=folder)
    show("polymeter --help", f"{fastest.wall_s:.2f} s", "at most 0.3 s")


def index(folder: Path) -> None:
    """Index of 1,900 task files, cold and warm."""
    tasks = make_apart(data.many_yamls, folder / "many", 1_900)
    cold = polymeter("tasks", "--include-path", str(tasks), "indexed_1", cwd=folder)
    warm = best_of(3, "tasks", "--include-path", str(tasks), "indexed_1", cwd=folder)
    show("index of 1,900 YAML files", f"{cold.wall_s:.2f} s cold, {warm.wall_s:.2f} s warm", "at most 4 s and 1 s")


def text(folder: Path, n_docs: int) -> None:
    """Short text questions, a model that costs nothing, exact match, everything journaled; then resumed."""
    home = make_apart(data.text_task, folder / f"text{n_docs}", n_docs)
    run = folder / "run-text"
    words = ("run", "--model", "mock", "--tasks", str(home / "bench_text.yaml"), "--output", str(run), "--quiet")
    polymeter(*words, cwd=folder)
    fastest = best_of(3, *words, cwd=folder, fresh=run)
    show(
        f"{n_docs:,} text documents",
        f"{fastest.wall_s:.2f} s ({fastest.cpu_s:.2f} s CPU, {fastest.peak_mb:.0f} MB)",
        "at most 4 s",
    )
    resumed = best_of(3, "resume", str(run), "--quiet", cwd=folder)
    show("resume of that finished run", f"{resumed.wall_s:.2f} s", "at most 2 s")


def hooks(folder: Path, n_docs: int) -> None:
    """The same questions with Python hooks for prompt and score."""
    home = make_apart(data.hooks_task, folder / f"hooks{n_docs}", n_docs)
    run = folder / "run-hooks"
    words = ("run", "--model", "mock", "--tasks", str(home / "bench_hooks.yaml"), "--output", str(run), "--quiet")
    polymeter(*words, cwd=folder)
    fastest = best_of(3, *words, cwd=folder, fresh=run)
    show(f"{n_docs:,} text documents with Python hooks", f"{fastest.wall_s:.2f} s ({fastest.cpu_s:.2f} s CPU)", "–")


def images(folder: Path, n_docs: int) -> None:
    """One 640×480 JPEG per document, decoded for the model, compared with decoding alone."""
    home = make_apart(data.image_task, folder / "images", n_docs)
    run = folder / "run-images"
    alone = measure([sys.executable, "-c", data.decode_script(home)], cwd=folder)
    words = ("run", "--model", "mock", "--tasks", str(home / "bench_images.yaml"), "--output", str(run), "--quiet")
    polymeter(*words, cwd=folder)
    fastest = best_of(3, *words, cwd=folder, fresh=run)
    over_s = fastest.wall_s - alone.wall_s
    show(
        f"{n_docs:,} documents with a 640x480 JPEG",
        f"{fastest.wall_s:.2f} s, {over_s:+.2f} s over decoding alone ({fastest.peak_mb:.0f} MB)",
        "at most 3 s over decoding",
    )


def endpoints(folder: Path) -> None:
    """An endpoint that answers 2,000 requests, 64 at a time: Polymeter against the ideal and a bare client."""
    text = make_apart(data.text_task, folder / "endpoint-text", endpoint.N_REQUESTS) / "bench_text.yaml"
    image_task = make_apart(data.image_task, folder / "endpoint-images", endpoint.N_REQUESTS) / "bench_images.yaml"
    bare, ours = endpoint.through_bare_client, endpoint.through_polymeter
    calm = "2,000 x 100 ms"
    for name, weather, command, task, budget in (
        (f"{calm}, a bare client", endpoint.CALM, bare, text, ""),
        (f"{calm}, polymeter", endpoint.CALM, ours, text, "window at most 1.05 x, process 1.3 x"),
        ("stormy: 200 ms, 2 % 429, 1 % 500", endpoint.STORMY, ours, text, "window at most 1.15 x"),
        (f"{calm}, a 640x480 JPEG each", endpoint.CALM, ours, image_task, "window at most 1.08 x"),
    ):
        best = endpoint.best_window(weather, command, task, folder)
        whole = f"process {best.process.wall_s:.2f} s = {best.process.wall_s / best.ideal_s:.2f} x"
        cpu = f"{best.process.cpu_s:.2f} s CPU"
        show(name, f"window {best.window_s:.2f} s = {best.ratio:.3f} x ideal, {whole}, {cpu}", budget)


def local_models() -> None:
    """Checkpoints on this machine, in a separate process: otherwise torch would count in the memory of what follows."""
    subprocess.run([sys.executable, "-m", "benchmarks.local_models"], check=True)


def memory(folder: Path, n_docs: int) -> None:
    """Peak memory with a number of documents."""
    home = make_apart(data.text_task, folder / f"memory{n_docs}", n_docs)
    run = folder / f"run-memory{n_docs}"
    words = ("run", "--model", "mock", "--tasks", str(home / "bench_text.yaml"), "--output", str(run), "--quiet")
    process = polymeter(*words, cwd=folder)
    show(f"memory at {n_docs:,} documents", f"{process.peak_mb:.0f} MB in {process.wall_s:.1f} s", "at most 500 MB")
    shutil.rmtree(run, ignore_errors=True)


def make_apart(make: Callable[[Path, int], Path], folder: Path, n: int) -> Path:
    """Make data in a separate process.

    The peak memory that the system reports for a process includes that of the process that started it, so this one
    must stay small.
    """
    code = f"from pathlib import Path; from benchmarks import data; data.{make.__name__}(Path({str(folder)!r}), {n})"
    subprocess.run([sys.executable, "-c", code], check=True)
    return folder


def show(what: str, measured: str, budget: str) -> None:
    """Print one line."""
    print(f"  {what:<38} {measured:<66} budget: {budget}", flush=True)


if __name__ == "__main__":
    main()
