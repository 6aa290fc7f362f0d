"""The page of ablations: one HTML file with the numbers, and the samples that were answered right without media."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from polymeter.core.records.stored_samples import answer_text, first_messages, media_of, text_of
from polymeter.report.ablation.tables import WORTH, legend, sentences, tables, troubles
from polymeter.report.formatting import clip, count, one_line
from polymeter.report.images import LoadMedia, embed
from polymeter.report.page import make_page
from polymeter.report.table import title_of

_STYLES = ("base.css", "power.css", "ablation.css")
_LONGEST = 300
_IMAGE_BYTES = 3_000_000


@dataclass(frozen=True, slots=True)
class BlindSample:
    """A sample that was answered right without its media.

    Attributes:
        whole: The sample of the run.
        blind: The same sample without media.
    """

    whole: Mapping[str, Any]
    blind: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BlindSamples:
    """The samples of a task that were answered right without media.

    Attributes:
        task: The task.
        how: The ablation.
        folder: The name of its folder, beside that of the run.
        shown: Some of them.
    """

    task: str
    how: str
    folder: str
    shown: Sequence[BlindSample]


def make_ablation_page(
    document: Mapping[str, Any], results: Mapping[str, Any], blind: Sequence[BlindSamples], media: LoadMedia
) -> str:
    """The page as one self-contained HTML file. The same ablations give the same page.

    Args:
        document: The ablations, as ``polymeter ablate --json`` prints them.
        results: The content of ``results.json`` of the run.
        blind: Samples that were answered right without media.
        media: Bytes and MIME type of a media file of the run; ``None`` if there is no such file.
    """
    names = (name for part in blind for one in part.shown for name in _files(one.whole))
    images = embed(names, media, _IMAGE_BYTES).uris
    run = document["run"]
    return make_page(
        "ablation.html",
        title=f"Is the score of {one_line(str(run['name']))} about the image?",
        kind="ablation",
        styles=_STYLES,
        scripts=(),
        data="{}",
        images={},
        facts=[*_facts(document)],
        tables=[{"caption": caption, "headings": heads, "rows": rows} for caption, heads, rows in tables(document)],
        worth=WORTH,
        sentences=[*sentences(document)],
        notes=[*troubles(document), *legend(document)],
        blind=[_section(document, results, part, images) for part in blind if part.shown],
    )


def _facts(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Run", one_line(str(document["run"]["name"]))
    yield "Model", one_line(str(document["run"]["model"]))
    if document["llm"]:
        yield "Language model alone", one_line(str(document["llm"]["model"]))
    yield "Ablations", ", ".join(str(one["how"]) for one in document["runs"] if one["status"] != "refused")


def _section(
    document: Mapping[str, Any], results: Mapping[str, Any], part: BlindSamples, images: Mapping[str, str]
) -> dict[str, Any]:
    n = len(document["blind"].get(part.task, {}).get(part.how, ()))
    total = document["n_samples"].get(part.task, 0)
    words = next(str(one["words"]) for one in document["runs"] if one["how"] == part.how)
    shown = f" {len(part.shown):,} of them are shown." if len(part.shown) < n else ""
    return {
        "title": one_line(title_of(results, "task", part.task)),
        "said": f"{n:,} of {count(total, 'sample')} are answered right {words}.{shown}",
        "words": words,
        "samples": [_card(one, part, images) for one in part.shown],
    }


def _card(one: BlindSample, part: BlindSamples, images: Mapping[str, str]) -> dict[str, Any]:
    name = str(one.whole["id"])
    place = f"report.html#{quote(part.task, safe='')}/{quote(name, safe='')}"
    return {
        "id": one_line(name),
        "question": _short(text_of(first_messages(one.blind))),
        "image": next((images[file] for file in _files(one.whole) if file in images), ""),
        "with": _short(answer_text(one.whole)),
        "without": _short(answer_text(one.blind)),
        "target": _short(one.whole.get("target")),
        "link": place,
        "blind_link": f"../{quote(part.folder, safe='')}/{place}",
    }


def _files(sample: Mapping[str, Any]) -> Iterator[str]:
    for kind, note in media_of(first_messages(sample)):
        if kind != "audio" and isinstance(note.get("file"), str):
            yield note["file"]


def _short(text: Any) -> str:
    return "" if text is None else clip(one_line(str(text)), _LONGEST)
