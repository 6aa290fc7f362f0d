"""Guests that wrap a model: the modules and files that their classes come from, and the arguments that their
constructors take, checked by signature before anything is constructed.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.core.media.showing import Showing, VideoRule, stated
from polymeter.core.names.registry import missing_package
from polymeter.guests.loading.imports import guest_import_module, load_file
from polymeter.guests.reading.sources import files_behind

_WHERE, _PATH = "--model-args", "--model-path"
_NAMES = "_polymeter_names"
Wrapper = TypeVar("Wrapper", bound=type)


def registered_names(cls: type) -> tuple[str, ...]:
    """The names that ``register_model`` gave to a class itself, not to its bases."""
    return tuple(vars(cls).get(_NAMES, ()))


def registering(base: type, add: Callable[[str, Any], None], names: Iterable[str]) -> Callable[[Wrapper], Wrapper]:
    """Return a system's ``register_model``: a decorator that registers a class under names.

    Args:
        base: The class that it must derive from.
        add: Called with each name and the class.
        names: The names.
    """

    def register(cls: Wrapper) -> Wrapper:
        if not issubclass(cls, base):
            raise TypeError(f"{cls!r} is registered as a model, but is not a subclass of {base.__name__}")
        setattr(cls, _NAMES, (*registered_names(cls), *names))
        for name in names:
            add(name, cls)
        return cls

    return register


def dotted_modules(name: str, supplied: Mapping[str, Any]) -> list[ModuleType] | None:
    """The module of a dotted name, from the working directory or an installed package, and those below it that it has
    loaded; ``None`` if there is none. Call it inside ``contained``, with the shims switched on.

    Args:
        name: The dotted name.
        supplied: Names that code from the working directory may use without importing them.
    """
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    local = guest_import_module(name, Path.cwd(), supplied)
    if local is not None:
        return with_inner(local)
    try:
        return with_inner(importlib.import_module(name))
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        return None


def with_inner(module: ModuleType) -> list[ModuleType]:
    """A module, and those below it that it has loaded."""
    inner = [other for name, other in list(sys.modules.items()) if name.startswith(f"{module.__name__}.")]
    return [module, *inner]


def file_names_beside(path: Path) -> list[str]:
    """The names in the folder of a path, for a hint if the path does not exist."""
    return [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []


def modules_at(path: str, supplied: Mapping[str, Any], own_roots: Container[str]) -> list[ModuleType]:
    """The modules of a file, a package folder, a folder of files, or a dotted name. To be called with the shims
    switched on, inside ``contained``.

    Args:
        path: The path or name from the user.
        supplied: Names that its code may use without importing them.
        own_roots: Packages that a shim serves: a module missing from one of them is not a missing package.

    Raises:
        PlanError: if there is no such file, folder or module, or its code fails to load.
    """
    place = Path(path)
    with boundary(PlanError, f"Loading {path!r}", hint="Fix the wrapper's code."):
        try:
            modules = _load(place, path, supplied)
        except ModuleNotFoundError as error:
            missing = (error.name or "?").partition(".")[0]
            if missing in own_roots or missing == path.partition(".")[0]:
                raise
            raise missing_package(error.name or "?", f"the model file {path!r}") from error
    if modules is None:
        raise PlanError(
            f"There is no file, package or module {path!r}.",
            where=_PATH,
            hint=did_you_mean(place.name, file_names_beside(place)) or "Give the file that defines the wrapper.",
        )
    return modules


def _load(place: Path, path: str, supplied: Mapping[str, Any]) -> list[ModuleType] | None:
    if place.is_file():
        return [load_file(place, supplied)]
    if (place / "__init__.py").is_file():
        place = place.resolve()
        package = guest_import_module(place.name, place.parent, supplied)
        return None if package is None else with_inner(package)
    if place.is_dir():
        return [load_file(file, supplied) for file in sorted(place.glob("*.py"))] or None
    return dotted_modules(path, supplied)


def sources_of(cls: type, modules: Iterable[ModuleType]) -> tuple[Path, ...]:
    """The files that a class is written in: those of some modules and of its own functions, with the files that they
    import.
    """
    file_names = [getattr(module, "__file__", None) for module in modules]
    # A run starts guest modules anew, so that of a class which was loaded before may be gone; its functions know.
    written = [inspect.unwrap(value) for value in vars(cls).values() if inspect.isfunction(value)]
    file_names.extend(value.__code__.co_filename for value in written if value.__module__ == cls.__module__)
    return files_behind(file for name in file_names if name is not None and (file := Path(name)).is_file())


def check_arguments(cls: type, arguments: Mapping[str, Any], supplied: Container[str] = ()) -> None:
    """Refuse arguments that a wrapper's constructor does not take, and the lack of those that it needs.

    Args:
        cls: The wrapper's class.
        arguments: The user's arguments.
        supplied: Names of arguments that Polymeter adds.

    Raises:
        PlanError: if an argument is unknown (the nearest known one is named) or missing.
    """
    named, takes_any = parameters(cls)
    for name in arguments:
        if name not in named and not takes_any:
            accepted = ", ".join(named) or "none"
            hint = did_you_mean(name, named, n=1) or f"It takes: {accepted}."
            raise PlanError(f"Wrapper {cls.__name__!r} has no argument {name!r}.", where=_WHERE, hint=hint)
    for name, parameter in named.items():
        is_own = name in inspect.signature(cls).parameters
        if is_own and parameter.default is parameter.empty and name not in arguments and name not in supplied:
            raise PlanError(
                f"Wrapper {cls.__name__!r} needs {name!r}.", where=_WHERE, hint=f"Give it with --model-args {name}=…"
            )


def parameters(cls: type) -> tuple[dict[str, inspect.Parameter], bool]:
    """The parameters that a wrapper's constructor names, and whether it takes any others. Parameters of its bases count
    for as long as each constructor hands on what it does not know itself. A constructor that begins with ``assert
    kwargs == {}`` takes no others.
    """
    named: dict[str, inspect.Parameter] = {}
    takes_any = False
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        own = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        if base is object or (base.__module__.startswith("polymeter.") and not own):
            break
        keywords = next((parameter.name for parameter in own if parameter.kind is parameter.VAR_KEYWORD), "")
        takes_any = bool(keywords) and not _refuses(vars(base)["__init__"], keywords)
        for parameter in own:
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                named.setdefault(parameter.name, parameter)
        if not takes_any:
            break
    return named, takes_any


def plain(value: Any) -> Any:
    """An argument as it counts for identity; an object that is not plain data counts by its type."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    is_plain = value is None or isinstance(value, (str, bool, int, float))
    return value if is_plain else f"{type(value).__module__}.{type(value).__qualname__}"


def _refuses(constructor: Any, keywords: str) -> bool:
    """Return whether a constructor asserts that ``**keywords`` is empty, as most wrappers do."""
    try:
        source = inspect.getsource(constructor)
    except (OSError, TypeError):
        return False
    empty = rf"assert\s*\(?\s*(?:{keywords}\s*==\s*(?:\{{\}}|dict\(\))|not\s+{keywords}\b|len\({keywords}\)\s*==\s*0)"
    return re.search(empty, source) is not None


def is_stub(function: Any) -> bool:
    """Return whether a function's body is nothing but ``raise NotImplementedError``, ``pass``, ``...`` or ``assert
    False``.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.FunctionDef) else []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        if len(body) == 1:
            return True
        body = body[1:]
    if len(body) != 1:
        return False
    only = body[0]
    if isinstance(only, ast.Raise):
        return "NotImplementedError" in ast.unparse(only)
    is_false = isinstance(only, ast.Assert) and isinstance(only.test, ast.Constant) and not only.test.value
    return isinstance(only, ast.Pass) or is_false


_FRAMES = ("max_num_frames", "max_frames_num", "max_frame_num", "num_frames", "nframe", "nframes")
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "frames": _FRAMES,
    "max_frames": _FRAMES,
    "fps": ("fps", "video_fps"),
    "audio": ("use_audio_in_video",),
}
"""The names that constructors of wrappers have for the settings of a rule for videos."""


class ShownByWrapper:
    """A rule for videos as a wrapper that samples frames itself may follow it: by arguments of its constructor.

    Args:
        cls: Its class; ``None``: unknown.
        given: The arguments that the user has given, which stay.
    """

    def __init__(self, cls: type | None, given: Mapping[str, Any]) -> None:
        self._named = {} if cls is None else parameters(cls)[0]
        self._given = given
        self._is_one = True
        self.arguments: dict[str, Any] = {}

    def plan(self, rules: Iterable[VideoRule | None]) -> None:
        """Take the arguments from the rules of all tasks with videos, which must be one: a wrapper is made once. A task
        without a rule (``None``) differs from one with a rule.
        """
        distinct = set(rules)
        self._is_one = len(distinct) < 2
        self.arguments = {}
        rule = distinct.pop() if len(distinct) == 1 else None
        for name, value in stated(rule).items() if rule is not None else ():
            argument = self._argument(name)
            if argument is not None:
                self.arguments.setdefault(argument, value == "track" if name == "audio" else value)

    @property
    def followed(self) -> dict[str, Any]:
        """The settings of a rule for frames that the arguments of the constructor, or their defaults, state."""
        defaults = {name: each.default for name, each in self._named.items() if each.default is not each.empty}
        known = {**defaults, **self.arguments, **self._given}
        found = {
            setting: next((known[name] for name in _ARGUMENTS[setting] if known.get(name) is not None), None)
            for setting in ("frames", "fps", "audio")
        }
        if found["audio"] is not None:
            found["audio"] = "track" if found["audio"] else "none"
        return {name: plain(value) for name, value in found.items() if value is not None}

    def unfollowed(self, rule: VideoRule | None) -> dict[str, str]:
        """The settings of a rule that do not reach the wrapper, each with the reason."""
        settings = {} if rule is None else stated(rule)
        if not self._is_one:
            return dict.fromkeys(
                settings, "the wrapper is made once, and the tasks of the run state different rules, or none"
            )
        why = "the wrapper chooses the frames of videos itself"
        return {name: why for name in settings if self._argument(name) not in self.arguments}

    def unfollowed_of(self, showing: Showing) -> dict[str, str]:
        """The same of all rules of a task: those for images are followed, those for recordings are not."""
        videos = self.unfollowed(showing.video)
        sounds = {} if showing.audio is None else stated(showing.audio)
        return {f"video.{name}": why for name, why in videos.items()} | {
            f"audio.{name}": "the wrapper gets recordings as the task gives them" for name in sounds
        }

    def _argument(self, setting: str) -> str | None:
        names = _ARGUMENTS.get(setting, ())
        if any(name in self._given for name in names):
            return None
        return next((name for name in names if name in self._named), None)
