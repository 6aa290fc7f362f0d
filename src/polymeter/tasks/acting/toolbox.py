"""The tools that a task lists, as an environment without a state of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from polymeter.core.acting.episodes import Environment, EpisodeScene, Observation
from polymeter.core.acting.schemas import check_tools
from polymeter.core.acting.tools import Call, Effect
from polymeter.core.content import Part, Text
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.guests.loading.load import FunctionRef
from polymeter.tasks.acting.author_code import EFFECTS, AuthorEnvironment, FunctionTool
from polymeter.tasks.acting.image_tools import COORDINATES, IMAGE_TOOLS, Coordinates, ImageTool

NOT_SUPPORTED = ("python", "mcp")
"""Tools of other systems that a task cannot list yet."""
TOOLBOX = "tools"
"""The name of the environment that a list of tools is."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Tools that each stand alone.

    Attributes:
        tools: The tools.
    """

    tools: tuple[ImageTool | FunctionTool, ...]

    @property
    def name(self) -> str:
        """The name of every toolbox."""
        return TOOLBOX

    @property
    def is_foreign(self) -> bool:
        """True if one of them is code of an author."""
        return any(isinstance(tool, FunctionTool) for tool in self.tools)

    def describe(self) -> tuple[Effect, Mapping[str, Any]]:
        """The strongest effect of its tools, and the identity of each.

        Raises:
            PlanError: if one cannot be loaded, or has a schema that is none.
        """
        offered = [one.tool for one in self.tools]
        check_tools(offered)
        effect: Effect = max((tool.effect for tool in offered), key=EFFECTS.index)
        return effect, {"tools": [one.identity() for one in self.tools]}

    def open(self, scene: EpisodeScene) -> _ToolboxEpisode:
        """Offer the tools for a scene."""
        return _ToolboxEpisode(self.tools, scene)


class _ToolboxEpisode:
    def __init__(self, tools: tuple[ImageTool | FunctionTool, ...], scene: EpisodeScene) -> None:
        self._scene = scene
        self._tools = {one.tool.name: one for one in tools}

    def begin(self) -> Observation:
        """The tools; and the sizes of the images where a model needs them for coordinates."""
        tools = tuple(one.tool for one in self._tools.values())
        in_pixels = any(isinstance(one, ImageTool) and one.coordinates == "pixels" for one in self._tools.values())
        return Observation(self._sizes() if in_pixels else (), tools=tools)

    def act(self, call: Call) -> Observation:
        """Use the tool of a call."""
        try:
            return Observation(self._tools[call.name].use(self._scene, call.arguments or {}))
        except (ValueError, TypeError) as error:
            return Observation(problem=str(error))

    def close(self) -> None:
        """Forget what was decoded."""
        for image in self._scene.images:
            image.release()

    def _sizes(self) -> tuple[Part, ...]:
        sizes = [image.size() for image in self._scene.images]
        lines = [f"Image {number} is {width} x {height} pixels." for number, (width, height) in enumerate(sizes, 1)]
        return (Text("\n".join(lines)),) if lines else ()


def environment_of(tools: tuple[Any, ...], environment: Any, where: str) -> Environment:
    """Return the environment of a task.

    Args:
        tools: Its list of tools, as its author wrote them.
        environment: The class that it names; ``None``: none.
        where: ``file:line`` of the fields, for messages.

    Raises:
        PlanError: if it names both or neither, or a tool that does not exist.
    """
    if environment is not None and tools:
        raise PlanError("A task names tools or an environment, not both.", where=where, hint="Let the class use them.")
    if environment is not None:
        if not isinstance(environment, FunctionRef):
            raise PlanError(f"environment is a !function tag, not {environment!r}.", where=where)
        return AuthorEnvironment(environment)
    if not tools:
        raise PlanError(
            "The task names neither tools nor an environment.", where=where, hint=f"Write tools: {list(IMAGE_TOOLS)}."
        )
    return Toolbox(tuple(_tool(item, where) for item in tools))


def _tool(item: Any, where: str) -> ImageTool | FunctionTool:
    if isinstance(item, FunctionRef):
        return FunctionTool(item)
    name: Any = item
    settings: Any = {}
    if isinstance(item, Mapping) and len(item) == 1:
        name, settings = next(iter(item.items()))
    if not isinstance(name, str) or not isinstance(settings, Mapping):
        raise PlanError(f"A tool is a name, a name with settings or a !function tag, not {item!r}.", where=where)
    if name in NOT_SUPPORTED:
        raise PlanError(
            f"The tool {name!r} is not supported yet.", where=where, hint="Write a !function that does what is needed."
        )
    if name not in IMAGE_TOOLS:
        hint = did_you_mean(name, IMAGE_TOOLS) or f"Known: {', '.join(IMAGE_TOOLS)}, and !function tags."
        raise PlanError(f"There is no tool {name!r}.", where=where, hint=hint)
    unknown = [key for key in settings if key != "coordinates"]
    if unknown:
        raise PlanError(f"The tool {name!r} has no setting {unknown[0]!r}.", where=where, hint="It has: coordinates.")
    coordinates = settings.get("coordinates", "fractions")
    if coordinates not in get_args(Coordinates):
        raise PlanError(
            f"The tool {name!r} has no coordinates {coordinates!r}.",
            where=where,
            hint=f"Known: {', '.join(COORDINATES)}.",
        )
    return ImageTool(name, coordinates)
