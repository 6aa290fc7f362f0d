"""Prints how fast Polymeter is on this machine.

Usage: ``python -m benchmarks [--quick] [--peers] [--only PART]… [--save FILE]``. Everything is measured from outside,
start-up included. ``--quick`` leaves out the million documents, ``--peers`` runs what is installed of other tools and
nothing else, and ``--save`` writes the raw numbers. ``--only honesty`` measures no speed: it prints how often the tests
and intervals of ``polymeter compare`` err.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import by_name, compare, data, endpoint, generated_images, leaderboard, lm_eval_tasks, rows, viewer
from benchmarks.book import Book
from benchmarks.measure import Measured, best_of, measure, polymeter
from benchmarks.media import measure_media
from benchmarks.replicas import measure_replicas


def main() -> None:
    """Run every benchmark and print one line each."""
    options = _options()
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
    folder = Path(tempfile.mkdtemp(prefix="polymeter-bench-"))
    os.environ["POLYMETER_CACHE_DIR"] = str(folder / "cache")
    os.environ["HF_HOME"] = str(folder / "hf")
    book = Book()
    try:
        print(f"Polymeter on {len(os.sched_getaffinity(0))} cores, whole processes, start-up included", flush=True)
        for name, run in PARTS.items():
            is_usual = name not in (*_PEERS, "honesty") and not (options.quick and "million" in name)
            if name in options.only or (not options.only and (name in _PEERS if options.peers else is_usual)):
                run(folder, book)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if options.save:
            book.save(options.save)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="leave out the million documents")
    parser.add_argument("--peers", action="store_true", help="run other tools that are installed beside Polymeter")
    parser.add_argument(
        "--only", action="append", choices=PARTS, default=[], help="run this part (several times: these)"
    )
    parser.add_argument("--save", type=Path, help="write the raw numbers into this JSON file")
    return parser.parse_args()


def replicas(folder: Path, book: Book) -> None:
    """What replicas cost the process of the run, and what a second one gains."""
    home = folder / "replicas"
    home.mkdir()
    measure_replicas(home, book)


def media(folder: Path, book: Book) -> None:
    """Frames of videos and 2,000 JPEGs, beside the plainest code that decodes them."""
    measure_media(folder, book)


def startup(folder: Path, book: Book) -> None:
    """``polymeter --help``."""
    fastest = best_of(5, "--help", cwd=folder)
    book.line("polymeter --help", f"{fastest.wall_s:.2f} s", "at most 0.3 s")


def index(folder: Path, book: Book) -> None:
    """Index of 1,900 task files, cold and warm."""
    tasks = make_apart(data.many_yamls, folder / "many", 1_900)
    cold = polymeter("tasks", "--include-path", str(tasks), "indexed_1", cwd=folder)
    warm = best_of(3, "tasks", "--include-path", str(tasks), "indexed_1", cwd=folder)
    book.line("index of 1,900 YAML files", f"{cold.wall_s:.2f} s cold, {warm.wall_s:.2f} s warm", "at most 4 s and 1 s")


def text(folder: Path, book: Book) -> None:
    """Text rows in every form with a model that costs nothing, beside a plain loop; then one run resumed."""
    n_docs = 20_000
    home = make_apart(data.text_forms, folder / f"text{n_docs}", n_docs)
    work = rows.our_work(home, n_docs)
    compared = rows.in_turn([*work, rows.plain_loop(home)], folder, n=5)
    loop_s = rows.medians(compared)["plain loop"]
    for name, runs in compared.items():
        times = f"{rows.medians({name: runs})[name]:.2f} s ({runs[0].cpu_s:.2f} s CPU, {runs[0].peak_mb:.0f} MB)"
        beside = f"{times}, {rows.medians({name: runs})[name] / loop_s:.0f} x the loop"
        book.line(f"{n_docs:,} text rows: {name}", beside, "at most 4 s" if name == "templates" else "", runs)
    resumed = [polymeter("resume", str(work[0].output), "--quiet", cwd=folder) for _ in range(3)]
    book.line("resume of a finished run", f"{min(one.wall_s for one in resumed):.2f} s", "at most 2 s", resumed)


def peers(folder: Path, book: Book) -> None:
    """Text rows in every form beside the peers that are installed, in turn.

    Raises:
        SystemExit: if none is installed.
    """
    for n_docs in (20_000, 2_000):
        _beside_peers(folder, book, n_docs)


def _beside_peers(folder: Path, book: Book, n_docs: int) -> None:
    home = make_apart(data.text_forms, folder / f"peers{n_docs}", n_docs)
    others = rows.peer_work(home)
    if not others:
        raise SystemExit("No peer is installed. Call: make bench-peers")
    compared = rows.in_turn([*rows.our_work(home, n_docs), *others], folder, n=5)
    times = rows.medians(compared)
    fastest = min(times[other.name] for other in others)
    for name, runs in compared.items():
        ratio = "" if name in rows.PEERS else f", {fastest / times[name]:.1f} x as fast as the fastest peer"
        book.line(f"{n_docs:,} text rows: {name}", f"{times[name]:.2f} s{ratio}", "", runs)


def peers_lm_eval(folder: Path, book: Book) -> None:
    """Tasks of lm-evaluation-harness beside itself, at its fastest batch size.

    Raises:
        SystemExit: if it is not installed.
    """
    root = Path(__file__).parents[1]
    if not (root / lm_eval_tasks.PYTHON).exists():
        raise SystemExit("lm-eval is not installed. Call: make bench-peers")
    home = make_apart(lm_eval_tasks.write, folder / "lm-eval", lm_eval_tasks.N_ROWS)
    for task in lm_eval_tasks.KINDS:
        tried = {
            size: lm_eval_tasks.theirs(root, home, task, lm_eval_tasks.scored(home, size), folder / "peer-lm")
            for size in lm_eval_tasks.BATCH_SIZES
        }
        found = {size: rows.in_turn([work], folder, n=1, n_warm=0)[work.name][0].wall_s for size, work in tried.items()}
        best = min(found, key=found.__getitem__)
        mine = lm_eval_tasks.ours(home, task, lm_eval_tasks.scored(home, 32), folder / "run-lm")
        told = f"500 five-shot questions, {task.removeprefix('bench_')}, lm-eval at batch size {best}"
        _beside_lm_eval(told, mine, tried[best], folder, book, "at least 3 x")
    for task, (what, words) in lm_eval_tasks.COSTS_NOTHING.items():
        mine = lm_eval_tasks.ours(home, task, words, folder / "run-lm")
        other = lm_eval_tasks.theirs(root, home, task, words, folder / "peer-lm")
        _beside_lm_eval(f"{what}, a model that costs nothing", mine, other, folder, book, "at least 8 x")


def _beside_lm_eval(told: str, mine: rows.Work, other: rows.Work, folder: Path, book: Book, budget: str) -> None:
    compared = rows.in_turn([mine, other], folder, n=3, n_warm=0)  # the median has its caches filled
    times = rows.medians(compared)
    ratio = times[other.name] / times[mine.name]
    line = f"{times[mine.name]:.2f} s, lm-eval {times[other.name]:.2f} s: {ratio:.1f} x as fast"
    book.line(told, line, budget, [*compared[mine.name], *compared[other.name]])


def names(folder: Path, book: Book) -> None:
    """Benchmarks of installed packages, listed and searched: the first time, and when their files are known.

    Raises:
        SystemExit: if a package is not installed.
    """
    packages = by_name.gather(Path(__file__).parents[1], folder / "packages")
    for words, (first, later) in by_name.measured(packages, folder).items():
        told = f"{later.wall_s:.2f} s ({later.cpu_s:.2f} s CPU), the first time {first.wall_s:.2f} s"
        book.line(f"polymeter tasks {words}", told, "at most 3 s", [first, later])


def images(folder: Path, book: Book) -> None:
    """One 640×480 JPEG per document, decoded for the model, compared with decoding alone."""
    n_docs = 2_000
    home = make_apart(data.image_task, folder / "images", n_docs)
    alone = min((measure([sys.executable, "-c", data.decode_script(home)], cwd=folder) for _ in range(3)), key=by_wall)
    words = ("run", "--model", "mock", "--tasks", str(home / "bench_images.yaml"), "--quiet", "--output")
    # Each in a folder of its own, all kept: ext4 is slow to give out the inodes of files that were just removed.
    runs = [polymeter(*words, str(folder / f"run-images-{number}"), cwd=folder) for number in range(4)]
    fastest = min(runs[1:], key=by_wall)  # the first has computed what later ones find
    beside = f"{fastest.wall_s:.2f} s = {fastest.wall_s / alone.wall_s:.2f} x decoding on one thread"
    told = f"{beside} ({fastest.peak_mb:.0f} MB)"
    book.line(f"{n_docs:,} documents with a 640x480 JPEG", told, "at most 0.7 x, 300 MB", [fastest, alone])


def generated(folder: Path, book: Book) -> None:
    """Generated images of 512×512, stored without loss, beside a loop that saves each with Pillow."""
    home = folder / "generated"
    home.mkdir()
    n = 2_000
    costs = generated_images.measured(home, n)
    by_hand, ours = costs.saved.wall_s - costs.made.wall_s, costs.stored.wall_s - costs.made.wall_s
    beside = costs.stored_beside.wall_s - costs.made_slowly.wall_s
    told = f"{ours / n * 1000:.1f} ms each, start-up included; saved by a loop {by_hand / n * 1000:.1f} ms"
    told += f"; beside a model that computes {beside / n * 1000:.1f} ms ({costs.stored.peak_mb:.0f} MB)"
    processes = [costs.stored, costs.saved, costs.made, costs.stored_beside, costs.made_slowly]
    book.line(f"{n:,} generated images of 512x512", told, "at most 8 ms", processes)


def endpoints(folder: Path, book: Book) -> None:
    """An endpoint that answers 2,000 requests, 64 at a time: Polymeter against the ideal and a bare client; and the
    processor time of a request with an image.
    """
    text = make_apart(data.text_task, folder / "endpoint-text", endpoint.N_REQUESTS) / "bench_text.yaml"
    alone = {"polymeter": endpoint.through_polymeter}
    both = {"a bare client": endpoint.through_bare_client, **alone}
    for weather_name, weather, commands, budget in (
        ("2,000 x 100 ms", endpoint.CALM, both, "window 1.05 x, process 1.25 x, 0.8 ms CPU a request"),
        ("stormy: 200 ms, 2 % 429, 1 % 500", endpoint.STORMY, alone, "window 1.15 x"),
    ):
        for name, windows in endpoint.windows_of(weather, commands, text, folder, n=2).items():
            best = min(windows, key=lambda window: window.window_s)
            cpu_s = statistics.median(window.process.cpu_s for window in windows)
            whole = f"process {best.process.wall_s:.2f} s = {best.process.wall_s / best.ideal_s:.2f} x"
            cost = f"{1e3 * cpu_s / best.answered:.2f} ms CPU a request, {best.process.peak_mb:.0f} MB"
            window = f"window {best.window_s:.2f} s = {best.ratio:.3f} x ideal"
            told = budget if name == "polymeter" else ""
            line = f"{window}, {whole}, {cost}"
            book.line(f"{weather_name}, {name}", line, told, [window.process for window in windows])
    images = make_apart(data.image_task, folder / "endpoint-images", endpoint.N_COSTED) / "bench_images.yaml"
    clients = {"httpx": endpoint.through_httpx, "aiohttp": endpoint.through_bare_client}
    costs = endpoint.costs_ms({"polymeter": endpoint.without_report, **clients}, images, folder, n=2)
    ours = costs.pop("polymeter")
    beside = ", ".join(f"{ours / theirs:.2f} x {name} ({theirs:.2f} ms)" for name, theirs in costs.items())
    book.line("a request with a 640x480 JPEG", f"{ours:.2f} ms CPU, {beside}", "at most 2 x httpx")


def local_models(folder: Path, book: Book) -> None:
    """Checkpoints on this machine, in a separate process: otherwise torch would count in the memory of what follows."""
    lines = folder / "local_models.json"
    subprocess.run([sys.executable, "-m", "benchmarks.local_models", str(lines)], check=True)
    book.take(lines)


def comparison(folder: Path, book: Book) -> None:
    """Two runs of 100,000 samples compared, as a table and as a page."""
    n_docs = 100_000
    home = make_apart(compare.two_runs, folder / "compared", n_docs)
    runs = [str(folder / f"run-{name}") for name in ("first", "second")]
    for name, run in zip(("first", "second"), runs, strict=True):
        answers = f"answers={home / name}.json"
        words = ("run", "--model", "mock", "--model-args", answers, "--tasks", str(home / "bench_text.yaml"))
        polymeter(*words, "--output", run, "--quiet", cwd=folder)
    fastest = best_of(3, "compare", *runs, cwd=folder)
    told = f"{fastest.wall_s:.2f} s ({fastest.cpu_s:.2f} s CPU, {fastest.peak_mb:.0f} MB)"
    book.line(f"compare of two runs of {n_docs:,} samples", told, "at most 5 s", [fastest])
    page = polymeter("compare", *runs, "--output", "page.html", cwd=folder)
    book.line("the same with a page", f"{page.wall_s:.2f} s ({page.cpu_s:.2f} s CPU)", "", [page])


def reporting(folder: Path, book: Book) -> None:
    """The HTML report of 10,000 samples with an image each: as many as fit 20 MB, and all of them."""
    n_docs = 10_000
    home = make_apart(data.image_task, folder / "reported", n_docs)
    run = folder / "run-reported"
    words = ("run", "--model", "mock", "--tasks", str(home / "bench_images.yaml"))
    polymeter(*words, "--output", str(run), "--quiet", cwd=folder)
    for name, asked, budget in (
        ("report of 10,000 samples with images", (), "at most 10 s"),
        ("the same with all of them in it", ("--report-samples", "all"), ""),
    ):
        fastest = best_of(3 if budget else 1, "report", str(run), *asked, cwd=folder)
        size = (run / "report.html").stat().st_size / 1e6
        spent = f"{fastest.wall_s:.2f} s ({fastest.cpu_s:.2f} s CPU, {fastest.peak_mb:.0f} MB)"
        book.line(name, f"{spent}, a file of {size:.0f} MB", budget, [fastest])
    shutil.rmtree(home)
    shutil.rmtree(run)


def ranking(folder: Path, book: Book) -> None:
    """A leaderboard of 200 runs with 1 and with 20 tasks each."""
    n_runs, n_docs = 200, 250
    for n_tasks in (1, 20):
        home = folder / f"ranked{n_tasks}"
        leaderboard.many_runs(home, n_runs, n_tasks, n_docs)
        for words in ((), ("--output", "page.html")):
            fastest = best_of(3, "leaderboard", "runs", *words, cwd=home)
            told = f"{fastest.wall_s:.2f} s ({fastest.cpu_s:.2f} s CPU, {fastest.peak_mb:.0f} MB)"
            page = " with a page" if words else ""
            book.line(f"leaderboard of {n_runs} runs, tasks: {n_tasks}{page}", told, "at most 2 s", [fastest])


def viewing(folder: Path, book: Book) -> None:
    """Pages of the viewer: over 200 runs, a sample with an image, and a run of a million samples."""
    home = folder / "viewed"
    leaderboard.many_runs(home, 200, 1, 250)
    with viewer.serving(home / "runs") as server:
        first, again = server.ms("/"), server.median_ms("/")
        told = f"{first:.0f} ms, then {again:.0f} ms (start of the server {server.started_s:.2f} s)"
        book.line("viewer: first page over 200 runs", told, "at most 300 ms")
        # Each request ends after a while; a run whose index is still made is asked for again.
        began = time.perf_counter()
        n_requests = server.n_of_search("/search?q=prompt")
        took_ms = 1000 * (time.perf_counter() - began)
        again = server.median_ms("/search?q=prompt")
        told = f"{took_ms:.0f} ms in {n_requests} requests with all indexes to make, then {again:.0f} ms for a request"
        book.line("viewer: a search over 200 runs", told, "at most 1 s for a request")
    tasks = make_apart(data.image_task, folder / "viewed-images", 200)
    run = folder / "viewed-image-runs" / "run"
    polymeter("run", "--model", "mock", "--tasks", str(tasks / "bench_images.yaml"), "--output", str(run), cwd=folder)
    with viewer.serving(run.parent) as server:
        server.ms("/run/run/samples")
        slowest = max(server.median_ms(f"/run/run/sample?index={index}", 3) for index in (0, 77, 199))
        book.line("viewer: a sample with an image", f"{slowest:.0f} ms", "at most 200 ms")


def viewing_million(folder: Path, book: Book) -> None:
    """A run of a million samples: its index, a page of them, filters, and what the server keeps."""
    n_docs = 1_000_000
    tasks = make_apart(data.text_task, folder / f"memory{n_docs}", n_docs)
    run = folder / "viewed-million" / "run"
    words = ("run", "--model", "mock", "--tasks", str(tasks / "bench_text.yaml"), "--output", str(run), "--quiet")
    polymeter(*words, cwd=folder)
    with viewer.serving(run.parent) as server:
        took_s = server.wait_for("/run/run/samples")
        book.line(f"viewer: index of {n_docs:,} samples, once", f"{took_s:.1f} s in a process beside the server")
        page = max(server.median_ms(f"/run/run/samples?page={number}") for number in (1, 10_000, 20_000))
        book.line(f"viewer: a page of {n_docs:,} samples", f"{page:.0f} ms", "at most 200 ms")
        for said, query in viewer.FILTERS.items():
            # Each time another filter, since the last few selections are kept.
            times = [server.ms(f"/run/run/samples?{query.format(n)}") for n in range(3)]
            book.line(f"viewer: {said}", f"{statistics.median(times):.0f} ms", "at most 500 ms")
        step = server.median_ms("/run/run/sample?index=500000&state=wrong")
        book.line(f"viewer: a sample of {n_docs:,}", f"{step:.0f} ms", "at most 200 ms")
        memory_mb = [server.own_mb()]
        for start in (0, 200):
            for number in range(start, start + 200):
                server.ms(f"/run/run/samples?page={1 + 40 * number}")
            memory_mb.append(server.own_mb())
        told = "{:.0f} MB, then after 200 pages each {:.0f} and {:.0f} MB".format(*memory_mb)
        book.line("viewer: memory of the server", told, "flat")
    shutil.rmtree(run, ignore_errors=True)


def honesty(folder: Path, book: Book) -> None:
    """How often the tests and intervals of a comparison err, by simulation."""
    from benchmarks.honesty import honesty as simulate

    simulate(book)


def memory(folder: Path, book: Book) -> None:
    """Peak memory and time with more and more documents."""
    for n_docs in (10_000, 100_000):
        _memory(folder, book, n_docs)


def million(folder: Path, book: Book) -> None:
    """The same with a million."""
    _memory(folder, book, 1_000_000)


def _memory(folder: Path, book: Book, n_docs: int) -> None:
    home = make_apart(data.text_task, folder / f"memory{n_docs}", n_docs)
    run = folder / f"run-memory{n_docs}"
    words = ("run", "--model", "mock", "--tasks", str(home / "bench_text.yaml"), "--output", str(run), "--quiet")
    process = polymeter(*words, cwd=folder)
    spent = f"{process.peak_mb:.0f} MB in {process.wall_s:.1f} s = {1e6 * process.wall_s / n_docs:.0f} µs each"
    book.line(f"memory at {n_docs:,} documents", spent, "at most 300 MB", [process])
    shutil.rmtree(run, ignore_errors=True)


def make_apart(make: Callable[[Path, int], object], folder: Path, n: int) -> Path:
    """Make data in a separate process.

    The peak memory that the system reports for a process includes that of the process that started it, so this one
    must stay small.
    """
    module = make.__module__
    code = f"from pathlib import Path; import {module} as made; made.{make.__name__}(Path({str(folder)!r}), {n})"
    subprocess.run([sys.executable, "-c", code], check=True)
    return folder


def by_wall(process: Measured) -> float:
    """The wall time of a process, as a key."""
    return process.wall_s


_PEERS = ("peers", "peers_lm_eval", "names")
"""Parts that need other tools, which ``--peers`` runs alone."""
PARTS: dict[str, Callable[[Path, Book], None]] = {
    part.__name__: part
    for part in (
        startup,
        index,
        text,
        peers,
        peers_lm_eval,
        names,
        images,
        generated,
        endpoints,
        local_models,
        media,
        replicas,
        comparison,
        reporting,
        ranking,
        viewing,
        memory,
        million,
        viewing_million,
        honesty,
    )
}


if __name__ == "__main__":
    main()
