"""What is known of files of dataset classes and of TSV files without running or reading them whole."""

from pathlib import Path

import pytest

import polymeter
from polymeter.api.running import resume
from polymeter.catalog.trying import tasks_in
from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Catalog, Root
from polymeter.core.names.registries import stored_format, stored_formats
from polymeter.interop.ulmeval.tasks import FORMAT
from polymeter.interop.ulmeval.tasks.reading import TYPES_OF_BASES, read_file
from polymeter.run.plan.selection import build_catalog
from polymeter.tasks.table.classes.multiple_choice import datasets as choices
from polymeter.tasks.table.classes.questions import datasets as questions
from polymeter.tasks.table.index import index_data
from tests.helpers.toy_datasets import write_table

_BUILT_IN = {**vars(choices), **vars(questions)}


def index(roots: list[Root]) -> Catalog:
    """The classes under the roots, and the tables that none of them claims."""
    catalog = FORMAT.index(roots, None)
    catalog.update(index_data(roots, catalog.claims))
    return catalog


def read(tmp_path: Path, text: str, **how: bool):
    file = tmp_path / "mine.py"
    file.write_text(text)
    return read_file(file, **how)


def names(found) -> dict[str, str]:
    return {name: owner.name for name, owner in found.named()}


@pytest.fixture(autouse=True)
def _no_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "no data"))


@pytest.mark.parametrize(
    "urls",
    [
        "DATASET_URL = {'A': 'https://x/a.tsv', 'B': URL}",
        "DATASET_URL: dict[str, str] = {'A': f'{HOST}/a.tsv', 'B': HOST + '/b.tsv'}",
        "DATASET_URL = ALL",
        "DATASET_URL = {**ALL}",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL['B'] = make()",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL.update({'B': 'b'})",
        "DATASET_URL = {'A': 'a'} | {'B': 'b'}",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL |= {'B': 'b'}",
        "DATASET_URL = {name: make(name) for name in ('A', 'B')}",
        "DATASET_URL = dict(A='a', B=make())",
        "DATASET_URL = {FIRST: make(), 'B': 'b'}",
        "DATASET_URL = {}\n    @classmethod\n    def supported_datasets(cls):\n        return ['A', 'B']",
        "DATASET_URL = ALL\n    @classmethod\n    def supported_datasets(cls):\n        return list(cls.DATASET_URL)",
    ],
)
def test_names_that_are_written_out_are_known(tmp_path: Path, urls: str) -> None:
    head = "HOST = 'https://x'\nURL = HOST + '/b.tsv'\nFIRST = 'A'\nALL = {'A': 'a', 'B': 'b'}\n"
    found = read(tmp_path, f"{head}class Mine(TextBaseDataset):\n    {urls}\n")
    assert names(found) == {"A": "Mine", "B": "Mine"}


def test_urls_are_put_together_from_constants(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "HOST = 'https://x'\nclass M(TextBaseDataset):\n"
        "    DATASET_URL = {'A': f'{HOST}/a.tsv', 'B': HOST + '/b.tsv', 'C': make()}\n",
    )
    assert found.classes[0].datasets == {"A": "https://x/a.tsv", "B": "https://x/b.tsv", "C": None}


@pytest.mark.parametrize(
    "body",
    [
        "DATASET_URL = {name: URL for name in NAMES}",
        "DATASET_URL = {name: URL for name in ('A', 'B') if make(name)}",
        "DATASET_URL = {a + b: URL for a in ('A', 'B') for b in ('C',)}",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL.update(make())",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL.update(B='b')",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL.pop('A')",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL[make()] = 'b'",
        "DATASET_URL = {'A': 'a'}\n    DATASET_URL += make()",
        "DATASET_URL = {'A': 'a'}\n    for name in 'BC':\n        DATASET_URL[name] = URL",
        "if make():\n        DATASET_URL = {'A': 'a'}\n    else:\n        DATASET_URL = {'B': 'b'}",
        "DATASET_URL = {'A': 'a'}\nMine.DATASET_URL['B'] = 'b'",
        "DATASET_URL = {'A': 'a'}\nMine.DATASET_URL.update(make())",
        "DATASET_URL = make()",
        "DATASET_URL = {make(): 'a'}",
        "DATASET_URL = {}\n    @classmethod\n    def supported_datasets(cls):\n        return make()",
    ],
)
def test_computed_names_are_not_known(tmp_path: Path, body: str) -> None:
    found = read(tmp_path, f"class Mine(TextBaseDataset):\n    {body}\n")
    assert [item.datasets for item in found.classes] == [None]


def test_names_are_inherited_within_a_file_and_belong_to_the_most_derived_class(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "class Base(ImageBaseDataset):\n    TYPE = 'T2I'\n    DATASET_URL = {'A': 'a'}\n"
        "    def evaluate(self, f): pass\n"
        "class Mine(Base):\n    NUM_GENERATIONS = 2\n"
        "class Other(Base):\n    DATASET_URL = {**Base.DATASET_URL, 'C': 'c'}\n",
    )
    assert names(found) == {"A": "Mine", "C": "Other"}
    owner = found.owner_of("A")
    assert owner is not None
    assert owner.text("TYPE") == "T2I"
    assert owner.values["NUM_GENERATIONS"] == 2
    assert "evaluate" in owner.methods


@pytest.mark.parametrize("custom", ["CustomMCQDataset", "CustomTextMCQDataset", "CustomVQADataset"])
def test_a_class_for_any_file_owns_none_of_the_names_that_it_inherits(tmp_path: Path, custom: str) -> None:
    theirs = "class ImageMCQDataset(ImageBaseDataset):\n    DATASET_URL = {'MMBench': 'a'}\n"
    found = read(tmp_path, f"{theirs}class {custom}(ImageMCQDataset):\n    def load_data(self, dataset): ...\n")
    assert names(found) == {"MMBench": "ImageMCQDataset"}
    alone = read(tmp_path, f"class {custom}(ImageMCQDataset):\n    DATASET_URL = {{'Own': 'a'}}\n")
    assert names(alone) == {"Own": custom}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("class A(ImageMCQDataset):\n    DATASET_URL = {'A': 'a'}\n", 1),
        ("class A(base.TextBaseDataset):\n    DATASET_URL = {'A': 'a'}\n", 1),
        ("class A:\n    DATASET_URL = {'A': 'a'}\n    def build_prompt(self, line): ...\n", 1),
        ("class A:\n    DATASET_URL = {'A': 'a'}\n", 0),
        ("class A(lmms):\n    pass\n# DATASET_URL\n", 0),
        ("class A(DataAdapter):\n    pass\n# DATASET_URL\n", 0),
        ("class A(Dataset):\n    pass\n# DATASET_URL\n", 0),
    ],
)
def test_what_counts_as_a_dataset_class(tmp_path: Path, text: str, count: int) -> None:
    assert len(read(tmp_path, text).classes) == count


@pytest.mark.parametrize(
    ("base", "body", "kind"),
    [
        ("ImageMCQDataset", "pass", "MCQ"),
        ("ImageYORNDataset", "pass", "Y/N"),
        ("ImageVQADataset", "TYPE = 'MCQ'", "MCQ"),
        ("ImageBaseDataset", "pass", ""),
    ],
)
def test_the_type_of_a_base_of_another_file_is_known(tmp_path: Path, base: str, body: str, kind: str) -> None:
    found = read(tmp_path, f"class Mine({base}):\n    DATASET_URL = {{'mine': ''}}\n    {body}\n")
    assert [item.text("TYPE") for item in found.classes] == [kind]


@pytest.mark.parametrize("base", sorted(TYPES_OF_BASES.keys() & _BUILT_IN.keys()))
def test_the_types_of_bases_are_those_of_our_classes(base: str) -> None:
    assert TYPES_OF_BASES[base] == _BUILT_IN[base].TYPE


def test_files_without_our_words_are_not_parsed(tmp_path: Path) -> None:
    assert read(tmp_path, "def broken(:\n").classes == ()
    with pytest.raises(PlanError, match="not valid Python"):
        read(tmp_path, "DATASET_URL = {\n")


def test_packages_that_are_needed_are_named(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "import os\nimport mmdet\nfrom ulmeval.smp import *\nfrom ..smp import *\n"
        "class A(TextBaseDataset):\n    DATASET_URL = {'A': 'a'}\n",
    )
    assert found.packages == {"mmdet": 2}


def test_a_folder_lists_its_classes_and_says_what_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").write_text(
        "class A(TextBaseDataset):\n    TYPE = 'T2I'\n    DATASET_URL = {'A': 'a'}\n"
    )
    (tmp_path / "b.py").write_text("class B(TextBaseDataset):\n    DATASET_URL = make()\n")
    (tmp_path / "c.py").write_text("DATASET_URL = {\n")
    catalog = index([Root(tmp_path)])
    assert list(catalog.entries) == ["A"]
    assert catalog.entries["A"].tags == ("T2I",)
    assert catalog.entries["A"].is_user
    messages = sorted(problem.message for problem in catalog.problems)
    assert messages[0].startswith("The names of the datasets of B are computed")
    assert messages[1].startswith("This is not valid Python")


def test_a_named_file_lists_a_class_whose_names_are_computed(tmp_path: Path) -> None:
    file = tmp_path / "b.py"
    file.write_text("class B(TextBaseDataset):\n    DATASET_URL = make()\n")
    catalog = index([Root(file)])
    assert catalog.entries["B"].kind == "group"
    assert not catalog.problems
    assert ("dataset", "?", file) in FORMAT.describe(catalog.entries["B"], catalog)


def test_a_named_file_whose_class_names_nothing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "b.py"
    file.write_text("class B(TextBaseDataset):\n    pass\n")
    (problem,) = index([Root(file)]).problems
    assert problem.where == f"{file}:1"
    assert "B names no dataset" in problem.message


def test_the_data_folder_is_listed_and_what_is_odd_there_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, mine = tmp_path / "data", tmp_path / "mine"
    data.mkdir()
    mine.mkdir()
    monkeypatch.setenv("LMUData", str(data))
    for name in ("draw", "Owned", "by_url"):
        (data / f"{name}.tsv").write_text("index\tprompt\n0\ta cat\n")
    (data / "odd.tsv").write_text("a\tb\n")
    (mine / "m.py").write_text(
        "class M(TextBaseDataset):\n    DATASET_URL = {'Owned': 'https://x/o.tsv', 'Other': 'https://x/by_url.tsv?v=1'}\n"
    )
    catalog = index([Root(mine)])
    assert set(catalog.entries) == {"draw", "Owned", "Other"}
    assert not catalog.entries["draw"].is_user
    assert not catalog.problems


def test_a_table_that_belongs_to_a_class_is_no_benchmark_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "A.tsv").write_text("index\tprompt\n0\ta cat\n")
    (tmp_path / "m.py").write_text("class M(TextBaseDataset):\n    DATASET_URL = {'A': ''}\n")
    catalog = index([Root(tmp_path), Root(tmp_path / "A.tsv")])
    assert catalog.entries["A"].file == tmp_path / "m.py"
    assert "is the data of a dataset class" in catalog.problems[0].message


def test_specs_say_what_is_known_and_hash_the_neighbours(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("X = 1\n")
    file = tmp_path / "m.py"
    file.write_text(
        "from .helper import X\nclass M(TextBaseDataset):\n    TYPE = 'T2I'\n    NUM_GENERATIONS = X\n"
        "    DATASET_URL = {'A': 'u'}\n    DATASET_MD5 = {'A': 'm'}\n"
    )
    catalog = index([Root(tmp_path)])
    (spec,) = FORMAT.load(catalog.entries["A"], catalog).tasks
    assert spec.config == {
        "class": "M",
        "dataset": "A",
        "TYPE": "T2I",
        "NUM_GENERATIONS": "?",
        "url": "u",
        "md5": "m",
    }
    assert {path.name for path in spec.sources} == {"helper.py", "m.py"}
    (tmp_path / "helper.py").write_text("X = 2\n")
    assert FORMAT.load(catalog.entries["A"], catalog).tasks[0].source_hash != spec.source_hash
    with pytest.raises(PlanError, match=r"no form as YAML.*helper\.py, m\.py"):
        FORMAT.flatten(catalog.entries["A"], catalog)
    file.write_text("class M(TextBaseDataset):\n    DATASET_URL = {'B': 'u'}\n")
    with pytest.raises(PlanError, match="does not name the dataset 'A' any more"):
        FORMAT.load(catalog.entries["A"], catalog)


def test_checks_find_missing_scoring_packages_and_sums(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("import no_such_package\nclass M(TextBaseDataset):\n    DATASET_URL = {'A': 'http://x/a.tsv'}\n")
    catalog = index([Root(tmp_path)])
    messages = [problem.message for problem in FORMAT.check(catalog.entries["A"], catalog)]
    assert any("defines neither evaluate nor evaluate_sample" in message for message in messages)
    assert any("plain http" in message for message in messages)
    assert any("'no_such_package'" in message for message in messages)


def test_the_data_of_a_broken_file_is_not_taken_for_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "Mine.tsv").write_text("index\tprompt\n0\ta cat\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "m.py").write_text("class M(TextBaseDataset):\n  DATASET_URL = {'Mine': 'u'}\n def x(:\n")
    catalog = index([Root(tmp_path / "lib")])
    assert not catalog.entries
    assert catalog.problems[0].where.startswith(str(tmp_path / "lib" / "m.py"))


def test_a_linked_table_is_called_by_the_links_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the hub's cache has its files: under names that say nothing, with links to them."""
    blob = tmp_path / "blobs/0a1b2c"
    write_table(blob, {"index": [1], "question": ["?"], "answer": ["!"]})
    for folder in ("data", "mine"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder}set.tsv").symlink_to(blob)
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    place = tmp_path / "mine/mineset.tsv"
    catalog = build_catalog([place], tmp_path)
    assert {name: catalog.entries[name].file for name in ("dataset", "mineset")} == {
        "dataset": tmp_path / "data/dataset.tsv",
        "mineset": place,
    }
    run = polymeter.evaluate("mock", [str(place), "dataset"], output=tmp_path / "run")
    assert sorted(run.results["tasks"]) == ["dataset", "mineset"]
    assert tasks_in(place) == ["mineset"]
    assert resume(tmp_path / "run").status == "complete"


def test_both_formats_are_one_in_files_and_settings_and_claims_hold_between_them(tmp_path: Path) -> None:
    for name in ("Owned", "Free"):
        write_table(tmp_path / f"{name}.tsv", {"index": [1], "prompt": ["a cat"]})
    (tmp_path / "m.py").write_text("class M(TextBaseDataset):\n    DATASET_URL = {'Owned': ''}\n")
    catalog = build_catalog([tmp_path], None)
    formats = [catalog.get(name).format for name in ("Owned", "Free")]
    assert formats == ["dataset_class", "table"]
    assert [stored_format(name) for name in formats] == ["tsv", "tsv"]
    assert stored_formats().count("tsv") == 1
