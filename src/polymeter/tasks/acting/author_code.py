"""Functions and classes of a benchmark's author as tools and environments.

A function becomes a tool by its signature and docstring. A class is an environment: each of its objects is an episode.
Both are named by a reference, which is loaded where the episode is opened: in a process that can be ended, and never
when a run is only scored.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

from polymeter.core.acting.episodes import EpisodeScene, Observation, parts_of
from polymeter.core.acting.schemas import check_tools
from polymeter.core.acting.tools import Call, Effect, Tool
from polymeter.core.errors import PlanError, Raised, attempt
from polymeter.core.identity import canonical, source_hash
from polymeter.core.text.codec import jsonable
from polymeter.guests import resolve
from polymeter.guests.loading.load import FunctionRef

EFFECTS: tuple[Effect, ...] = get_args(Effect)
_OF_SCENE = ("row", "images", "seed")
_JSON_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    tuple: "array",
    dict: "object",
}


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function as a tool. Its parameters ``row``, ``images`` and ``seed`` are the scene's, all others the model's.

    Attributes:
        code: The function.
    """

    code: FunctionRef

    @property
    def tool(self) -> Tool:
        """The tool as a model is offered it. Runs the code of its module.

        Raises:
            PlanError: if it cannot be loaded, or declares an effect or schema that does not exist.
        """
        function = resolve(self.code)
        effect = _effect_of(function, self.code, default="pure")
        schema = getattr(function, "schema", None) or _schema_of(function)
        return Tool(self.code.attribute, inspect.getdoc(function) or "", schema, effect)

    def identity(self) -> Any:
        """Everything that can change its results besides its arguments."""
        return [self.code.name, _code_identity(self.code)]

    def use(self, scene: EpisodeScene, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the result of a call.

        Raises:
            ValueError: if the function raised.
        """
        function = resolve(self.code)
        given = attempt(lambda: function(**arguments, **_wanted(function, scene)))
        if isinstance(given, Raised):
            raise ValueError(f"{type(given.error).__name__}: {given.error}")
        return parts_of(given)


@dataclass(frozen=True, slots=True)
class AuthorEnvironment:
    """A class as an environment: it is made with the scene, and has ``tools``, ``act`` and perhaps ``begin`` and
    ``close``.

    Attributes:
        code: The class.
    """

    code: FunctionRef

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.code.attribute

    @property
    def is_foreign(self) -> bool:
        """True."""
        return True

    def describe(self) -> tuple[Effect, Mapping[str, Any]]:
        """The effect that the class declares; its identity is what it declares, else its file.

        Raises:
            PlanError: if it cannot be loaded, has no ``act``, or declares no effect.
        """
        made = resolve(self.code)
        if not callable(getattr(made, "act", None)):
            raise PlanError(
                f"The environment {self.name!r} has no method 'act'.",
                where=self.code.where,
                hint="An environment is a class with tools, a list or a method that returns one, and act(call).",
            )
        effect = _effect_of(made, self.code)
        declared = getattr(made, "identity", None)
        identity = canonical(declared) if declared is not None else _code_identity(self.code)
        # What was done outside is not done again because a file has changed.
        kept = declared is None and effect == "outside"
        return effect, {"environment": self.code.name, "identity": None if kept else identity}

    def open(self, scene: EpisodeScene) -> AuthorEpisode:
        """Make an object of the class."""
        made = resolve(self.code)
        return AuthorEpisode(made(**_wanted(made, scene)), _effect_of(made, self.code))


class AuthorEpisode:
    """An object of an author's class as an episode.

    Args:
        own: The object.
        effect: The effect of each of its calls.
    """

    def __init__(self, own: Any, effect: Effect) -> None:
        self._own = own
        self._effect: Effect = effect

    def begin(self) -> Observation:
        """Its tools, and what ``begin`` returns."""
        listed = self._own.tools
        tools = tuple(replace(_tool_of(one), effect=self._effect) for one in (listed() if callable(listed) else listed))
        check_tools(tools)
        begin = getattr(self._own, "begin", None)
        return replace(_observed(begin()) if callable(begin) else Observation(), tools=tools)

    def act(self, call: Call) -> Observation:
        """The observation that ``act`` returns."""
        return _observed(self._own.act(call))

    def close(self) -> None:
        """Close the object, if it can be."""
        close = getattr(self._own, "close", None)
        if callable(close):
            close()


def _observed(returned: Any) -> Observation:
    """Return an observation in which each value is of its type.

    Raises:
        TypeError: if one cannot be.
    """
    if not isinstance(returned, Observation):
        return Observation(parts_of(returned))
    reward = returned.reward
    if reward is not None and not _is_finite(reward):
        raise TypeError(f"a reward is a finite number, not {reward!r}")
    state = None if returned.state is None else jsonable(dict(returned.state))
    return Observation(
        parts_of(list(returned.parts)) if returned.parts else (),
        str(returned.problem or ""),
        bool(returned.is_last),
        None if reward is None else float(reward),
        state,
    )


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _tool_of(value: Any) -> Tool:
    """Return a tool that an author wrote: a ``Tool``, or a mapping as APIs describe one."""
    if isinstance(value, Tool):
        return value
    if isinstance(value, Mapping):
        own = value.get("function", value)
        schema = own.get("schema") or own.get("parameters")
        described = str(own.get("name") or ""), str(own.get("description") or "")
        return Tool(*described) if schema is None else Tool(*described, schema)
    raise TypeError(f"a tool is a Tool or a mapping, not a {type(value).__name__}")


def _effect_of(code: Any, ref: FunctionRef, default: str = "") -> Effect:
    effect: Any = getattr(code, "effect", default)
    if effect in EFFECTS:
        return effect  # type: ignore[no-any-return]
    what = f"declares the effect {effect!r}" if effect else "declares no effect"
    raise PlanError(
        f"{ref.name} {what}.",
        where=ref.where,
        hint="effect is 'pure' (the same result for the same call), 'local' (it can be opened anew and the calls "
        "repeated) or 'outside' (nothing may happen twice).",
    )


def _code_identity(ref: FunctionRef) -> str:
    file = ref.source_file()
    return "" if file is None else source_hash([file])


def _wanted(code: Callable[..., Any], scene: EpisodeScene) -> dict[str, Any]:
    """The values of the scene that a function or class names as parameters."""
    names = inspect.signature(code).parameters
    return {name: getattr(scene, name) for name in _OF_SCENE if name in names}


def _schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The JSON Schema of the parameters that are the model's, by their annotations."""
    hints = attempt(lambda: typing.get_type_hints(function))
    known = {} if isinstance(hints, Raised) else hints
    properties: dict[str, Any] = {}
    required = []
    is_open = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            is_open = is_open or parameter.kind is parameter.VAR_KEYWORD
        elif name not in _OF_SCENE:
            properties[name] = _schema_of_type(known.get(name))
            if parameter.default is parameter.empty:
                required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": is_open}


def _schema_of_type(hint: Any) -> dict[str, Any]:
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (typing.Union, types.UnionType):
        kinds = [_schema_of_type(one) for one in inside if one is not type(None)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    kind = _JSON_TYPES.get(origin or hint)
    if kind is None:
        if inspect.isclass(origin) and issubclass(origin, (Sequence, Mapping)):
            kind = "object" if issubclass(origin, Mapping) else "array"
        else:
            return {}
    items = _schema_of_type(inside[0]) if kind == "array" and inside else None
    return {"type": kind, "items": items} if items else {"type": kind}
