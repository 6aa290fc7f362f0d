"""Rules of the house that no linter knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import polymeter

SOURCE = Path(polymeter.__file__).parent
ENGINE_WORDS = frozenset({"rollout", "score", "reduce"})
DOCUMENTED = frozenset({"_asdict", "_current_frames", "_exit", "_getframe", "_thread"})
"""Names of Python's own that its documentation lists in spite of their underscore."""
PRIVATE_OF_OTHERS = {
    "core/media/sources.py": {"_hf_encoded"},
    "data/origins.py": {"_indices"},
    "data/pickles.py": {"_Unpickler", "_restore_array"},  # what a pickle may do is decided by its steps, one by one
    "guests/contain.py": {"_core"},
    "interop/evalscope/v1/scoring/math_answers.py": {"_unsorted_args"},
    "metrics/translation.py": {"_compute_score_from_stats", "_extract_corpus_statistics"},
    "models/hf/scoring/score_shared.py": {"_attn_implementation"},
    "guests/generators.py": {"_bit_generator", "_inst", "_rand"},
}
"""Private parts of other packages that are used. Each but those of `data/pickles.py` and `guests/generators.py` has a
way without it where it is not there.
"""
FOR_AUTHORS: frozenset[str] = frozenset()
"""Base classes that authors subclass and that have a method of one of these names."""


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted(SOURCE.glob(f"{folder}/**/*.py")):
            yield path.relative_to(SOURCE), ast.parse(path.read_text("utf-8"))


def test_formats_compile_to_functions_and_have_no_task_classes() -> None:
    named = [
        f"{path}: {node.name}.{method.name}"
        for path, tree in trees("tasks", "interop/*/tasks")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name not in FOR_AUTHORS
        for method in node.body
        if isinstance(method, ast.FunctionDef) and method.name in ENGINE_WORDS
    ]
    assert named == []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _private_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The private names that a module gives to something of its own, and those that it takes from objects and from
    other packages.
    """
    own: list[str] = []
    taken: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            own.append(node.name)
        elif isinstance(node, ast.Name):
            own += [node.id] if isinstance(node.ctx, ast.Store) else []
        elif isinstance(node, ast.Attribute):
            is_own = isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"
            (own if is_own else taken).append(node.attr)
        elif isinstance(node, ast.Import):
            taken += [part for name in node.names for part in name.name.split(".")]
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("polymeter"):
            taken += [*(node.module or "").split("."), *(name.name for name in node.names)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("attr"):
            taken += [each.value for each in node.args if isinstance(each, ast.Constant) and type(each.value) is str]
    return {*filter(_is_private, own)}, {*filter(_is_private, taken)}


def test_private_parts_of_other_packages_are_the_known_ones() -> None:
    names = {path.as_posix(): _private_names(tree) for path, tree in trees(".")}
    known = DOCUMENTED.union(*(own for own, _ in names.values()))
    new = {place: taken - known - PRIVATE_OF_OTHERS.get(place, set()) for place, (_, taken) in names.items()}
    assert {place: taken for place, taken in new.items() if taken} == {}


_KEEPERS = frozenset({"cache", "local", "lru_cache"})
_CONTAINERS = frozenset({"OrderedDict", "WeakValueDictionary", "defaultdict", "deque", "dict", "list", "set"})


def _name(node: ast.expr) -> str:
    """The last name of what is called, decorates or is a base: ``lru_cache`` of ``functools.lru_cache(maxsize=1)``."""
    node = node.func if isinstance(node, ast.Call) else node
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_empty(node: ast.expr | None) -> bool:
    """Whether a value is a container that something else will fill."""
    if isinstance(node, ast.Call):
        return not (node.args or node.keywords) and _name(node) in _CONTAINERS
    return (isinstance(node, ast.Dict) and not node.keys) or (isinstance(node, ast.List) and not node.elts)


def _states(tree: ast.Module) -> Iterator[ast.stmt | ast.expr]:
    """The caches and the thread-locals of a module, and the containers that it fills for the whole process."""
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _is_empty(node.value):
            yield node
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Call) and _name(inner) in _KEEPERS:
            yield inner
        elif isinstance(inner, ast.FunctionDef):
            yield from (each for each in inner.decorator_list if _name(each) in _KEEPERS)
        elif isinstance(inner, ast.ClassDef) and "local" in map(_name, inner.bases):
            yield inner


def test_what_a_process_keeps_has_a_reason_beside_it() -> None:
    found = set()
    for path, tree in trees("."):
        lines = [line.strip() for line in (SOURCE / path).read_text("utf-8").splitlines()]
        for node in _states(tree):
            last = node.end_lineno or node.lineno
            below = isinstance(node, (ast.Assign, ast.AnnAssign)) and lines[last : last + 1]
            has_reason = lines[node.lineno - 2].startswith("# ") or "  # " in lines[last - 1]
            if not has_reason and not (below and below[0].startswith('"""')):
                found.add(f"{path.as_posix()}:{node.lineno}")
    # A comment above or beside a cache, a registry or a thread-local says how long it lives, and why that is right.
    assert found == set()


def test_there_is_one_context_variable() -> None:
    places = [
        str(path)
        for path, tree in trees(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "ContextVar"
    ]
    assert places == ["core/guest_context.py"]


def test_no_constructor_starts_a_thread() -> None:
    starts = [
        f"{path}:{call.lineno}"
        for path, tree in trees("run", "store", "models")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("hread.start")
    ]
    assert starts == []


def test_one_module_makes_csv_for_spreadsheets() -> None:
    found = {
        path.as_posix()
        for path, tree in trees(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("csv.writer", "csv.DictWriter")
    }
    # What an adapter writes with a function of its own system is read by that system, and stays as it was given.
    assert found == {"core/text/spreadsheets.py", "interop/evalscope/shim/evalscope/io_utils.py"}


def test_one_function_opens_images_with_pillow() -> None:
    found = {
        path.as_posix()
        for path, tree in trees(".")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("pil.open", "Image.open", "PIL.Image.open")
    }
    assert found == {"core/media/pixels.py"}


def test_the_rooms_are_those_that_the_architecture_names() -> None:
    text = (SOURCE.parents[1] / "docs" / "architecture.md").read_text("utf-8")
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").is_file()}
    named = {line.split("/")[0] for line in text.splitlines() if "/" in line.split(" ")[0] and line[:1].isalpha()}
    assert rooms <= named


SYSTEMS = ("lmms", "lm_eval", "lm-eval", "evalscope", "ulmeval", "vlmeval")
WRITTEN_BY_USERS = {"lmms_eval_specific_kwargs", "VLMEVAL_MIN_IMAGE_EDGE", "VLMEVAL_MAX_IMAGE_SIZE"}
"""Keys of task files and environment variables that keep the name of the system that introduced them."""


def test_code_outside_interop_names_no_other_system() -> None:
    """Docstrings and comments may: they say whose rule something follows."""
    named = []
    for path, tree in trees("*"):
        if path.parts[0] in ("interop", "library"):
            continue
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = getattr(node, "name", None) or getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                text = node.value
            words = str(text or "")
            for allowed in WRITTEN_BY_USERS:
                words = words.replace(allowed, "")
            if any(system in words.lower() for system in SYSTEMS):
                named.append(f"{path}:{getattr(node, 'lineno', 0)}: {words[:60]}")
    assert named == []
