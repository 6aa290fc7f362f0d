"""The HTML report of a run as a file of its folder.

It is made of what the folder holds, so it needs neither the code that runs benchmarks nor what computes results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from polymeter.core.machine.files import sweep
from polymeter.core.media.sources import new_digest
from polymeter.report.images import PageMedia
from polymeter.report.run.extract import BLIND
from polymeter.report.run.html_report import html_report
from polymeter.store.ablations import blind_marks
from polymeter.store.folder import RunFolder, write_text
from polymeter.store.media import media_size, read_media
from polymeter.store.reading.sample_table import SampleTables
from polymeter.store.verifying import report_end


def write_html_report(
    folder: RunFolder,
    results: Mapping[str, Any],
    samples: int | Literal["all"] | None,
    *,
    is_by_journal: bool,
    check: Callable[[], None] | None = None,
) -> None:
    """Write ``report.html``, piece by piece, with a checksum at its end.

    Args:
        folder: The run.
        results: Its results.
        samples: How many samples of each task to show, or ``"all"``; ``None``: as the manifest says.
        is_by_journal: Whether samples are read from the journal and not from their files.
        check: Called before an earlier report is replaced; if it raises, that one stays unchanged.

    Raises:
        StorageError: if the folder cannot be read or written.
    """
    manifest = folder.read_manifest()
    runtime = (manifest.get("options") or {}).get("runtime") or {}
    media = PageMedia(partial(read_media, folder.media), partial(media_size, folder.media))
    wanted = runtime.get("report_samples") if samples is None else samples
    blind = blind_marks(folder)
    with SampleTables(folder, is_by_journal=is_by_journal) as tables:

        def marked(task: str) -> Sequence[Mapping[str, Any]]:
            return _Marked(tables(task), blind[task]) if blind.get(task) else tables(task)

        def pieces() -> Iterator[str]:
            state = new_digest()
            for piece in html_report(manifest, results, marked, media, wanted=wanted):
                state.update(piece.encode("utf-8", "backslashreplace"))
                yield piece
            yield report_end(state.hexdigest())
            if check is not None:
                check()

        sweep([folder.path])
        write_text(folder.report, pieces())


@dataclass(frozen=True, slots=True)
class _Marked(Sequence[Mapping[str, Any]]):
    """The samples of a task, those with marks as ``BLIND``."""

    samples: Sequence[Mapping[str, Any]]
    marks: Mapping[str, Sequence[str]]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return map(self._marked, self.samples)

    def __getitem__(self, place: Any) -> Any:
        found = self.samples[place]
        return [*map(self._marked, found)] if isinstance(place, slice) else self._marked(found)

    def _marked(self, sample: Any) -> Mapping[str, Any]:
        marks = self.marks.get(str(sample.get("id")))
        return {**sample, BLIND: marks} if marks else sample
