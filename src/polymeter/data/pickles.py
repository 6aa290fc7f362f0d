"""Pickles read as data: tables, arrays, images and plain values come out; nothing that could do harm is ever called.

A pickle is a program. This reader interprets that program with the constructors of a closed list, and refuses to call,
or to set attributes on, anything else. It does not protect against files that exploit an error in the C code of NumPy,
pandas, Arrow or Pillow.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import pickle
import sys
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

from polymeter.core.errors import DataError, boundary
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import is_pil

_STORED = ("polymeter.core.stored_image", "stored_image")  # prediction files name it, so it stays where it is
_PLAIN = {
    "builtins": "bool bytearray bytes complex dict float frozenset int list object range set slice str tuple",
    "collections": "Counter OrderedDict defaultdict deque",
    "copyreg": "_reconstructor",
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath",
    _STORED[0]: _STORED[1],
    "polymeter.data.stored_column": "stored_column",
    "uuid": "SafeUUID UUID",
    "zoneinfo": "ZoneInfo",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy._core.numeric": "_frombuffer",
    "numpy.ma.core": "_mareconstruct",
    "pandas": "NA",
    "pandas._libs.arrays": "__pyx_unpickle_NDArrayBacked",
    "pandas._libs.internals": "_unpickle_block",
    "pandas._libs.interval": "__pyx_unpickle_IntervalMixin",
    "pandas._libs.missing": "NA",
    "pandas._libs.tslibs.nattype": "_nat_unpickle __nat_unpickle",
    "pandas._libs.tslibs.timedeltas": "_timedelta_unpickle",
    "pandas._libs.tslibs.timestamps": "_unpickle_timestamp",
    "pandas.core.indexes.base": "_new_Index",
    "pandas.core.indexes.datetimes": "_new_DatetimeIndex",
    "pandas.core.internals.blocks": "new_block",
    "pyarrow.lib": "py_buffer type_for_alias chunked_array",
    "pytz": "_UTC _p",
}
_ALLOWED = frozenset((module, name) for module, names in _PLAIN.items() for name in names.split())
_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg", "pathlib._local": "pathlib"}
_RENAMED_TYPES = {"xrange": "range", "unicode": "str", "long": "int"}
_IMAGES = (
    "Image.Image BmpImagePlugin.BmpImageFile BmpImagePlugin.DibImageFile GifImagePlugin.GifImageFile "
    "JpegImagePlugin.JpegImageFile MpoImagePlugin.MpoImageFile PngImagePlugin.PngImageFile "
    "PpmImagePlugin.PpmImageFile TiffImagePlugin.TiffImageFile WebPImagePlugin.WebPImageFile"
)
_IMAGE_TYPES = frozenset(f"PIL.{name}" for name in _IMAGES.split())
_ARRAY_MAKERS = ("_reconstruct", "_mareconstruct")
_ALIGNED = 128  # the flag of a structure whose fields are aligned as in C
_HINT = "Only tables, arrays, images, containers and plain values are read from pickles."


def read_pickle(source: Path | str | bytes) -> Any:
    """The content of a pickle that holds only data.

    Args:
        source: The file, or the pickle's bytes.

    Returns:
        DataFrames, Series, indexes, NumPy arrays and scalars, Pillow images, containers and scalars of Python, dates
        and times, paths, UUIDs, and compositions of these.

    Raises:
        DataError: if the file is missing or damaged, or asks for anything else; the message names what it asks for.
    """
    where = "these bytes" if isinstance(source, bytes) else str(source)
    data = source if isinstance(source, bytes) else _bytes_of(Path(source))
    folder = None if isinstance(source, bytes) else Path(source).resolve().parent
    with boundary(DataError, f"Reading the pickle {where}", hint="It is cut off, damaged, or of another version."):
        return _DataUnpickler(io.BytesIO(data), where, folder).load()


def write_pickle(value: Any, path: Path | str) -> None:
    """Write a value as a pickle, completely or not at all.

    Raises:
        DataError: if the value cannot be pickled.
    """
    target = Path(path)
    with boundary(DataError, f"Writing the pickle {target}"), replacing(target, binary=True) as file:
        if "pandas" in sys.modules:
            from polymeter.data.stored_column import with_texts

            value = with_texts(value)
        pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)


_Steps: Any = pickle._Unpickler  # its methods have no annotations


class _DataUnpickler(_Steps):  # type: ignore[misc]
    """The interpreter in Python, whose steps can be overridden one by one; the one in C does all that a pickle says.

    Args:
        file: The pickle.
        where: Its name, for messages.
        folder: The folder of the file; images that it refers to may have been moved with it.
    """

    dispatch: ClassVar[dict[int, Any]] = dict(_Steps.dispatch)

    def __init__(self, file: io.BytesIO, where: str, folder: Path | None) -> None:
        super().__init__(file)
        self._where = where
        self._folder = folder

    def find_class(self, module: str, name: str) -> Any:
        allowed = _find(_RENAMED.get(module, module), name)
        if allowed is None:
            raise self._refused(f"asks for {module}.{name}, which is not data")
        if self._folder is not None and (module, name) == _STORED:
            from polymeter.core.stored_image import stored_near

            return partial(stored_near, self._folder)
        return allowed

    def persistent_load(self, pid: Any) -> Any:
        raise self._refused("refers to objects outside the file")

    def get_extension(self, code: int) -> None:
        raise self._refused(f"asks for extension {code}, which is not data")

    def load_build(self) -> None:
        """Set the state of an object; on a class or function, that would change it for the whole process."""
        target = self.stack[-2]
        if callable(target):
            raise self._refused(f"sets attributes of {getattr(target, '__name__', target)!r}")
        self.stack[-1] = self._checked_state(target, self.stack[-1])
        super().load_build()

    def load_reduce(self) -> None:
        self._check_call(self.stack[-2], self.stack[-1])
        super().load_reduce()

    def load_newobj(self) -> None:
        self._check_call(self.stack[-2], self.stack[-1])
        super().load_newobj()

    def load_newobj_ex(self) -> None:
        self._check_call(self.stack[-3], self.stack[-2])
        super().load_newobj_ex()

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex

    def _check_call(self, called: Any, arguments: Any) -> None:
        """Refuse calls that would make an array over raw memory.

        NumPy's own pickles make arrays with two functions; by any other call, bytes could be read as if they were
        references to objects.
        """
        import numpy as np

        is_maker = getattr(called, "__name__", "") in _ARRAY_MAKERS
        for item in (called, *(() if is_maker else arguments)):
            if isinstance(item, type) and issubclass(item, np.ndarray):
                raise self._refused("makes an array over raw memory")
        if isinstance(called, type) and is_pil(called) and arguments:
            raise self._refused("opens an image file")

    def _checked_state(self, target: Any, state: Any) -> Any:
        """The state for an object. That of an array type must be what NumPy writes for such a type: NumPy believes any
        other, and ends the process.
        """
        import numpy as np

        if not isinstance(target, np.dtype):
            return state
        try:
            true_state = _type_of(target, state).__reduce__()[2]
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError):
            true_state = None
        # The first item is the version of the form; the ninth is metadata, of which only the unit of times counts.
        if true_state is None or true_state[1:8] != state[1:8]:
            raise self._refused("holds an array type that is not what it says it is")
        return true_state

    def _refused(self, action: str) -> DataError:
        return DataError(f"The pickle {self._where} {action}.", where=self._where, hint=_HINT)


def _bytes_of(path: Path) -> bytes:
    if not path.is_file():
        raise DataError(f"There is no file {path}.", hint="Put the file there.")
    return path.read_bytes()


# Kept for the life of the process: what a pickle may name is a constant.
@lru_cache(maxsize=1024)
def _find(module: str, name: str) -> Any:
    """The object that a pickle may name by ``module.name``; ``None`` if it may not."""
    replaced = _REPLACED.get((module, name))
    if replaced is not None:
        return replaced
    root = module.partition(".")[0]
    name = _RENAMED_TYPES.get(name, name) if module == "builtins" else name
    # NumPy 2 renamed its core package; pickles of either version are read by either.
    for core, other in (("numpy.core", "numpy._core"), ("numpy._core", "numpy.core")):
        if root == "numpy" and module.startswith(core) and not _exists(module):
            module = module.replace(core, other, 1)
    is_listed = (module.replace("numpy.core", "numpy._core"), name) in _ALLOWED or f"{module}.{name}" in _IMAGE_TYPES
    if "." in name or not (is_listed or _is_loaded(module, root)) or not _exists(module):
        return None
    value = getattr(importlib.import_module(module), name, None)
    return value if is_listed or _is_data_type(value, root) else None


def _is_loaded(module: str, root: str) -> bool:
    """Return whether a module is one that NumPy or pandas loads by itself. Others may act when they are imported:
    ``numpy.f2py.__main__`` is a program.
    """
    if root not in ("numpy", "pandas"):
        return False
    importlib.import_module(root)
    return not {module, module.replace("numpy.core", "numpy._core")}.isdisjoint(sys.modules)


def _exists(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _is_data_type(value: Any, root: str) -> bool:
    """Return whether a value is a class of NumPy's or pandas' data.

    Their modules move between versions, but classes keep their bases.
    """
    if not isinstance(value, type):
        return False
    import numpy as np

    if root == "numpy":
        return issubclass(value, (np.generic, np.ndarray, np.dtype)) and not issubclass(value, np.memmap)
    import pandas as pd
    from pandas.api.extensions import ExtensionArray, ExtensionDtype
    from pandas.core.internals.managers import BlockManager, SingleBlockManager

    bases = (pd.DataFrame, pd.Series, pd.Index, ExtensionArray, ExtensionDtype, BlockManager, SingleBlockManager)
    return issubclass(value, (*bases, pd.Timestamp, pd.Timedelta, pd.Period, pd.Interval, pd.offsets.BaseOffset))


def _type_of(base: Any, state: tuple[Any, ...]) -> Any:
    """The array type that a state describes.

    Args:
        base: A type of the same kind.
        state: As NumPy pickles it: a version, byte order, base and shape of a subarray, names and fields of a
            structure, bytes of an item, alignment, flags, and metadata with the unit of a time.
    """
    import numpy as np

    _, order, inner, names, fields, n_bytes, _, flags, *metadata = state
    if inner is not None:
        return np.dtype((inner[0], inner[1]))
    if names is not None:
        own = [fields[name] for name in names]
        spec: dict[str, Any] = {
            "names": list(names),
            "formats": [one[0] for one in own],
            "offsets": [one[1] for one in own],
        }
        if any(len(one) > 2 for one in own):
            spec["titles"] = [one[2] if len(one) > 2 else None for one in own]
        whole: Any = {**spec, "itemsize": n_bytes}
        return np.dtype(whole, align=bool(flags & _ALIGNED))
    if base.kind in "mM":
        unit, number, *_ = metadata[0][1]
        name = unit.decode() if isinstance(unit, bytes) else unit
        return np.dtype(f"{order}{base.kind}8" + ("" if name == "generic" else f"[{number}{name}]"))
    if base.kind in "SUV":
        return np.dtype(f"{base.kind}{n_bytes // np.dtype(f'{base.kind}1').itemsize}").newbyteorder(order)
    return base.newbyteorder(order)


def _latin_1(text: str, encoding: str) -> bytes:
    """The way in which old pickles write bytes."""
    if encoding != "latin1":
        raise ValueError(f"bytes are written in {encoding!r}")
    return text.encode("latin-1")


def _checked_array(data: Any) -> Any:
    """An Arrow array that has the buffers of its type, and whose offsets have been checked to lie within them.

    The types that may be asked for are plain ones: they have neither arrays below them nor a dictionary.
    """
    import pyarrow as pa

    kind, length, n_null, offset, buffers, children, dictionary = data
    lacks_buffer = length > 0 and any(buffer is None for buffer in buffers[1:])
    if length < 0 or offset < 0 or children or dictionary is not None or lacks_buffer:
        raise ValueError(f"an Arrow array of {kind} has another form than such arrays have")
    array = pa.Array.from_buffers(kind, length, buffers, n_null, offset)
    array.validate(full=True)
    return array


def _time_zone(key: str, _from_cache: bool) -> Any:
    from zoneinfo import ZoneInfo

    return ZoneInfo(key)


def _attribute(owner: Any, name: str) -> Any:
    """The only attribute that pickles of data look up with ``getattr``: the constructor of time zones."""
    if getattr(owner, "__qualname__", "") != "ZoneInfo" or name != "_unpickle":
        raise ValueError(f"it asks for the attribute {name!r} of {owner!r}, which is not data.")
    return _time_zone


_REPLACED = {
    ("_codecs", "encode"): _latin_1,
    ("builtins", "getattr"): _attribute,
    ("pyarrow.lib", "_restore_array"): _checked_array,
    ("zoneinfo", "ZoneInfo._unpickle"): _time_zone,
}
"""Replacements for functions that could do more than data needs."""
