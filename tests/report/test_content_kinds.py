"""A run of each kind that there is: what the viewer shows of its samples, from the run folder alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polymeter.report.content import BlockView, RunMedia, blocks
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import open_folder
from polymeter.viewer.plots import columns_of_index, plots_of
from tests.helpers.content_app import SampleIndex, environment
from tests.helpers.run_kinds import KINDS, make
from tests.helpers.shown import Elements

pytestmark = pytest.mark.slow
BLOCKS = {
    "task_yaml": ["question", "outcome", "pictures", "shown", "chat", "row"],
    "data_adapter": ["question", "outcome", "chat", "row"],
    "dataset_class": ["question", "outcome", "pictures", "chat", "judges", "row"],
    "image_generation": ["question", "outcome", "drawn", "chat", "row"],
    "editing": ["question", "outcome", "drawn", "compare", "shown", "chat", "row"],
    "judged": ["question", "outcome", "chat", "judges", "row"],
    "multi_round": ["question", "outcome", "pictures", "shown", "chat", "row"],
    "several_images": ["question", "outcome", "pictures", "chat", "row"],
    "video": ["question", "outcome", "players", "chat", "row"],
    "audio": ["question", "outcome", "players", "chat", "row"],
    "log_likelihood": ["question", "outcome", "pictures", "shown", "choices", "chat", "row"],
    "weighed": ["question", "outcome", "choices", "chat", "row"],
    "grounding": ["question", "outcome", "pictures", "chat", "row"],
    "tools": ["question", "outcome", "chat", "row"],
    "failed": ["outcome", "row"],
    "partial": ["question", "outcome", "chat", "row"],
    "imported": ["question", "outcome", "choices", "chat", "row"],
}
PLOTS = {
    "weighed": ["distribution-acc", "reliability", "labels"],
    "log_likelihood": ["distribution-acc", "reliability", "labels"],
    "failed": [],
    "partial": ["distribution-exact_match"],
}
SYSTEMS = {"data_adapter": "evalscope", "dataset_class": "ulmeval", "imported": "lm_eval"}
PACKAGES = {"task_yaml": "rapidocr", "log_likelihood": "transformers", "multi_round": "transformers", "video": "av"}


def test_every_kind_is_looked_at():
    assert list(BLOCKS) == list(KINDS)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.needs_system(SYSTEMS[kind])) if kind in SYSTEMS else kind for kind in KINDS],
)
def test_a_run_of_each_kind_is_shown(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind in PACKAGES:
        pytest.importorskip(PACKAGES[kind])
    monkeypatch.setenv("LMUData", str(tmp_path))  # restores what making a run sets
    folder = open_folder(make(kind, tmp_path))
    results = json.loads(folder.results.read_text(encoding="utf-8"))["tasks"]
    task = next(iter(results))
    samples = list(read_samples(folder, task))
    media = RunMedia(folder.media, lambda name: f"/media/{name}")
    shown = [blocks(BlockView(task, sample, media, results[task])) for sample in samples]
    assert [block.name for block in shown[0]] == BLOCKS[kind]
    for own in shown:
        page = Elements(environment().get_template("content/blocks.html").render(blocks=own))
        assert not page.all("script")
        assert all(
            _is_there(folder.media, one["src"]) for one in page.all("img") + page.all("video") + page.all("audio")
        )
    plots = plots_of(columns_of_index(SampleIndex(samples)), results[task])
    assert [plot.name for plot in plots if not plot.name.startswith("effort")] == PLOTS.get(
        kind, [plot.name for plot in plots if plot.name.startswith("distribution")]
    )


def _is_there(media: Path, address: Any) -> bool:
    name = str(address).removeprefix("/media/").partition("#")[0]
    return (media / name[:2] / name).is_file()
