"""Datasets of 1.x: the order in which records become samples, with orders and numbers seen from the wheel 1.14.1."""

import base64
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import guest_context_with
from polymeter.interop.evalscope.v1.data.builders import (
    build_dataset_dict_from_record_map,
    build_dataset_from_records,
    load_local_file_dataset,
    resolve_snapshot_or_local_path,
)
from polymeter.interop.evalscope.v1.data.datasets import (
    DatasetDict,
    MemoryDataset,
    resolve_dataset_limit,
    validate_dataset_limit,
)
from polymeter.interop.evalscope.v1.data.fields import read_choices, read_files, read_target
from polymeter.interop.evalscope.v1.data.hub import DatasetHub, DatasetSource, download_dataset_file
from polymeter.interop.evalscope.v1.data.loaders import DictDataLoader, LocalDataLoader, RemoteDataLoader
from polymeter.interop.evalscope.v1.data.media_columns import undecode_media
from polymeter.interop.evalscope.v1.types.samples import FieldSpec, Sample

RECORDS = [{"q": f"q{i}", "c": ["a", "b", "c", "d"], "a": "ABCD"[i % 4], "s": "xyz"[i % 3]} for i in range(8)]


def of_record(record: dict[str, Any]) -> Sample:
    return Sample(input=record["q"], choices=record["c"], target=record["a"], subset_key=record["s"])


def two_of_record(record: dict[str, Any]) -> list[Sample]:
    return [Sample(input=record["q"] + end) for end in "-+"]


def written(folder: Path, name: str, records: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def shown(dataset: Any) -> list[tuple[Any, ...]]:
    return [(each.id, each.group_id, each.input, "".join(each.choices or ()), each.target) for each in dataset]


def test_records_are_shuffled_limited_repeated_and_their_options_shuffled() -> None:
    loader = DictDataLoader(
        list(RECORDS), sample_fields=of_record, shuffle=True, seed=42, shuffle_choices=True, limit=4, repeats=2
    )
    assert shown(loader.load()) == [
        (0, 0, "q3", "abcd", "D"),
        (1, 0, "q3", "abcd", "D"),
        (2, 1, "q4", "bdac", "C"),
        (3, 1, "q4", "bdac", "C"),
        (4, 2, "q6", "bacd", "C"),
        (5, 2, "q6", "bacd", "C"),
        (6, 3, "q7", "cbda", "C"),
        (7, 3, "q7", "cbda", "C"),
    ]


def test_a_hub_shuffles_otherwise_than_a_list(tmp_path: Path) -> None:
    written(tmp_path, "test.jsonl", RECORDS)
    loader = RemoteDataLoader(
        str(tmp_path), "test", sample_fields=of_record, shuffle=True, seed=42, limit=0.5, data_source="local"
    )
    assert [sample.input for sample in loader.load()] == ["q3", "q4", "q2", "q7"]


def test_a_limit_counts_records_before_the_filter() -> None:
    settings: dict[str, Any] = {"limit": 3, "filter_func": lambda sample: sample.input.endswith("+"), "repeats": 2}
    dataset = DictDataLoader(list(RECORDS), sample_fields=two_of_record, **settings).load()
    assert [(each.id, each.group_id, each.input) for each in dataset] == [
        (0, 0, "q0+"),
        (1, 0, "q0+"),
        (2, 1, "q1+"),
        (3, 1, "q1+"),
        (4, 2, "q2+"),
        (5, 2, "q2+"),
    ]


@pytest.mark.parametrize(("limit", "n"), [(None, None), (0, 0), (3, 3), (0.5, 5), (0.01, 0), (1.0, 11)])
def test_a_limit_is_a_number_or_a_share(limit: Any, n: Any) -> None:
    assert resolve_dataset_limit(limit, 11) == n


@pytest.mark.parametrize("limit", [-1, 1.5, float("nan"), "3"])
def test_what_is_no_limit_is_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="limit"):
        validate_dataset_limit(limit)


def test_a_dataset_is_divided_by_the_key_of_its_samples() -> None:
    whole = DictDataLoader(list(RECORDS), sample_fields=of_record).load()
    divided = DatasetDict.from_dataset(whole, ["z", "x", "empty"], limit=0.7, repeats=2)
    assert list(divided.keys()) == ["z", "x", "empty"]
    assert [each.input for each in divided["x"]] == ["q0", "q0", "q3", "q3"]
    assert [(each.id, each.group_id) for each in divided["z"]] == [(0, 0), (1, 0)]
    assert len(divided["empty"]) == 0
    assert divided["x"][0] is not whole[0]
    assert [each.id for each in DatasetDict.from_dataset_dicts([divided, divided])["z"]] == [0, 1, 0, 1]


def test_the_order_of_options_is_the_samples_own() -> None:
    alone = MemoryDataset([of_record(RECORDS[4])])
    alone.shuffle_choices(seed=42)
    assert shown(alone) == [(None, None, "q4", "bdac", "C")]
    listed = MemoryDataset([Sample(input="q4", choices=["a", "b", "c", "d"], target=["A", "B"])])
    listed.shuffle_choices(seed=42)
    assert listed[0].target == ["C", "A"]
    with pytest.raises(TypeError):
        MemoryDataset([Sample(input="q", choices=["a", "b"], target="AB")]).shuffle_choices(seed=1)


def test_local_files_are_named_by_subset_and_split(tmp_path: Path) -> None:
    written(tmp_path, "x_test.jsonl", RECORDS[:2])
    written(tmp_path, "x.jsonl", RECORDS[2:])
    written(tmp_path, "y.jsonl", RECORDS[:1])
    written(tmp_path, "z_test.jsonl", [])
    (tmp_path / "z.csv").write_text('\ufeffq,c,a,s\n"a, b",,A,x\n', encoding="utf-8")
    (tmp_path / "t.tsv").write_text("q\tc\ta\ts\nu\t\tB\ty\n", encoding="utf-8")

    def read(subset: str) -> list[str]:
        loader = LocalDataLoader(
            str(tmp_path), "test", subset=subset, sample_fields=lambda record: Sample(input=record["q"])
        )
        return [sample.input for sample in loader.load()]

    assert read("x") == ["q0", "q1"]
    assert read("y") == ["q0"]
    assert read("z") == ["a, b"]
    assert read("t") == ["u"]
    with pytest.raises(FileNotFoundError, match=r"subset 'w'.*w_test and w.*x\.jsonl") as caught:
        read("w")
    assert isinstance(caught.value, DataError)


def test_one_file_is_every_subset(tmp_path: Path) -> None:
    file = written(tmp_path, "any.jsonl", RECORDS)
    adapter = SimpleNamespace()
    dataset = load_local_file_dataset(adapter, str(file), "x", "test", of_record, 2, 1, False)
    assert [sample.input for sample in dataset] == ["q0", "q1"]
    assert (dataset.name, dataset.location) == ("any", str(file))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_local_file_dataset(adapter, str(tmp_path / "none"), "x", "test", of_record, None, 1, False)


def test_media_stay_encoded(tmp_path: Path) -> None:
    image = Image.new("RGB", (2, 2), (255, 0, 0))
    features = datasets.Features(
        {"image": datasets.Image(), "images": [datasets.Image()], "q": datasets.Value("string")}
    )
    whole = datasets.Dataset.from_dict({"image": [image], "images": [[image, image]], "q": ["?"]}, features=features)
    whole.to_parquet(tmp_path / "i_test.parquet")
    seen: list[Any] = []

    def keep(record: dict[str, Any]) -> Sample:
        seen.append(record)
        return Sample(input=record["q"])

    LocalDataLoader(str(tmp_path), "test", subset="i", sample_fields=keep).load()
    assert set(seen[0]["image"]) == {"bytes", "path"}
    assert Image.open(io.BytesIO(seen[0]["images"][1]["bytes"])).size == (2, 2)
    with pytest.raises(TypeError, match="dataset"):
        undecode_media([1])


def test_data_of_the_run_replace_a_dataset(tmp_path: Path) -> None:
    written(tmp_path, "test.jsonl", RECORDS)
    with guest_context_with(data={"owner/name": str(tmp_path)}):
        dataset = RemoteDataLoader("owner/name", "test", sample_fields=of_record).load()
        assert len(dataset) == 8
        hub = DatasetHub("owner/name")
        assert hub.download_snapshot() == str(tmp_path)
        assert hub.download_file("test.jsonl") == str(tmp_path / "test.jsonl")
        assert len(hub.load("test")) == 8


def test_files_of_a_local_dataset_are_inside_of_it(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="outside"):
        download_dataset_file(str(tmp_path), "../x")
    with pytest.raises(FileNotFoundError, match="no file"):
        download_dataset_file(str(tmp_path), "x")


def test_a_hub_that_there_is_not_is_named() -> None:
    with pytest.raises(PlanError, match="modelscop"):
        DatasetHub("owner/name", data_source="modelscop").load("test")
    with pytest.raises(DataError, match="not on this machine"):
        DatasetHub("owner/name", data_source="local").load("test")


def test_a_source_has_the_ids_of_two_hubs(tmp_path: Path) -> None:
    source = DatasetSource("ms/name", "v1", "hf/name", "v2", {"a": "b"})
    assert [source.resolve_dataset_id(hub) for hub in ("modelscope", "huggingface", None)] == [
        "ms/name",
        "hf/name",
        "ms/name",
    ]
    assert [source.resolve_revision(hub) for hub in ("modelscope", "huggingface")] == ["v1", "v2"]
    assert source.resolve_file_path("huggingface", "a") == "b"
    assert DatasetSource(str(tmp_path), hf_dataset_id="hf/name").resolve_dataset_id("huggingface") == str(tmp_path)
    adapter = SimpleNamespace(
        dataset_id=str(tmp_path), dataset_hub="local", dataset_revision=None, force_redownload=False, dataset_dir=None
    )
    assert resolve_snapshot_or_local_path(adapter) == str(tmp_path)


def test_records_that_an_adapter_has_read_stay_in_their_order() -> None:
    settings: dict[str, Any] = {"location": "there", "repeats": 2, "shuffle": True, "seed": 42}
    before = list(RECORDS)
    built = build_dataset_from_records(before, of_record, name="n", limit=2, **settings)
    assert [(each.id, each.group_id, each.input) for each in built] == [
        (0, 0, "q3"),
        (1, 0, "q3"),
        (2, 1, "q4"),
        (3, 1, "q4"),
    ]
    assert before == RECORDS
    by_subset = build_dataset_dict_from_record_map(
        {"u": before[:1], "v": before[1:]}, of_record, limit=None, **settings
    )
    assert [len(each) for each in by_subset.values()] == [2, 14]


def test_fields_are_read_by_their_names() -> None:
    record = {"input": "i", "target": ["a", 1], "choices": "a,b", "metadata": '{"k": 1}', "files": '{"a": "b"}'}
    (sample,) = DictDataLoader([{**record, "sandbox": {"x": 1}, "setup": 3}]).load()
    assert (sample.input, sample.target, sample.choices) == ("i", ["a", "1"], ["a", "b"])
    assert (sample.metadata, sample.files, sample.sandbox, sample.setup) == ({"k": 1}, {"a": "b"}, '{"x": 1}', "3")
    named = FieldSpec(input="p", target="t", metadata=["k", "m"])
    (sample,) = DictDataLoader([{"p": "i", "t": None, "k": 2}], sample_fields=named).load()
    assert (sample.target, sample.metadata) == ("", {"k": 2, "m": None})
    with pytest.raises(ValueError, match="no input"):
        DictDataLoader([{"input": ""}]).load()
    assert [read_choices(value) for value in (None, "a b", ["q", 2], 3)] == [None, ["a", "b"], ["q", "2"], ["3"]]
    assert read_target(None) == ""
    with pytest.raises(ValueError, match="files"):
        read_files({"a": 1})


def test_images_in_a_folder_are_read_as_a_hub_reads_them(tmp_path: Path) -> None:
    png = io.BytesIO()
    Image.new("RGB", (2, 2)).save(png, format="PNG")
    record = {"q": "?", "image": base64.b64encode(png.getvalue()).decode()}
    written(tmp_path, "test.jsonl", [record])
    (sample,) = RemoteDataLoader(
        str(tmp_path), "test", sample_fields=lambda record: Sample(input=record["q"], metadata=record)
    ).load()
    assert sample.metadata == record
