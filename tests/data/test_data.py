"""Opening data: where it lies, what comes out, what is wrong with it."""

import io

import datasets
import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.core.media.sources import original
from polymeter.data import Source, make_rows, open_splits
from polymeter.data.digest import dataset_fingerprint
from polymeter.data.origins import note_origins, origin_of


def picture(value=0, size=(6, 4)):
    return pil.fromarray(np.full((size[1], size[0], 3), value, np.uint8))


def encoded(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def image_data(cells, feature=None):
    features = datasets.Features({"q": datasets.Value("string"), "image": feature or datasets.Image()})
    return datasets.Dataset.from_dict({"q": [f"q{i}" for i in range(len(cells))], "image": cells}, features=features)


def rows(data, **kwargs):
    return make_rows(data, what="test", **kwargs)


@pytest.fixture
def csv(tmp_path):
    (tmp_path / "rows.csv").write_text("q,a\nx,1\ny,2\n")
    return tmp_path


def open_one(source, split="train", **kwargs):
    return rows(open_splits(source, [split], **kwargs)[split])


@pytest.mark.parametrize("files", ["rows.csv", ["rows.csv"], {"train": "rows.csv"}, {"train": ["*.csv"]}])
def test_data_files_resolve_beside_the_yaml(csv, files):
    found = open_one(Source("csv", None, {"data_files": files}, csv), cache_dir=csv / "cache")
    assert found.docs(0, 2) == [{"q": "x", "a": 1}, {"q": "y", "a": 2}]


def test_a_local_folder_of_split_files(csv):
    (csv / "d" / "data").mkdir(parents=True)
    datasets.Dataset.from_dict({"q": ["a", "b"]}).to_parquet(str(csv / "d" / "data" / "test-00000-of-00001.parquet"))
    datasets.Dataset.from_dict({"q": ["c"]}).to_parquet(str(csv / "d" / "data" / "val-00000-of-00001.parquet"))
    assert open_one(Source("d", directory=csv), "test").docs(0, 9) == [{"q": "a"}, {"q": "b"}]
    with pytest.raises(DataError, match=r"no split 'tset'.*test, val"):
        open_one(Source("d", directory=csv), "tset")


def test_a_folder_of_save_to_disk(csv):
    datasets.DatasetDict({"test": datasets.Dataset.from_dict({"q": ["a"]})}).save_to_disk(str(csv / "d"))
    assert len(open_one(Source("d", None, {"load_from_disk": True}, csv), "test")) == 1
    assert len(open_one(Source("org/x"), "test", overrides={"org/x": str(csv / "d")})) == 1
    with pytest.raises(DataError, match=r"no split 'train'.*test"):
        open_one(Source("d", directory=csv), "train")


@pytest.mark.parametrize("key", ["org/x", "org/x:cfg"])
def test_data_puts_a_file_in_place_of_an_id_and_stands_for_every_split(csv, key):
    source = Source("org/x", "cfg", {"token": True, "trust_remote_code": True})
    found = open_splits(source, ["test", "val"], overrides={key: str(csv / "rows.csv")}, cache_dir=csv / "c")
    assert [len(found[split]) for split in ("test", "val")] == [2, 2]


def test_a_configuration_has_its_own_folder(csv):
    (csv / "d" / "cfg").mkdir(parents=True)
    (csv / "d" / "cfg" / "test.jsonl").write_text('{"q": "inner"}\n')
    (csv / "d" / "test.jsonl").write_text('{"q": "outer"}\n')
    assert open_one(Source("org/x", "cfg"), "test", overrides={"org/x": str(csv / "d")}).doc(0) == {"q": "inner"}


def test_an_image_folder(tmp_path):
    for split, label in (("train", "a"), ("train", "b")):
        (tmp_path / "d" / split / label).mkdir(parents=True)
        (tmp_path / "d" / split / label / "x.png").write_bytes(encoded(picture()))
    for source in (Source("imagefolder", None, {"data_dir": "d"}, tmp_path), Source("d", directory=tmp_path)):
        found = open_one(source, cache_dir=tmp_path / "c")
        assert found.columns == ("image", "label")
        assert found.doc(1) == {"label": 1}
        assert found.full_doc(1)["image"].size == (6, 4)


def test_split_slices(csv):
    assert len(open_one(Source("rows.csv", directory=csv), "train[:1]", cache_dir=csv / "c")) == 1
    assert len(open_one(Source("csv", None, {"data_files": "rows.csv"}, csv), "train[:50%]", cache_dir=csv / "c")) == 1


def test_a_hub_id_offline_names_the_data_option():
    with pytest.raises(DataError, match="--data org/none=PATH"):
        open_one(Source("org/none"), "test")


def test_bad_places_are_named(csv):
    with pytest.raises(DataError, match="There is no file or folder"):
        open_one(Source("org/x"), overrides={"org/x": str(csv / "none")})
    with pytest.raises(DataError, match=r"'\./none' does not exist"):
        open_one(Source("./none", directory=csv))
    (csv / "empty.csv").write_text("")
    with pytest.raises(DataError, match="empty"):
        open_one(Source("empty.csv", directory=csv))
    with pytest.raises(DataError, match=r"no split 'test'.*train"):
        open_one(Source("csv", None, {"data_files": "rows.csv"}, csv), "test", cache_dir=csv / "c")
    (csv / "a.bin").write_bytes(b"x")
    with pytest.raises(DataError, match="Supported suffixes"):
        open_one(Source("org/x"), overrides={"org/x": str(csv / "a.bin")})


# --- rows ------------------------------------------------------------------------------------------------------------


def test_docs_leave_media_out_and_full_docs_open_it_lazily():
    data = encoded(picture(9), "JPEG")
    found = rows(image_data([{"bytes": data, "path": None}, None]))
    assert found.media == {"image": "image"}
    assert found.doc(0) == {"q": "q0"}
    image = found.full_doc(0)["image"]
    assert image.tile  # opened, not decoded
    assert original(image) == data
    assert found.full_doc(1)["image"] is None
    assert not found.is_always_one("image") or found.cell(1, "image") is None


def test_lists_of_images_and_nested_ones():
    cells = [[{"bytes": encoded(picture(i)), "path": None} for i in range(2)]]
    found = rows(image_data(cells, datasets.List(datasets.Image())))
    assert found.doc(0) == {"q": "q0"}
    assert [image.getpixel((0, 0))[0] for image in found.full_doc(0)["image"]] == [0, 1]
    nested = rows(
        image_data([{"inner": cells[0][1], "n": 1}], {"inner": datasets.Image(), "n": datasets.Value("int64")})
    )
    assert nested.doc(0)["image"]["inner"].getpixel((0, 0))[0] == 1
    assert nested.doc(0)["image"]["n"] == 1


def test_a_corrupt_image_is_an_error_of_its_row_only():
    found = rows(image_data([{"bytes": b"no image", "path": None}, {"bytes": encoded(picture()), "path": None}]))
    assert found.docs(0, 2) == [{"q": "q0"}, {"q": "q1"}]
    with pytest.raises(DataError, match="Cannot read the image of the dataset"):
        found.full_doc(0)
    assert found.full_doc(1)["image"].size == (6, 4)


def test_exif_orientation_is_applied_and_such_bytes_are_not_sent_on():
    exif = pil.Exif()
    exif[0x0112] = 6
    for kind in ("JPEG", "PNG"):
        found = rows(image_data([{"bytes": encoded(picture(), kind, exif=exif), "path": None}]))
        image = found.full_doc(0)["image"]
        assert image.size == (4, 6)
        assert not hasattr(image, "polymeter_bytes")


def test_values_equal_those_of_datasets():
    data = datasets.Dataset.from_dict(
        {
            "s": ["a", None],
            "i": [1, None],
            "f": [1.5, float("inf")],
            "b": [True, False],
            "l": [[1], []],
            "d": [{"x": 1}, None],
            "j": [2, 3],
        }
    )
    assert rows(data).docs(0, 2) == [data[0], data[1]]
    assert type(rows(data).doc(0)["j"]) is int


def test_selected_and_shuffled_datasets_keep_their_order():
    data = datasets.Dataset.from_dict({"k": list(range(10))}).shuffle(seed=1).select([5, 2, 7])
    assert [doc["k"] for doc in rows(data).docs(0, 3)] == [data[i]["k"] for i in range(3)]


def test_fingerprints_follow_content_and_order():
    data = datasets.Dataset.from_dict({"k": [1, 2, 3]})
    same = datasets.concatenate_datasets([data.select([0]), data.select([1, 2])])
    assert rows(data).fingerprint == rows(same).fingerprint
    assert rows(data).fingerprint != rows(data.select([2, 1, 0])).fingerprint
    assert rows(data).fingerprint != rows(data.rename_column("k", "j")).fingerprint


class OtherVersion:
    """A dataset of a version of ``datasets`` that keeps the numbers of its rows under another name."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __len__(self):
        return len(self._dataset)

    def __getattr__(self, name):
        if name == "_indices":
            raise AttributeError(name)
        return getattr(self._dataset, name)


def test_fingerprints_follow_content_and_order_whatever_datasets_calls_its_numbers_of_rows():
    data = datasets.Dataset.from_dict({"k": [1, 2, 3]})
    assert dataset_fingerprint(OtherVersion(data)) == dataset_fingerprint(data)
    turned = dataset_fingerprint(OtherVersion(data.select([2, 1, 0])))
    assert turned == dataset_fingerprint(datasets.Dataset.from_dict({"k": [3, 2, 1]}))
    note_origins(data, {"train": [__file__]}, {"train": 0})
    assert origin_of(data).start == 0
    assert origin_of(OtherVersion(data)) is None


def test_fingerprints_are_remembered_by_file(tmp_path):
    datasets.Dataset.from_dict({"k": [1, 2, 3]}).save_to_disk(str(tmp_path / "d"))
    first = rows(datasets.load_from_disk(str(tmp_path / "d")), cache_dir=tmp_path / "c").fingerprint
    again = rows(datasets.load_from_disk(str(tmp_path / "d")), cache_dir=tmp_path / "c").fingerprint
    assert first == again == rows(datasets.Dataset.from_dict({"k": [1, 2, 3]})).fingerprint
    assert list((tmp_path / "c").iterdir())


def test_rows_that_code_holds_itself():
    found = rows([{"q": 1, "image": picture()}, {"q": 2, "image": picture()}])
    assert found.docs(0, 5) == [{"q": 1}, {"q": 2}]
    assert found.full_doc(1)["image"].size == (6, 4)
    with pytest.raises(DataError, match="no rows"):
        rows([])
    with pytest.raises(DataError, match="must be dictionaries"):
        rows([1])
