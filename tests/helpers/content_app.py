"""What the viewer shows of one sample and of one task, on pages of nothing else: to look at it and to drive it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from polymeter.core.records.stored_samples import model_outputs, named, numbers_of, tokens_of
from polymeter.report.content import BlockView, RunMedia, blocks
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import open_folder
from polymeter.store.media import media_path
from polymeter.viewer.plots import columns_of_index, plots_of
from polymeter.viewer.plots.choice_columns import ChoiceColumns
from polymeter.viewer.plots.columns import COUNTS

CSP = (
    "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; font-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/base.css"><link rel="stylesheet" href="/static/content.css">
<link rel="stylesheet" href="/static/vendor/uplot/uPlot.min.css"><link rel="stylesheet" href="/static/plots.css">
<link rel="stylesheet" href="/static/breakdown.css">
<script src="/static/vendor/uplot/uPlot.iife.min.js" defer></script>
<script src="/static/content.js" defer></script><script src="/static/plots.js" defer></script></head>
<body><main><h1>$title</h1><h2>Content</h2>$body</main></body></html>"""


@lru_cache(maxsize=1)
def environment() -> Any:
    """The templates of the viewer, as its server has them."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader("polymeter.viewer"), PackageLoader("polymeter.report")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


class SampleIndex:
    """The columns of samples that plots read, made in memory."""

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        choices = ChoiceColumns()
        subsets: dict[str, int] = {}
        scores: dict[str, list[float]] = {}
        counts: dict[str, list[float]] = {name: [] for name in COUNTS}
        codes = []
        for place, sample in enumerate(samples):
            choices.add(sample)
            subset = "/".join(map(str, sample["subset"]))
            codes.append(subsets.setdefault(subset, len(subsets)) if subset else -1)
            for key, value in numbers_of(sample).items():
                scores.setdefault(named(*key), [float("nan")] * len(samples))[place] = value
            texts = [len(output["text"]) for output in model_outputs(sample) if output.get("text") is not None]
            tokens = tokens_of(sample)
            waits = [exchange["response"].get("latency_ms") for exchange in sample["exchanges"]]
            counts["answer_chars"].append(sum(texts) if texts else -1)
            counts["output_tokens"].append(tokens[1] if tokens else -1)
            counts["latency_ms"].append(sum(wait or 0.0 for wait in waits) if any(waits) else float("nan"))
        columns = {"subset": codes, **counts, **{f"score:{name}": values for name, values in scores.items()}}
        self._columns = {name: np.asarray(values) for name, values in {**columns, **choices.arrays()}.items()}
        self.n = len(samples)
        self.facts = {"subsets": subsets, "metrics": scores, **choices.facts()}

    def column(self, name: str) -> Any:
        """A column."""
        return self._columns[name]


def page_of_sample(run: Path, task: str, number: int, media: str = "") -> str:
    """A page with the blocks of one sample; ``media``: a slash and the name of its run, where several are served."""
    folder = open_folder(run)
    samples = list(read_samples(folder, task))
    view = BlockView(
        task,
        samples[number],
        RunMedia(folder.media, lambda name: f"/media{media}/{name}"),
        json.loads(folder.results.read_text(encoding="utf-8"))["tasks"].get(task, {}),
        json.loads(folder.manifest.read_text(encoding="utf-8")),
    )
    body = environment().get_template("content/blocks.html").render(blocks=blocks(view))
    return page(f"{run.name}: {samples[number]['id']}", body)


def page_of_plots(run: Path, task: str) -> str:
    """A page with the plots of one task."""
    folder = open_folder(run)
    results = json.loads(folder.results.read_text(encoding="utf-8"))["tasks"].get(task, {})
    plots = plots_of(columns_of_index(SampleIndex(list(read_samples(folder, task)))), results)
    return page(f"{run.name}: plots", environment().get_template("task_plots.html").render(plots=plots))


def page(title: str, body: str) -> str:
    """A whole page."""
    return Template(_PAGE).substitute(title=escape(title), body=body).encode("utf-8", "replace").decode()


@contextmanager
def served(pages: Mapping[str, str], media: Path) -> Iterator[str]:
    """Serve pages by path, with the viewer's static files and media; gives the address.

    Args:
        pages: The pages.
        media: The media folder of a run, or the folder of several runs.
    """
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, HTMLResponse, Response
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles

    async def shown(request: Any) -> Response:
        text = pages.get(request.path_params["path"])
        return (
            Response(status_code=404) if text is None else HTMLResponse(text, headers={"Content-Security-Policy": CSP})
        )

    async def medium(request: Any) -> Response:
        *run, name = request.path_params["name"].split("/")
        return FileResponse(media_path(media / run[0] / "media" if run else media, name))

    def of_reports(name: str) -> Any:
        async def shown(request: Any) -> Response:
            text = (files("polymeter.report") / "templates" / name).read_text(encoding="utf-8")
            return Response(text, media_type="text/css" if name.endswith(".css") else "text/javascript")

        return shown

    static = StaticFiles(directory=str(files("polymeter.viewer") / "static"))
    routes = [
        Route("/base.css", of_reports("base.css")),
        *(Route(f"/static/{name}", of_reports(name)) for name in ("content.css", "content.js")),
        Route("/media/{name:path}", medium),
        Mount("/static", static),
        Route("/{path:path}", shown),
    ]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), port=0, log_level="error", lifespan="off"))
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        sock.close()
