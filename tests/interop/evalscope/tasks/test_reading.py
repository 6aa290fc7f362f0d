"""What is known of a benchmark's file without running it."""

from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Catalog, Root
from polymeter.guests.loading.neighbours import tree_file
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.evalscope.tasks.index import index, load
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, read_file


def read(tmp_path: Path, text: str, name: str = "a_adapter.py"):
    file = tmp_path / name
    file.write_text(text)
    return read_file(file).registrations


def test_literals_names_of_literals_and_words_are_known(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path,
        "import numpy\nNAMES: list = ['a', 'b']\nTAG = 'x'\n"
        "@Benchmark.register('n', dataset_id='d', subset_list=NAMES, tags=[TAG, 'y'],"
        " model_adapter=OutputType.CONTINUOUS, filters={'extract': r'\\d'},"
        " prompt_template=make(), few_shot_num=-1)\nclass A(DataAdapter): pass\n",
    )
    assert found.name == "n"
    assert found.values == {
        "name": "n",
        "dataset_id": "d",
        "subset_list": ["a", "b"],
        "tags": ["x", "y"],
        "model_adapter": "continuous_logits",
        "filters": {"extract": r"\d"},
        "prompt_template": UNKNOWN,
        "few_shot_num": -1,
    }
    assert found.written["prompt_template"] == "make()"


@pytest.mark.parametrize(
    "text",
    [
        "import evalscope.benchmarks as b\nclass A: pass\nb.Benchmark.register(name='n', dataset_id='d')(A)\n",
        "from evalscope.benchmarks import Benchmark as B\n@B.register(name='n', dataset_id='d')\nclass A: pass\n",
        "def make():\n    @Benchmark.register(name='n', dataset_id='d')\n    class A: pass\n",
    ],
)
def test_all_ways_to_register_are_seen(tmp_path: Path, text: str) -> None:
    assert [item.name for item in read(tmp_path, text)] == ["n"]


def test_other_registries_are_none_of_ours(tmp_path: Path) -> None:
    assert not read(tmp_path, "# Benchmark\n@Filter.register('n')\ndef f(): pass\n")


def test_a_broken_file_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"not valid Python.*a_adapter.py:2"):
        read(tmp_path, "Benchmark\nx = = 1\n")


def test_only_adapter_files_of_a_folder_and_any_file_that_is_named(tmp_path: Path) -> None:
    text = "@Benchmark.register(name={name!r}, dataset_id='d', tags='solo')\nclass A: pass\n"
    for name in ("one_adapter.py", "helper.py", ".hidden/two_adapter.py", "deep/er/three_adapter.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(name=file.stem))
    assert set(index([Root(tmp_path)]).entries) == {"one_adapter", "three_adapter"}
    assert set(index([Root(tmp_path / "helper.py")]).entries) == {"helper"}
    assert index([Root(tmp_path)]).get("one_adapter").tags == ("solo",)


def test_packages_are_those_that_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "helper.py").touch()
    file = tmp_path / "a_adapter.py"
    file.write_text(
        "import os, numpy.linalg\nimport helper\nfrom pandas import x\nfrom .b import c\nfrom evalscope import d\n"
        "@Benchmark.register(name='n', dataset_id='d')\nclass A:\n    def f(self):\n        import torch\n"
    )
    assert read_file(file).packages == {"numpy": 1, "pandas": 3}
    assert index([Root(tmp_path)]).get("n").packages == ("numpy", "pandas")


def test_sources_follow_relative_and_absolute_self_imports(tmp_path: Path) -> None:
    place = tmp_path / "bench"
    place.mkdir()
    (place / "utils.py").write_text("A = 1\n")
    (place / "far.py").write_text("B = 1\n")
    (place / "bench_adapter.py").write_text(
        "from evalscope.benchmarks.bench.far import B\nfrom evalscope.benchmarks.utils import PromptData\n"
        "@Benchmark.register(name='bench', dataset_id='d')\nclass A:\n    def f(self):\n        from .utils import A\n"
    )
    entry = index([Root(tmp_path)]).get("bench")
    before = load(entry, Catalog()).tasks[0]
    assert [file.name for file in before.sources] == ["bench_adapter.py", "far.py", "utils.py"]
    (place / "far.py").write_text("B = 2\n")
    assert load(entry, Catalog()).tasks[0].source_hash != before.source_hash


def test_modules_beside_the_folders_of_the_tree_are_never_a_guests_own(tmp_path: Path) -> None:
    (tmp_path / "utils.py").touch()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "utils.py").touch()
    assert tree_file("evalscope.benchmarks.utils", tmp_path) is None
    assert tree_file("evalscope.benchmarks.x.utils", tmp_path / "x") == tmp_path / "x" / "utils.py"
    (tmp_path / "x" / "a.py").write_text("import evalscope.benchmarks.utils\n")
    assert files_behind([tmp_path / "x" / "a.py"]) == (tmp_path / "x" / "a.py",)
