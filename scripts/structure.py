"""Shows where the source breaks the rules of the house, from the source alone: nothing of it is imported.

    python scripts/structure.py [--circles] [--folders] [--classes] [--options] [PACKAGE]

Without a section, all are shown. PACKAGE is the folder of a package; default: ``src/polymeter``. The exit code is 1 if
a section that was shown has findings.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import grimp

SOURCE = Path(__file__).parents[1] / "src" / "polymeter"
MOST_FILES = 15
PEERS: Mapping[str, str] = {
    "interop/lmms_eval/shim/lmms_eval": "each file is a module of lmms-eval, found by its name",
    "cli": "each file is a command, found by the command's name",
    "metrics": "each file is a family of metrics, found by the family's name",
    "report/content": "each file is a part of a sample's page, found by its place",
    "viewer/pages": "each file is a page, found by the page's name",
    "viewer/plots": "each file is a plot, found by the plot's name",
}
"""Folders that may hold more files, with the reason."""
OF_OTHER_SYSTEMS = {
    "AggMetricConfig", "BaseModel", "Benchmark", "BenchmarkMeta", "CacheHook", "ChatMessage", "Choice",
    "ConfigurableGroup", "ConfigurableTask", "Content", "ContextSampler", "DataAdapter", "DataCollection", "Dataset",
    "EvalBackend", "EvalType", "EvaluationTracker", "Filter", "FilterEnsemble", "FirstNSampler", "GroupConfig",
    "Instance", "LLMJudge", "LowercaseFilter", "MajorityVoteFilter", "MapFilter", "Metric", "Model", "ModelUsage",
    "MultiChoiceRegexFilter", "POSFilter", "RegexFilter", "Registry", "Request", "Response", "ResponseParser", "Sample",
    "Score", "TakeFirstFilter", "TakeKFilter", "Target", "Task", "TaskConfig", "TaskManager", "Tool", "ToolCall",
    "UppercaseFilter", "WhitespaceFilter",
}  # fmt: skip
"""Names that files written for another system import: in ``interop`` each means what that system means by it."""


def circles(package: Path) -> Iterator[str]:
    """Modules that import each other, directly or through others. An import inside a function counts like any other;
    one for type checkers alone does not, and neither does that a module's parents are imported before it.
    """
    sys.path.insert(0, str(package.parent))
    try:
        graph = grimp.build_graph(package.name, exclude_type_checking_imports=True, cache_dir=None)
    finally:
        sys.path.pop(0)
    shown: set[str] = set()
    for module in sorted(graph.modules):
        circle = graph.find_upstream_modules(module) & graph.find_downstream_modules(module) | {module}
        if len(circle) > 1 and module not in shown:
            shown |= circle
            yield f"{len(circle)} modules: {', '.join(sorted(circle))}"
            for importer in sorted(circle):
                for imported in sorted(graph.find_modules_directly_imported_by(importer) & circle):
                    details = graph.get_import_details(importer=importer, imported=imported)
                    lines = ", ".join(str(detail["line_number"]) for detail in details)
                    yield f"    {importer} imports {imported} in line {lines}"


def folders(package: Path) -> Iterator[str]:
    """Folders with more Python files than a reader can survey."""
    for folder in sorted({file.parent for file in package.rglob("*.py")}):
        place = folder.relative_to(package).as_posix()
        n_files = len([*folder.glob("*.py")])
        if n_files > MOST_FILES and place not in PEERS:
            yield f"{place} has {n_files} files, {n_files - MOST_FILES} too many"


def classes(package: Path) -> Iterator[str]:
    """Names that several classes have."""
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            is_theirs = "interop" in file.relative_to(package).parts and getattr(node, "name", "") in OF_OTHER_SYSTEMS
            if isinstance(node, ast.ClassDef) and not is_theirs:
                places[node.name].append(f"{file.relative_to(package).as_posix()}:{node.lineno}")
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield f"{name} is {len(found)} classes: {', '.join(found)}"


def options(package: Path) -> Iterator[str]:
    """Options of a run that a command spells itself, although its flags are made from the fields of ``RunOptions``."""
    fields = package / "core" / "options.py"
    if not fields.is_file():
        return
    commands = {
        call.args[0].value.partition("/")[0]: _commands(call)
        for call in ast.walk(ast.parse(fields.read_text("utf-8")))
        if isinstance(call, ast.Call) and _name(call.func) == "flag" and isinstance(call.args[0], ast.Constant)
    }
    for file in sorted((package / "cli").glob("*.py")):
        calls = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)]
        takers = {call.args[0].value for call in calls if _name(call.func) == "takes_options" and call.args}
        for call in calls:
            spelled = [word.value for word in call.args if isinstance(word, ast.Constant)]
            for name in spelled if _name(call.func) in ("Option", "_option") else ():
                if takers & commands.get(name, set()):
                    yield f"{file.name}:{call.lineno} spells {name}, which core/options.py has"


def _commands(flag: ast.Call) -> set[str]:
    """The commands that a flag's call names; those of ``run`` where it names none."""
    named = next((word.value for word in flag.keywords if word.arg == "commands"), None)
    if named is None or any(isinstance(node, ast.Starred) for node in ast.walk(named)):
        of_run = {"run", "track"}
    else:
        of_run = set()
    own = {node.value for node in ast.walk(named) if isinstance(node, ast.Constant)} if named else set()
    return of_run | own


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


SECTIONS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "circles": circles,
    "folders": folders,
    "classes": classes,
    "options": options,
}


def main(words: list[str] | None = None) -> int:
    """Show the sections that are asked for; the exit code is 1 if one of them has findings."""
    parser = argparse.ArgumentParser(prog="python scripts/structure.py")
    for name in SECTIONS:
        parser.add_argument(f"--{name}", action="append_const", const=name, dest="sections")
    parser.add_argument("package", nargs="?", type=Path, default=SOURCE, metavar="PACKAGE")
    options = parser.parse_args(words)
    has_findings = False
    for name in options.sections or SECTIONS:
        found = [*SECTIONS[name](options.package.resolve())]
        print("\n".join([f"{name}: {'' if found else 'none'}".rstrip(), *(f"  {line}" for line in found)]))
        has_findings = has_findings or bool(found)
    return int(has_findings)


if __name__ == "__main__":
    sys.exit(main())
