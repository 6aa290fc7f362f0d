"""The catalog of benchmarks, without executing any of their code.

An installed package is a catalog of its own: the members, tags and few-shot neighbours of a group are looked up in
the package that wrote them, and a name that several packages have is an error instead of a guess. Tasks keep their
authors' names in a run, because seeds, journal and exports go by them; ``TaskSpec.package`` names their package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from polymeter.core.errors import PlanError, Problem, did_you_mean, nearest
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.text.phrases import in_words

LIBRARY = "polymeter"
"""The qualifier of benchmarks that come with Polymeter."""
QUALIFIES = ":"
AT = "@"
"""Between the name of a benchmark and that of its protocol."""
PROTOCOL_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
"""The names that a protocol may have."""
_GLOB = frozenset("*?[")
_MOST_SHOWN = 3
_LARGEST_READ = 2**20
"""Bytes of a broken file that are searched for the name that somebody asked for."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of benchmarks.

    Attributes:
        path: The folder, or a single file.
        is_user: Whether the user named it, so that its definitions win over built-in ones.
        dialect: Whose rules its files follow, where a format has several; empty: what the files themselves show.
    """

    path: Path
    is_user: bool = True
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One task or group as the index lists it.

    Attributes:
        name: Its name.
        kind: Task or group.
        format: Which format reads it.
        file: Where it is written.
        is_user: Whether it is in a folder that the user named.
        alias: The name to print.
        tags: Labels by which it can be selected.
        members: For a group, the names of its members.
        packages: Importable modules that its code needs, as far as its source shows.
        about: What its author says of it and which data it reads, as far as the index knows: for searching.
        origin: What its name is qualified with if an installed package brings it (``lmms-eval``); else empty.
        protocol: The name of the protocol that it states, with which its name ends; empty: it states none.
        is_default: Whether the benchmark's name alone means this protocol of it.
    """

    name: str
    kind: Literal["task", "group"]
    format: str
    file: Path
    is_user: bool = False
    alias: str = ""
    tags: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    about: str = ""
    origin: str = ""
    protocol: str = ""
    is_default: bool = False

    @property
    def benchmark(self) -> str:
        """Its name without that of its protocol."""
        return self.name.removesuffix(f"{AT}{self.protocol}") if self.protocol else self.name

    @property
    def qualified_name(self) -> str:
        """The name that always means this entry: in a folder of the user's its own, which wins over all others."""
        return self.name if self.is_user else f"{self.origin or LIBRARY}{QUALIFIES}{self.name}"


@dataclass(frozen=True, slots=True)
class Globbed:
    """The benchmarks that a glob matches, by what qualifies them (``polymeter`` also stands for folders of the user's).

    Attributes:
        taken: Those that the glob means. If several packages have some, a run has to name one.
        others: Those of other places, which only a qualified glob means.
    """

    taken: Mapping[str, tuple[Entry, ...]]
    others: Mapping[str, tuple[Entry, ...]]

    @property
    def entries(self) -> list[Entry]:
        """Those that the glob means, of one place after another."""
        return [entry for entries in self.taken.values() for entry in entries]


@dataclass(slots=True)
class Claims:
    """Data files that belong to benchmarks, so that none of them is mistaken for a benchmark.

    Attributes:
        names: Names, without ending, of files that benchmarks name as their data.
        unread: Files of benchmarks that cannot be read. A data file that they mention may be theirs, so it is not
            treated as a benchmark.
        files: Files of the user's that are benchmarks, or are meant to be.
    """

    names: set[str] = field(default_factory=set)
    unread: list[Path] = field(default_factory=list)
    files: set[Path] = field(default_factory=set)

    def update(self, other: Claims) -> None:
        """Add the claims of another catalog."""
        self.names |= other.names
        self.unread.extend(other.unread)
        self.files |= other.files


@dataclass(slots=True)
class Catalog:
    """All tasks and groups that a run can name.

    Attributes:
        entries: By name; a user's entry hides a built-in one.
        shadowed: Built-in entries that a user's entry hides, by name.
        clashes: Names that two files of one root kind define; naming one of them is an error.
        problems: Files that could not be read.
        claims: Data files that are not benchmarks because entries here claim them.
        later: Of the names that two files define, the entry that was found last.
        nameless: Files of the user's that could be benchmarks and name none: what others include, or a mistake.
        passed_over: Names of files, in folders that other tools use too, that make no benchmark, and why. No listing
            shows them.
        parity: Whose reading of files is wanted where Polymeter differs from another system.
        packages: The benchmarks of each installed package, by what their names are qualified with. Each package is a
            catalog of its own, so that its groups hold its own tasks.
        origin: What the names are qualified with, in the catalog of an installed package.
        advice: What to do about files of that package that cannot be read.
        state: What changes when a file of that package does.
        preferred: Where a name is looked for first if several have it, by what qualifies it.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    shadowed: dict[str, Entry] = field(default_factory=dict)
    clashes: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    claims: Claims = field(default_factory=Claims)
    later: dict[str, Entry] = field(default_factory=dict)
    nameless: list[Path] = field(default_factory=list)
    passed_over: dict[str, Problem] = field(default_factory=dict)
    parity: Parity = NO_PARITY
    packages: dict[str, Catalog] = field(default_factory=dict)
    origin: str = ""
    advice: str = ""
    state: str = ""
    preferred: tuple[str, ...] = ()

    def add(self, entry: Entry) -> None:
        """Add an entry. A user's wins over a built-in one; two users' or two built-in ones clash."""
        old = self.entries.get(entry.name)
        if old is None:
            self.entries[entry.name] = entry
        elif old.is_user == entry.is_user:
            if old.file != entry.file:
                files = self.clashes.get(entry.name, (old.file,))
                self.clashes[entry.name] = (*files, entry.file)
                self.later[entry.name] = entry
        elif entry.is_user:
            self.entries[entry.name], self.shadowed[entry.name] = entry, old
            self.clashes.pop(entry.name, None)
        else:
            self.shadowed[entry.name] = entry

    def get(self, name: str) -> Entry:
        """The entry of that name, which may be qualified.

        Raises:
            PlanError: if there is no such name (the message gives the nearest), two files define it, or several
                packages have it and it is not qualified.
        """
        home, bare = self.place(name)
        return self.get_own(name) if home is self else home.get_own(bare)

    def get_own(self, name: str) -> Entry:
        """As ``get``, of this catalog alone, without installed packages."""
        if name in self.clashes:
            files = " and ".join(str(file) for file in self.clashes[name])
            raise PlanError(
                f"Two files define {name!r}.", where=files, hint="Rename one of them, or name one file with --tasks."
            )
        if name not in self.entries:
            return self._of_protocols(name)
        return self.entries[name]

    def protocols(self, name: str) -> list[Entry]:
        """The entries of a benchmark under its protocols, a user's in place of built-in ones; none if its name is that
        of a task without a protocol.
        """
        if name in self.entries:
            return []
        found = [entry for entry in self if entry.protocol and entry.benchmark == name]
        return [entry for entry in found if entry.is_user] or found

    def _of_protocols(self, name: str) -> Entry:
        """The one entry that a benchmark's name stands for: that of its only protocol, or of its default one."""
        found = self.protocols(name)
        default = [entry for entry in found if entry.is_default] if len(found) > 1 else found
        if len(default) == 1:
            return self.get_own(default[0].name)
        if not found:
            raise self.unknown(name)
        usable = [entry.name for entry in found if PROTOCOL_NAME.fullmatch(entry.protocol)]
        if not usable:
            return self.get_own(found[0].name)  # whose loading says what is wrong with its name
        is_whole = len(usable) == len(found)
        raise PlanError(
            f"{name!r} has several protocols: {in_words(usable)}{'' if is_whole else '; other names are not valid'}.",
            where=" and ".join(str(entry.file) for entry in default or found),
            hint="Name one of them, or write 'default: true' in the protocol of one.",
        )

    def place(self, name: str, *, where: str = "") -> tuple[Catalog, str]:
        """The catalog in which a name or tag is to be looked up, and the name there, without what qualifies it.

        A name is looked for in folders of the user's, whose definitions win; then in what comes with Polymeter and in
        installed packages, of which only one may have it. A benchmark of which one has only protocols yields to a task,
        group or tag of that very name in another, so that files of other systems mean what they have always meant. A
        name that is nowhere belongs here.

        Raises:
            PlanError: if several have it, and none of them is preferred.
        """
        qualifier, mark, bare = name.partition(QUALIFIES)
        if mark and qualifier == LIBRARY:
            return self.library(), bare
        if mark and qualifier in self.packages:
            return self.packages[qualifier], bare
        if self.is_users(name):
            return self, name
        having = {LIBRARY: self} if self.has(name) else {}
        having |= {qualifier: one for qualifier, one in self.packages.items() if one.has(name)}
        preferred = {qualifier: having[qualifier] for qualifier in self.preferred if qualifier in having}
        found = preferred or having
        found = {qualifier: one for qualifier, one in found.items() if one._has_exactly(name)} or found
        if len(found) > 1 and not preferred:
            names = [f"{qualifier}{QUALIFIES}{name}" for qualifier in found]
            raise PlanError(
                f"{name!r} is ambiguous: {in_words(found)} have it.",
                where=where,
                hint=f"Say which is meant: {in_words(names, 'or')}.",
            )
        return next(iter(found.values()), self), name

    def has(self, name: str) -> bool:
        """Return whether a name or tag is here, apart from installed packages."""
        return self._has_exactly(name) or any(entry.protocol and entry.benchmark == name for entry in self)

    def _has_exactly(self, name: str) -> bool:
        """The same without names that stand for a protocol."""
        return name in self.entries or name in self.clashes or any(name in entry.tags for entry in self)

    def globbed(self, pattern: str) -> list[Entry]:
        """The tasks that a glob matches here, or the groups if it matches no task, by name.

        Raises:
            PlanError: if two files define one of them.
        """
        found = [entry for name, entry in self.entries.items() if fnmatchcase(name, pattern)]
        names = [entry.name for entry in found if entry.kind == "task"] or [entry.name for entry in found]
        return [self.get_own(name) for name in sorted(names)]

    def globbed_anywhere(self, pattern: str) -> Globbed:
        """The same of folders of the user's with what comes with Polymeter, and of each installed package.

        A package comes before protocols of Polymeter's, as with a name; preferred packages come before others.

        Raises:
            PlanError: if two files define one of them.
        """
        own = self.globbed(pattern)
        every = {LIBRARY: own} | {qualifier: one.globbed(pattern) for qualifier, one in self.packages.items()}
        having = {qualifier: tuple(entries) for qualifier, entries in every.items() if entries}
        preferred = {qualifier: having[qualifier] for qualifier in self.preferred if qualifier in having}
        packages = [qualifier for qualifier in preferred or having if qualifier != LIBRARY]
        is_own_exact = any(entry.is_user for entry in own)
        if LIBRARY in (preferred or having):
            is_own_exact = is_own_exact or not all(entry.protocol for entry in own)
        if is_own_exact or not packages:
            taken = [LIBRARY] if own else []
        else:
            taken = packages[:1] if preferred else packages
        return Globbed(
            {qualifier: having[qualifier] for qualifier in taken},
            {qualifier: entries for qualifier, entries in having.items() if qualifier not in taken},
        )

    def is_users(self, name: str) -> bool:
        """Return whether a name or tag is in a folder that the user named."""
        if name in self.entries:
            return self.entries[name].is_user
        if any(entry.is_user and name in entry.tags for entry in self):
            return True
        return any(entry.is_user for entry in self.protocols(name))

    def library(self) -> Catalog:
        """Return the benchmarks that come with Polymeter, without the user's folders and without installed packages."""
        if not any(entry.is_user for entry in self.entries.values()):
            return replace(self, packages={})
        own = Catalog(parity=self.parity, problems=self.problems)
        for entry in (*self.entries.values(), *self.shadowed.values()):
            if not entry.is_user:
                own.add(entry)
        return own

    def of_origin(self, qualifier: str) -> Catalog:
        """The catalog of what a qualifier stands for.

        Raises:
            PlanError: if it stands for nothing here.
        """
        if qualifier == LIBRARY:
            return self.library()
        if qualifier not in self.packages:
            known = [LIBRARY, *self.packages]
            raise PlanError(
                f"There are no benchmarks of {qualifier!r} here.",
                where="--from",
                hint=did_you_mean(qualifier, known) or f"There are those of {in_words(known)}.",
            )
        return self.packages[qualifier]

    def everything(self) -> Iterator[Entry]:
        """The entries of the user's folders, of what comes with Polymeter, and of all installed packages."""
        yield from self
        for one in self.packages.values():
            yield from one

    def home(self, entry: Entry) -> Catalog:
        """The catalog in which the members of a group, and what else an entry names, are looked up."""
        return self.packages.get(entry.origin, self)

    def unknown(self, name: str, *, where: str = "") -> PlanError:
        """Return the error for a missing name: it is in none of the files, or in one of those that cannot be read."""
        refused = self.refused(name) or self.passed_over.get(name)
        if refused is not None:
            return PlanError(refused.message, where=refused.where)
        near = did_you_mean(name, [*self.entries, *self.tags()]) or self._near_elsewhere(name)
        usual = near or (
            "'polymeter tasks' lists them; --include-path adds a folder of your own. The path of a file or folder "
            "works too."
        )
        unread = self._unread(name) or self._unread_elsewhere(name)
        nameless = next((file for file in self.nameless if file.stem == name), None)
        if nameless is not None and not unread:
            return PlanError(
                f"There is no task, group or tag {name!r}.",
                where=f"{nameless}:1",
                hint=f"The file has no line 'task: {name}', so it is only there for others to include.",
            )
        return PlanError(
            f"There is no task, group or tag {name!r}.",
            where=where,
            hint=f"{unread} {near}".strip() if unread else usual,
        )

    def refused(self, name: str) -> Problem | None:
        """Return the problem of a benchmark that is known by its name and cannot be run, here or in an installed
        package.
        """
        catalogs = (self, *self.packages.values())
        return next((problem for one in catalogs for problem in one.problems if name in problem.names), None)

    def _unread(self, name: str) -> str:
        """A sentence with the files that may hold a name but cannot be read; empty if there are none."""
        broken = [problem for problem in self.problems if problem.where]
        holding = [problem for problem in broken if _mentions(problem.file, name)] or broken
        if not holding:
            return ""
        shown = "; ".join(f"{problem.where}: {problem.message.rstrip('.')}" for problem in holding[:_MOST_SHOWN])
        more = f"; and {len(holding) - _MOST_SHOWN} more" if len(holding) > _MOST_SHOWN else ""
        return f"It may be in a file that cannot be read: {shown}{more}. {self.advice}".rstrip()

    def _unread_elsewhere(self, name: str) -> str:
        """The same for the files of installed packages that bear the name."""
        for one in self.packages.values():
            if any(problem.file.stem == name for problem in one.problems):
                return one._unread(name)
        return ""

    def _near_elsewhere(self, name: str) -> str:
        """A sentence with the nearest names of installed packages; empty if none is near."""
        names = {entry.name: entry.qualified_name for one in self.packages.values() for entry in one}
        near = [names[found] for found in nearest(name, names, n=_MOST_SHOWN)]
        return f"Did you mean {in_words([repr(one) for one in near], 'or')}?" if near else ""

    def tags(self) -> dict[str, list[str]]:
        """Names of the tasks behind each tag, in catalog order."""
        tags: dict[str, list[str]] = {}
        for entry in self.entries.values():
            for tag in entry.tags:
                tags.setdefault(tag, []).append(entry.name)
        return tags

    def choose(self, patterns: Sequence[str] = (), tags: Sequence[str] = ()) -> list[Entry]:
        """The entries that names, globs and tags select, for listings: a group is itself, not its members.

        Args:
            patterns: Names, globs and tags; none: everything.
            tags: Only entries with one of these.

        Raises:
            PlanError: if a pattern or tag matches nothing (the message gives the nearest), or two files define a name.
        """
        existing = self.tags()
        for tag in tags:
            if tag not in existing:
                hint = did_you_mean(tag, existing) or f"Known: {', '.join(sorted(existing)) or 'none'}."
                raise PlanError(f"There is no tag {tag!r}.", where="--tag", hint=hint)
        entries = [entry for entry in self if not tags or set(tags) & set(entry.tags)]
        if not patterns:
            return entries
        chosen: dict[str, Entry] = {}
        for pattern in patterns:
            matches = [entry for entry in entries if pattern in (entry.name, *entry.tags)]
            if not matches and is_glob(pattern):
                matches = [entry for entry in self.globbed(pattern) if entry in entries]
            elif not matches and not tags:
                matches = [self.get(pattern)]
            if not matches:
                raise PlanError(f"No task, group or tag matches {pattern!r}.", hint="'polymeter tasks' lists them all.")
            chosen.update((entry.name, entry) for entry in matches)
        return list(chosen.values())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def claim_files(self) -> None:
        """Note which files of the user's are benchmarks, or are meant to be, so that no other format reads them."""
        entries = (*self.entries.values(), *self.shadowed.values())
        self.claims.files.update(entry.file for entry in entries if entry.is_user)
        self.claims.files.update(file for files in self.clashes.values() for file in files)
        self.claims.files.update((*self.nameless, *(problem.file for problem in self.problems)))

    def update(self, other: Catalog) -> None:
        """Add everything in another catalog."""
        for entry in [*other.entries.values(), *other.shadowed.values()]:
            self.add(entry)
        for name, files in other.clashes.items():
            if self.entries[name].is_user == other.entries[name].is_user:
                self.clashes[name] = tuple(dict.fromkeys((*self.clashes.get(name, ()), *files)))
                self.later[name] = other.later[name]
        self.problems.extend(other.problems)
        self.nameless.extend(other.nameless)
        self.passed_over.update(other.passed_over)
        self.claims.update(other.claims)

    def settle_clashes(self) -> None:
        """Let a name that several files define mean the one that was found last."""
        for name in self.clashes:
            self.entries[name] = self.later[name]
        self.clashes.clear()

    def by_kind(self, kind: str) -> Mapping[str, Entry]:
        """The entries of one kind, by name."""
        return {name: entry for name, entry in self.entries.items() if entry.kind == kind}


def is_glob(pattern: str) -> bool:
    """Return whether a pattern is a glob, unless something has this very name."""
    return not _GLOB.isdisjoint(pattern)


def protocol_name(stated: Any) -> str:
    """Return the name in a ``protocol`` block, which need not be valid; empty if there is none."""
    return str(stated.get("name") or "") if isinstance(stated, Mapping) else ""


def is_default(stated: Any) -> bool:
    """Return whether a ``protocol`` block says that the benchmark's name alone means it."""
    return isinstance(stated, Mapping) and stated.get("default") is True


def named_with_protocol(name: str, stated: Any) -> str:
    """Return the name of a benchmark's task under the protocol of a block; without one, the benchmark's own."""
    protocol = protocol_name(stated)
    return f"{name}{AT}{protocol}" if protocol else name


def _mentions(file: Path, name: str) -> bool:
    """Return whether a file that cannot be read as a benchmark bears or holds a name."""
    if file.stem == name:
        return True
    try:
        with file.open("rb") as content:
            return name.encode() in content.read(_LARGEST_READ)
    except OSError:
        return False
