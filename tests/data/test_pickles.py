"""Pickles as data: what benchmarks keep comes back, and nothing in a file can act."""

import builtins
import collections
import contextlib
import datetime
import os
import pickle
import sys
import uuid
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.core.stored_image import StoredImage, open_stored
from polymeter.data.pickles import read_pickle, write_pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


class Calls:
    """Pickles as a call of a function, as a malicious file would."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


def table():
    stamps = pd.to_datetime(["2020-01-01", "2021-06-01"])
    return pd.DataFrame(
        {
            "index": ["1", "2"],
            "text": ["a", None],
            "object": pd.Series(["a", ["b", {"c": 1}]], dtype=object),
            "number": [1.5, np.nan],
            "flag": [True, False],
            "when": stamps,
            "zoned": stamps.tz_localize("UTC"),
            "abroad": stamps.tz_localize("Europe/Berlin"),
            "long": pd.to_timedelta([1, 2], unit="s"),
            "kind": pd.Categorical(["x", "y"]),
            "whole": pd.array([1, None], dtype="Int64"),
            "maybe": pd.array([True, None], dtype="boolean"),
            "string": pd.array(["a", None], dtype="string"),
            "plain": pd.array(["a", "b"], dtype="string[python]"),
            "month": pd.period_range("2020-01", periods=2, freq="M"),
            "span": pd.interval_range(0, 2),
            "arrow": pd.array([1, 2], dtype="int64[pyarrow]"),
        }
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_tables_of_all_kinds_of_columns_come_back(protocol):
    for frame in (table(), table().set_index("index"), table().set_index("when"), table().set_index(["index", "kind"])):
        pd.testing.assert_frame_equal(read_pickle(pickle.dumps(frame, protocol)), frame)


VALUES = [
    table()["text"],
    table().index,
    pd.CategoricalIndex(["a"]),
    pd.Timestamp("2020", tz="UTC"),
    pd.Timedelta(3),
    pd.NA,
    pd.NaT,
    np.array([[1, 2], [3, 4]], order="F"),
    np.array([None, "a", [1]], dtype=object),
    np.array(["a", "bc"]),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    np.array([(1, "x")], dtype=[("a", int), ("b", object)]),
    np.ma.array([1, 2], mask=[0, 1]),
    np.float32(3),
    np.int64(-1),
    np.str_("a"),
    np.dtype("f8"),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
    datetime.timedelta(1),
    collections.OrderedDict(a=1),
    collections.defaultdict(list, {"a": [1]}),
    collections.Counter("aab"),
    Decimal("1.5"),
    Path("a/b"),
    uuid.UUID(int=5),
    {1, 2},
    frozenset([1]),
    b"\xff\0",
    bytearray(b"x"),
    complex(1, 2),
    range(3),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back(value, protocol):
    found = read_pickle(pickle.dumps(value, protocol))
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_images_come_back_pixel_by_pixel(tmp_path):
    pixels = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    pil.fromarray(pixels).save(tmp_path / "a.png")
    kept = {"prediction": [pil.fromarray(pixels), pil.open(tmp_path / "a.png"), open_stored(tmp_path / "a.png")]}
    for protocol in (2, 4, 5):
        found = read_pickle(pickle.dumps(pd.DataFrame({"prediction": [kept["prediction"]]}), protocol))["prediction"][0]
        assert [np.array_equal(np.asarray(image), pixels) for image in found] == [True] * 3
        assert isinstance(found[2], StoredImage)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
        max_leaves=12,
    ),
    st.sampled_from(PROTOCOLS),
)
def test_any_plain_data_comes_back(value, protocol):
    assert read_pickle(pickle.dumps(value, protocol)) == value


ATTACKS = {
    "os.system": Calls(os.system, ("touch SIGN",)),
    "eval": Calls(builtins.eval, ("open('SIGN', 'w')",)),
    "exec": Calls(builtins.exec, ("open('SIGN', 'w')",)),
    "open": Calls(builtins.open, ("SIGN", "w")),
    "nested": [{"rows": (1, {"deep": [Calls(os.system, ("touch SIGN",))]})}],
    "in a table": pd.DataFrame({"prediction": pd.Series([[Calls(os.system, ("touch SIGN",))]], dtype=object)}),
    "in an array": np.array([Calls(os.system, ("touch SIGN",)), None], dtype=object),
    "as default": Calls(collections.defaultdict, (Calls(builtins.eval, ("list",)),)),
    "pandas.eval": Calls(pd.eval, ("1 + 1",)),
    "pandas.read_pickle": Calls(pd.read_pickle, ("SIGN",)),
    "getattr": Calls(getattr, ([], "append")),
    "numpy.memmap": Calls(np.memmap, ("SIGN", "u1", "w+", 0, 5)),
    "numpy.load": Calls(np.load, ("SIGN",)),
}


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("name", ATTACKS)
def test_what_would_act_is_refused_before_it_does(name, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.pkl").write_bytes(pickle.dumps(ATTACKS[name], protocol))
    with pytest.raises(DataError, match=r"bad\.pkl .*(which is not data|over raw memory)"):
        read_pickle(tmp_path / "bad.pkl")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.pkl"]


def test_the_refusal_names_what_was_asked_for_and_the_file(tmp_path):
    (tmp_path / "p.pkl").write_bytes(b"cos\nsystem\n(S'id'\ntR.")
    with pytest.raises(DataError, match=r"The pickle .*p\.pkl asks for os\.system, which is not data\."):
        read_pickle(tmp_path / "p.pkl")


CRAFTED = {
    "a dotted name": (b"\x80\x04\x8c\x0bcollections\x8c\x0c_sys.modules\x93.", "is not data"),
    "pandas' own imports": (b"\x80\x04\x8c\x10pandas.io.common\x8c\x02os\x93.", "is not data"),
    "a module's function": (b"\x80\x04\x8c\x05numpy\x8c\x04load\x93.", "is not data"),
    "an attribute of a class": (
        b"\x80\x04\x8c\x06pandas\x8c\x09DataFrame\x93N}\x8c\x05merge\x8c\x01x s\x86b.".replace(
            b"\x8c\x01x s", b"\x8c\x01xs"
        ),
        "sets attributes of 'DataFrame'",
    ),
    "an attribute of a function": (
        b"\x80\x04\x8c\x1dpolymeter.core.stored_image\x8c\x0cstored_image\x93N}\x8c\x01a\x8c\x01bs\x86b.".replace(
            b"\x1dpoly", b"\x1bpoly"
        ),
        "sets attributes of 'stored_image'",
    ),
    "a program among NumPy's modules": (b"cnumpy.f2py.__main__\nmain\n.", "is not data"),
    "an object outside": (b"\x80\x04\x8c\x01xQ.", "refers to objects outside"),
    "an extension": (b"\x80\x04\x82\x01.", "asks for extension 1"),
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_programs_are_refused(name):
    program, why = CRAFTED[name]
    with pytest.raises(DataError, match=why):
        read_pickle(program)
    assert callable(pd.DataFrame.merge)
    assert "numpy.f2py.__main__" not in sys.modules


@pytest.mark.parametrize(
    "maker",
    [
        Calls(np.ndarray, ((1,), np.dtype("O"), b"12345678")),
        Calls(pd.core.indexes.base._new_Index, (np.ndarray, {"shape": 1, "dtype": "O", "buffer": b"12345678"})),
    ],
)
def test_no_array_is_laid_over_bytes_as_objects(maker):
    with pytest.raises(DataError, match="over raw memory"):
        read_pickle(pickle.dumps(maker))


def test_an_array_type_with_flags_that_no_such_type_has_is_refused():
    function, arguments, state = np.dtype("float64").__reduce__()
    with pytest.raises(DataError, match="not what it says it is"):
        read_pickle(pickle.dumps(Calls(function, arguments, (*state[:-1], 0x1F))))


@pytest.mark.parametrize(
    ("base", "state"),
    [
        ("f8", (3, "2", None, -1, -1, 0)),
        ("M8", (4, "<", None, None, None, -1, -1, 0)),
        ("M8", (3, "|", None, ("a",), {}, -1, 8, -1)),
        ("V16", (3, "|", None, ("a",), {"a": (np.dtype("f8"), 10**9)}, 16, 1, 16)),
        ("f8", (3, "<", (np.dtype("f8"), (-1,)), None, None, 8, 8, 0)),
    ],
)
def test_an_array_type_whose_state_is_damaged_is_refused(base, state):
    """NumPy ends the process over most of these."""
    with pytest.raises(DataError, match="not what it says it is"):
        read_pickle(pickle.dumps(Calls(np.dtype, (base, False, True), state)))


ARROW = pa.array(["a", None, "bcd"])
_, (OF_ARROW,) = ARROW.__reduce__()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, None),
        (1, -1),
        (1, 99),
        (3, -1),
        (3, 99),
        (4, []),
        (4, [None] * 3),
        (4, [None] * 9),
        (5, [OF_ARROW]),
        (6, OF_ARROW),
    ],
)
def test_an_arrow_array_of_another_form_is_refused(place, value):
    """Arrow ends the process over some of these."""
    damaged = (*OF_ARROW[:place], value, *OF_ARROW[place + 1 :])
    with pytest.raises(DataError):
        read_pickle(pickle.dumps(Calls(ARROW.__reduce__()[0], (damaged,))))


@pytest.mark.parametrize("array", [ARROW, ARROW[1:], pa.nulls(3), pa.array([True, None]), pa.array([1.5])])
def test_arrow_arrays_come_back(array):
    assert read_pickle(pickle.dumps(array)).equals(array)


@pytest.mark.parametrize(
    "kind",
    [
        "f8", ">i2", "?", "O", "S3", "U5", ">U5", "V7", "M8[ns]", "m8[25us]", "M8", "(2,3)f4", "i4,f8",
        np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"]}, align=True),
        np.dtype([(("title", "a"), "f8"), ("b", "(2,)i4")]),
        np.dtype({"names": ["a"], "formats": ["i4"], "offsets": [4], "itemsize": 16}),
    ],
)  # fmt: skip
def test_array_types_come_back(kind):
    kind = np.dtype(kind)
    back = read_pickle(pickle.dumps(kind))
    assert back == kind
    assert (back.flags, back.alignment, back.isalignedstruct) == (kind.flags, kind.alignment, kind.isalignedstruct)


def test_an_array_type_that_hides_its_references_is_refused():
    honest = np.dtype([("a", "O")])
    function, arguments, state = honest.__reduce__()
    lying = (*state[:-1], 0)  # no flags: "holds no references"
    with pytest.raises(DataError, match="not what it says it is"):
        read_pickle(pickle.dumps(Calls(function, arguments, lying)))


def test_a_pickle_that_opens_a_file_as_an_image_is_refused(tmp_path):
    from PIL.PngImagePlugin import PngImageFile

    with pytest.raises(DataError, match="opens an image file"):
        read_pickle(pickle.dumps(Calls(PngImageFile, (str(tmp_path / "a.png"),))))


@pytest.mark.parametrize("cut", [0, 1, 10, 200])
def test_a_file_that_is_cut_off_is_named(tmp_path, cut):
    (tmp_path / "p.pkl").write_bytes(pickle.dumps(table())[:cut])
    with pytest.raises(DataError, match=r"Reading the pickle .*p\.pkl raised"):
        read_pickle(tmp_path / "p.pkl")


@given(st.binary(max_size=60))
def test_any_bytes_give_data_or_one_kind_of_error(data):
    with contextlib.suppress(DataError):
        read_pickle(data)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"There is no file .*no\.pkl"):
        read_pickle(tmp_path / "no.pkl")


def test_writing_is_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "p.pkl"
    write_pickle({"a": 1}, path)
    with pytest.raises(DataError, match=r"Writing the pickle .*p\.pkl raised"):
        write_pickle({"a": lambda: 1}, path)
    assert read_pickle(path) == {"a": 1}
    assert [file.name for file in path.parent.iterdir()] == ["p.pkl"]
