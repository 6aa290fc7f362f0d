"""Reading a file of EvalScope 1.x's adapters without running it: what it registers, and whether that can be run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.guests.reading.sources import bytes_of, packages_needed, tree_of
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, LiteralReader, Registration, aliases
from polymeter.interop.evalscope.v1 import constants
from polymeter.interop.evalscope.v1.registration import FIELDS

_REGISTER, _META = "register_benchmark", "BenchmarkMeta"
_ENUMS = ("Tags", "OutputType", "EvalType", "HubType", "JudgeStrategy", "DataCollection", "ScoringPolicy")
SANDBOX = "CodeExecutionSandboxMixin"
_LOOPS = "Polymeter does not run the loops of EvalScope's agents."
_REFUSED: Mapping[str, str] = {
    "BrowserGymAdapter": f"its BrowserGymAdapter leads the model through a browser's session, and {_LOOPS}",
    "AgentLoopAdapter": "its AgentLoopAdapter lets the model call tools in an environment, step after step, and "
    f"{_LOOPS}",
    "AgentAdapter": f"its AgentAdapter leads the model through calls of tools, and {_LOOPS}",
}
"""The classes of authors that cannot be run yet, with what is missing."""
_COLLECTION = "This name belongs to Polymeter's own benchmark, which runs the files that samplers have written."
_OF_AGENTS = ("evalscope.agent", "evalscope.api.agent")
"""Modules whose use shows that a file is for agents, whatever its classes are called."""


@dataclass(frozen=True, slots=True)
class AdapterFile:
    """The content of a file, by its syntax tree.

    Attributes:
        path: The file.
        registrations: What it registers.
        refused: Of each registration why it cannot be run; empty where it can.
        packages: Third-party packages that it imports at its top, each with its line.
        runs_code: Of each registration whether its scores may run code that the model writes.
    """

    path: Path
    registrations: tuple[Registration, ...] = ()
    refused: tuple[str, ...] = ()
    packages: Mapping[str, int] = field(default_factory=dict)
    runs_code: tuple[bool, ...] = ()

    def runs_code_of(self, name: str) -> bool:
        """Return whether the scores of a benchmark may run code that the model writes."""
        pairs = zip(self.registrations, self.runs_code, strict=True)
        return any(runs for registration, runs in pairs if registration.name == name)

    def pairs(self) -> Iterator[tuple[Registration, str]]:
        """Each registration with why it cannot be run."""
        return zip(self.registrations, self.refused, strict=True)


def read_file(path: Path) -> AdapterFile:
    """Read the registrations in a file. A file that does not mention ``register_benchmark`` is not even parsed.

    Raises:
        PlanError: if it is not valid Python.
    """
    content = bytes_of(path)
    if _REGISTER.encode() not in content:
        return AdapterFile(path)
    tree = tree_of(path, content)
    reader = _MetaReader(tree)
    registrations = tuple(reader.registrations())
    return AdapterFile(
        path,
        registrations,
        tuple(reader.why_refused(registration) for registration in registrations),
        dict(packages_needed(tree, path.parent)),
        tuple(SANDBOX in adapter_names(registration, reader.classes) for registration in registrations),
    )


def adapter_names(registration: Registration, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    """The names of all classes that an adapter is made of, as far as its file shows."""
    names: list[str] = []
    waiting = [registration.adapter] if registration.adapter is not None else []
    while waiting:
        for base in waiting.pop().bases:
            name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
            if name and name not in names:
                names.append(name)
                if name in classes:
                    waiting.append(classes[name])
    return names


class _MetaReader(LiteralReader):
    """Finds registrations in one tree.

    Args:
        tree: The tree of a whole file.
    """

    def __init__(self, tree: ast.Module) -> None:
        from polymeter.interop.evalscope.v1.scoring.choice_templates import MultipleChoiceTemplate

        enums = {name: getattr(constants, name) for name in _ENUMS}
        super().__init__(tree, {**enums, "MultipleChoiceTemplate": MultipleChoiceTemplate})
        self._registers = {_REGISTER, *aliases(tree, _REGISTER)}
        self._metas = {_META, *aliases(tree, _META)}
        self._bound = {name: call for node in tree.body for name, call in self._bound_metas(node)}
        self._modules = list(_imported(tree))

    def registrations(self) -> Iterator[Registration]:
        """In the order of the file."""
        decorates = self.decorated()
        calls = [
            node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and self._name(node) in self._registers
        ]
        for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
            meta = self._meta(call)
            if meta is None:
                yield Registration(UNKNOWN, call.lineno, {}, {}, {}, decorates.get(id(call)))
            else:
                yield self.registration(FIELDS, meta, call.lineno, decorates.get(id(call)))

    def why_refused(self, registration: Registration) -> str:
        """Return why an adapter cannot be run; empty if it can."""
        if registration.name == constants.DataCollection.NAME:
            return _COLLECTION
        names = adapter_names(registration, self.classes)
        name = next((name for name in _REFUSED if name in names), "")
        if name:
            return f"This is written for EvalScope 1.x's agents: {_REFUSED[name]}"
        module = next((one for one in self._modules if one.startswith(_OF_AGENTS)), "")
        return f"This is written for EvalScope 1.x's agents: it uses {module}, and {_LOOPS}" if module else ""

    def _meta(self, call: ast.Call) -> ast.Call | None:
        """The call that makes the registration, if it is written there or bound to a name at the top."""
        given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "metadata")]
        if not given:
            return None
        if isinstance(given[0], ast.Call) and self._name(given[0]) in self._metas:
            return given[0]
        return self._bound.get(given[0].id) if isinstance(given[0], ast.Name) else None

    def _bound_metas(self, node: ast.stmt) -> Iterator[tuple[str, ast.Call]]:
        value = getattr(node, "value", None)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.Call):
            targets: Sequence[Any] = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and self._name(value) in self._metas:
                    yield target.id, value

    @staticmethod
    def _name(call: ast.Call) -> str:
        function = call.func
        return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a file imports, anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
