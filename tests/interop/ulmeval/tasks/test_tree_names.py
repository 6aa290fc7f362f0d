"""The names of a whole copy of VLMEvalKit, without running anything: classes that own them, presets, collections."""

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Catalog, Root
from polymeter.guests import contained
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.ulmeval.shim.ulmeval import datasets
from polymeter.interop.ulmeval.tasks.index import index
from polymeter.interop.ulmeval.tasks.listing.presets import sampled_once
from polymeter.interop.ulmeval.tasks.specs import describe, load

INIT = """\
from vlmeval.smp import load
from .choice import BigChoice, CustomMCQDataset, Small
from .gui.screens import Screens
from .later import Later
from .video_dataset_config import supported_video_datasets
class ConcatDataset(ImageBaseDataset):
    DATASET_SETS = {'All': ['A', 'S1'], 'Broken': ['A', 'Nowhere']}
    @classmethod
    def supported_datasets(cls):
        return list(cls.DATASET_SETS)
IMAGE_DATASET = [Later, BigChoice]
IMAGE_DATASET += [Screens, Small]
DATASET_CLASSES = IMAGE_DATASET + [CustomMCQDataset] + [ConcatDataset]
for CLS in DATASET_CLASSES:
    SUPPORTED.extend(CLS.supported_datasets())
"""
CHOICE = """\
class BigChoice(ImageBaseDataset):
    TYPE = 'MCQ'
    DATASET_URL = {'A': 'https://x/A.tsv', 'Two': 'https://x/Two.tsv'}
class Small(BigChoice):
    pass
class CustomMCQDataset(BigChoice):
    pass
class Unlisted(BigChoice):
    pass
"""
SCREENS = """\
class Screens(VideoBaseDataset):
    TYPE = 'Video-MCQ'
    PARTS = ('S1', 'S2')
    @classmethod
    def supported_datasets(cls):
        names = ['Two']
        names += [f'{part}' for part in cls.PARTS]
        return list(set(names))
"""
LATER = "class Later(ImageBaseDataset):\n    DATASET_URL = {'L': ''}\n    DATASET_URL['Two'] = ''\n"
PRESETS = """\
from functools import partial
from vlmeval.dataset import *
plain = {'P_8frame': partial(Screens, dataset='S1', nframe=8, area=4 * 5)}
plain['P_subs'] = partial(Screens, dataset='S1', subs=True)
def _variants(subsets, cls, variants=(('1fps', dict(fps=1.0)), ('64frame', dict(nframe=64)))):
    out = {}
    for subset in subsets:
        for suffix, params in variants:
            out[f'{subset}_{suffix}'] = partial(cls, dataset=subset, **params)
    return out
names = Screens.supported_datasets()
made = _variants(names, Screens)
gone = {'Gone_8frame': partial(Absent, dataset='G', nframe=8)}
supported_video_datasets = {}
groups = [plain, made]
groups += [gone]
for group in groups:
    supported_video_datasets.update(group)
"""
FILES = {
    "__init__.py": INIT,
    "choice.py": CHOICE,
    "gui/screens.py": SCREENS,
    "later.py": LATER,
    "video_dataset_config.py": PRESETS,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "copy/vlmeval/dataset"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def owners(catalog: Catalog) -> dict[str, str]:
    return {entry.name: {key: value for key, value, _ in describe(entry)}["class"] for entry in catalog}


def test_the_first_class_in_the_list_of_a_copy_owns_a_name(tree: Path) -> None:
    catalog = index([Root(tree)])
    assert not catalog.clashes
    found = owners(catalog)
    assert {name: found[name] for name in ("A", "Two", "L", "S1", "All")} == {
        "A": "BigChoice",
        "Two": "Later",
        "L": "Later",
        "S1": "Screens",
        "All": "ConcatDataset",
    }


def test_presets_are_names_of_a_class_with_arguments(tree: Path) -> None:
    catalog = index([Root(tree)])
    presets = [entry.name for entry in catalog if entry.file.name == "video_dataset_config.py"]
    assert presets[:2] == ["P_8frame", "P_subs"]
    assert sorted(presets[2:]) == [f"{name}_{way}" for name in ("S1", "S2", "Two") for way in ("1fps", "64frame")]
    (spec,) = load(catalog.get("P_8frame"), catalog).tasks
    assert (spec.name, spec.file, spec.config["class"], spec.config["dataset"], spec.config["arguments"]) == (
        "P_8frame",
        tree / "gui/screens.py",
        "Screens",
        "S1",
        {"nframe": 8, "area": 20},
    )
    (other,) = load(catalog.get("P_subs"), catalog).tasks
    assert other.source_hash != spec.source_hash
    refused = catalog.refused("Gone_8frame")
    assert refused is not None
    assert "does not have the class Absent" in refused.message


@pytest.mark.parametrize("lacking", ["__init__.py", "later.py", "gui/screens.py", "video_dataset_config.py"])
def test_a_partial_copy_lists_what_it_has(tree: Path, lacking: str) -> None:
    (tree / lacking).unlink()
    catalog = index([Root(tree)])
    found = owners(catalog)
    assert found["A"] == ("Small" if lacking == "__init__.py" else "BigChoice")
    assert ("L" in found) == (lacking != "later.py")
    assert ("P_8frame" in found) == (lacking not in ("gui/screens.py", "video_dataset_config.py"))
    assert ("S1" in found) == (lacking != "gui/screens.py")


def test_a_single_file_comes_with_the_presets_of_its_classes(tree: Path) -> None:
    catalog = index([Root(tree / "gui/screens.py")])
    assert {"S1", "S2", "Two", "P_8frame", "P_subs"} <= set(catalog.entries)
    assert [problem.message for problem in catalog.problems] == []
    alone = index([Root(tree / "video_dataset_config.py")])
    assert {"P_8frame", "S2_1fps"} <= set(alone.entries)


def test_two_files_without_a_list_follow_the_order_of_the_original(tmp_path: Path) -> None:
    (tmp_path / "erqabench.py").write_text("class ERQABench(ImageBaseDataset):\n    DATASET_URL = {'ERQA': ''}\n")
    (tmp_path / "erqa.py").write_text("class ERQADataset(ImageBaseDataset):\n    DATASET_URL = {'ERQA': ''}\n")
    assert owners(index([Root(tmp_path)])) == {"ERQA": "ERQADataset"}


def test_a_collection_knows_the_classes_of_its_datasets(tree: Path) -> None:
    catalog = index([Root(tree)])
    (spec,) = load(catalog.get("All"), catalog).tasks
    members = {name: (Path(member.file).name, member.cls) for name, member in spec.config["members"].items()}
    assert members == {"A": ("choice.py", "BigChoice"), "S1": ("screens.py", "Screens")}
    assert ("members", ["A", "S1"], tree / "__init__.py") in describe(catalog.get("All"))
    alone = index([Root(tree / "__init__.py")])
    assert load(alone.get("All"), alone).tasks[0].config["members"] == spec.config["members"]
    with pytest.raises(PlanError) as caught:
        load(catalog.get("Broken"), catalog)
    assert "the dataset 'Nowhere', and no class here names it" in str(caught.value)


def test_a_listing_is_the_same_from_the_cache(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    first = index([Root(tree)], cache)
    assert len(list(cache.iterdir())) == 1
    again = index([Root(tree)], cache)
    assert (again.entries, again.problems, again.claims) == (first.entries, first.problems, first.claims)
    (tree / "later.py").write_text(LATER.replace("'L'", "'Longer'"))
    changed = index([Root(tree)], cache)
    assert ("L" in changed.entries, "Longer" in changed.entries) == (False, True)


def test_presets_are_built_by_their_names(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its class outlives the test, so that it has no function for others to call.
    (tree / "gui/screens.py").write_text(
        "from vlmeval.dataset import VideoBaseDataset\nclass Screens(VideoBaseDataset):\n"
        "    DATASET_URL = {'S1': '', 'S2': '', 'Two': ''}\n"
        "    def __init__(self, dataset, **arguments):\n        self.made = (dataset, arguments)\n"
    )
    catalog = index([Root(tree)])
    monkeypatch.setattr(datasets, "_catalog", lambda: catalog)
    assert ("P_subs" in datasets.PRESETS, "S1" in datasets.PRESETS, len(datasets.PRESETS)) == (True, False, 8)
    with contained():
        switch_on_shims()
        assert datasets.build_dataset("P_8frame", area=1).made == ("S1", {"nframe": 8, "area": 1})
        assert datasets.PRESETS["S2_1fps"]().made == ("S2", {"fps": 1.0})


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ({"fps": 1.0}, {"fps": 1.0, "nframe": 0}),
        ({"fps": 1.0, "nframe": 8}, {"fps": 1.0, "nframe": 8}),
        ({"fps": -1}, {"fps": -1}),
        ({"subs": True}, {"subs": True}),
    ],
)
def test_a_preset_by_frame_rate_takes_no_number_of_frames(arguments: dict[str, Any], passed: dict[str, Any]) -> None:
    class Many:
        def __init__(self, dataset="Many", nframe=64, fps=-1, subs=False): ...

    class Few:
        def __init__(self, dataset="Few", nframe=0, fps=-1, subs=False): ...

    assert sampled_once(Many, arguments) == passed
    assert sampled_once(Few, arguments) == arguments
