"""The page of ablations: selection of the samples, and reading of the run folders."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from polymeter.report.ablation.page import BlindSample, BlindSamples, make_ablation_page
from polymeter.store.exports.export import read_some
from polymeter.store.folder import RunFolder, write_text
from polymeter.store.media import read_media

if TYPE_CHECKING:
    from polymeter.analysis.ablation.ablating import AblationReport

_MOST_SHOWN = 60
"""The most samples of a task that are shown for one ablation, evenly spread."""


def write_page(report: AblationReport) -> None:
    """Write the page into the folder of the run.

    Raises:
        StorageError: if a run cannot be read, or the page cannot be written.
    """
    folder, blind = report.whole.folder, [*_blind_samples(report)]
    page = make_ablation_page(report.document(), folder.read_results(), blind, partial(read_media, folder.media))
    write_text(report.page, page)


def _blind_samples(report: AblationReport) -> Iterator[BlindSamples]:
    paths = {one.ablation.name: one.path for one in report.runs}
    assert report.compared is not None
    others = {other.run.folder.path: other.run.folder for other in report.compared.others}
    for task, own in report.blind.items():
        for name, ids in own.items():
            wanted = [*ids][:: max(1, -(-len(ids) // _MOST_SHOWN))]
            sides = (_samples(one, task, wanted) for one in (report.whole.folder, others[paths[name]]))
            whole, blind = sides
            shown = [BlindSample(whole[sample], blind[sample]) for sample in wanted]
            yield BlindSamples(task, name, paths[name].name, shown)


def _samples(folder: RunFolder, task: str, wanted: list[str]) -> dict[str, dict[str, Any]]:
    """Return samples by id."""
    from contextlib import closing

    from polymeter.store.journal import Journal

    with closing(Journal(folder.journal)) as journal:
        indices = [row.index for row in journal.rows(task) if row.id in set(wanted)]
    return {str(sample["id"]): sample for sample in read_some(folder, task, indices)}
