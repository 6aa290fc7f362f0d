"""Finding a dataset's table: the file that the run names, the folder of tables, or a verified download.

A table that is fetched for a dataset class gets a note beside it that names the class: its columns may make a benchmark
without code as well, but its class measures something else.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context
from polymeter.core.machine.files import replacing
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.fetch import download, md5_of
from polymeter.data.opening.mirrors import first_that_opens, is_missing
from polymeter.tasks.table.files.roots import LMUDataRoot, is_offline_here, named_table, table_folders, table_names

log = logging.getLogger(__name__)
_ORIGIN = ".origin.json"


def table_file(name: str, url: str, md5: str | None, owner: str = "", mirrors: Sequence[str] = ()) -> Path:
    """The local file of a dataset's table.

    In this order: the file that the run names; ``<dataset>.tsv`` in the folder of tables, then the last component of
    the URL there; the same beside the class; a download, kept as ``<dataset>.tsv``. A file with another MD5 than the
    dataset's is not used: if there is a URL, a verified download takes the place of the one in the folder of tables,
    and the old file is kept beside it under another name.

    Args:
        name: The dataset.
        url: Where its table is published; empty or a local path if it is not.
        md5: Hex MD5 of its table; ``None``: any.
        owner: The dataset's class; noted beside a table that is fetched for it.
        mirrors: Further addresses of it, tried in order if nothing is at ``url``.

    Raises:
        DataError: if there is no such table, or its MD5 is wrong.
    """
    named = named_table(name)
    if named is not None:
        _note_difference(name, named, md5)
        return named
    if url and "://" not in url and os.path.isfile(url):
        return _verified(Path(url).absolute(), md5)
    paths = _candidates(name, url)
    present = {path: md5_of(path) if md5 else None for path in paths if path.is_file()}
    fitting = next((path for path, value in present.items() if not md5 or value == md5.lower()), None)
    if fitting is not None:
        return fitting
    root = Path(LMUDataRoot())
    own = {path: value for path, value in present.items() if path.parent == root}
    if "://" not in url:
        raise _no_table(name, paths, present, md5)

    def fetch(address: str) -> str:
        if not own:
            log.info("fetching %s for dataset %s", hide_secrets(address), name)
            download(address, paths[0], md5=md5, is_offline=is_offline_here())
        else:
            _fetched_anew(address, paths[0], own, str(md5))
        return address

    used = first_that_opens((url, *mirrors), fetch, is_absent=is_missing)
    if used != url:
        _note_mirror(used, paths[0])
    if owner:
        note_origin(paths[0], owner, used)
    return paths[0]


def table_here(name: str, url: str, md5: str | None) -> Path | None:
    """A dataset's table that need not be fetched: the file that the run names, else one with the right MD5 in the
    folder of tables or beside the class. ``None`` if there is none.

    Raises:
        DataError: if the run names a file that does not exist.
    """
    named = named_table(name)
    if named is not None:
        _note_difference(name, named, md5)
        return named
    return next(
        (path for path in _candidates(name, url) if path.is_file() and (not md5 or md5_of(path) == md5.lower())), None
    )


def note_origin(table: Path, class_name: str, url: str) -> None:
    """Write beside a table which class it was fetched for, and from where."""
    origin = {"class": class_name, "url": hide_secrets(url), "bytes": table.stat().st_size}
    with suppress(OSError), replacing(_origin_file(table)) as file:
        json.dump(origin, file, ensure_ascii=False)


def _note_mirror(url: str, table: Path) -> None:
    """Record that a mirror was read: where an id of a hub has a commit, a file has its digest."""
    read = guest_context().read_revisions
    if read is not None:
        read[hide_secrets(url)] = f"md5:{md5_of(table)}"


def origin_of(table: Path) -> str | None:
    """The class that a table was fetched for; ``None`` if it was not fetched, or has been replaced since."""
    try:
        origin = json.loads(_origin_file(table).read_text(encoding="utf-8"))
        return str(origin["class"]) if origin["bytes"] == table.stat().st_size else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _origin_file(table: Path) -> Path:
    return table.with_name(f"{table.name}{_ORIGIN}")


def _candidates(name: str, url: str) -> list[Path]:
    return [folder / file for folder in table_folders() for file in table_names(name, url)]


def _fetched_anew(url: str, target: Path, present: dict[Path, str | None], md5: str) -> Path:
    """A verified download that replaces files with another MD5."""
    path, value = next(iter(present.items()))
    log.warning("%s has MD5 %s, not %s: fetching %s", path, value, md5, hide_secrets(url))
    try:
        with _set_aside(target, present.get(target)):
            return download(url, target, md5=md5, is_offline=is_offline_here())
    except DataError as error:
        raise DataError(
            f"{path} has MD5 {value}, not {md5}, and no right one could be fetched: {error.what}",
            where=str(path),
            hint="Nothing was changed. To measure on your own table, name it with --data, or correct DATASET_MD5.",
        ) from error


@contextmanager
def _set_aside(target: Path, md5: str | None) -> Iterator[None]:
    """Keep a file's content under another name if the block succeeds."""
    if md5 is None:
        yield
        return
    aside = target.with_name(f"{target.name}.{md5[:8]}.old")
    if not aside.exists():
        try:
            os.link(target, aside)
        except OSError:
            shutil.copy2(target, aside)
    try:
        yield
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    log.warning("the former %s is kept as %s", target.name, aside)


def _verified(path: Path, md5: str | None) -> Path:
    actual = md5_of(path) if md5 else None
    if md5 and actual != md5.lower():
        raise DataError(f"{path} has MD5 {actual}, not {md5.lower()}.", where=str(path), hint="Correct DATASET_MD5.")
    return path


def _note_difference(name: str, path: Path, md5: str | None) -> None:
    actual = md5_of(path) if md5 else None
    if md5 and actual != md5.lower():
        log.warning("--data %s=%s has MD5 %s; the published table has %s", name, path, actual, md5.lower())


def _no_table(name: str, paths: list[Path], present: dict[Path, str | None], md5: str | None) -> DataError:
    if present:
        path, value = next(iter(present.items()))
        return DataError(
            f"{path} has MD5 {value}, not {md5}.",
            where=str(path),
            hint="It was changed, or DATASET_MD5 is wrong. To measure on your own table, name it with --data.",
        )
    names = " and ".join(dict.fromkeys(path.name for path in paths))
    return DataError(
        f"There is no table for dataset {name!r}.",
        where=str(paths[0].parent),
        hint=f"Looked for {names}. Put it there, set LMUData, or name it with --data {name}=FILE.",
    )
