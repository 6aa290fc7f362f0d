"""Runs in EvalScope's environment: makes rows that its adapters can read, and the book of answers to them.

An adapter's hooks are called on generated rows; when one fails, the form of a column that the failure points at is
changed, and so on. An adapter that cannot be made to read generated rows is named in the book with the last failure.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import io
import json
import re
import shutil
import struct
import tempfile
import textwrap
import wave
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.answers import generator
from conformance.evalscope_1.decisions import RECORDS
from conformance.evalscope_1.hints import HINTS, SUBSETS, tags_of
from conformance.evalscope_1.hub_files import write_files
from conformance.evalscope_1.images import score_by_digests
from conformance.evalscope_1.mixtures import COLLECTION
from conformance.evalscope_1.programs import ANSWERS, run_in_processes
from conformance.evalscope_1.stand_ins import OutOfReach, key_of, serve_rows
from conformance.forms import in_turn
from conformance.made_rows.answering import candidates, choose, largest_gap, scripted_answers
from conformance.made_rows.repair import Repairs
from conformance.made_rows.rows import Shape, is_answer, make_rows, write_rows
from conformance.made_rows.schema import FunctionName, Use, columns_of

N_ROWS = 6
MOST_SUBSETS = 2
MOST_REPAIRS = 30
SECONDS = 40
# What a case needs beside rows: their adapters are named and not tried.
OUT_OF_REACH = {
    "AgentAdapter": "an agent",
    "FunctionCallAdapter": "calls of functions",
}
KINDS = {
    "CodeExecutionSandboxMixin": "program",
    "ImageEditAdapter": "edit",
    "Text2ImageAdapter": "image",
    "DecisionAdapter": "decision",
}
"""What a model is asked for, by the class of the adapter; of all others a text."""
SCORED_ALONE = ("text", "program")
"""Kinds whose answers are texts that the adapter scores."""
LOCAL = {"general_decision": RECORDS}
"""The rows of benchmarks that read a file of the user's."""


class Preparation:
    """One adapter on its way to rows and answers."""

    def __init__(self, name: str, work: Path, seed: int, benchmarks: Path) -> None:
        from evalscope.api.registry import BENCHMARK_REGISTRY

        self.name, self.seed, self.benchmarks = name, seed, benchmarks
        self.meta = BENCHMARK_REGISTRY[name]
        self.folder = work / "rows" / name
        self.row: dict[str, Any] = {}
        self.further: list[tuple[str, str]] = []  # parts that the adapter asked for
        subsets = [one for one in self.meta.subset_list if isinstance(one, str)]
        names = [base.__name__ for base in self.meta.data_adapter.__mro__]
        self.kind = next((kind for base, kind in KINDS.items() if base in names), "text")
        self.args: dict[str, Any] = {}
        if name in SUBSETS:
            self.args["subset_list"] = list(SUBSETS[name])
        elif len(subsets) > MOST_SUBSETS:
            self.args["subset_list"] = generator("subsets", seed, name).sample(subsets, MOST_SUBSETS)
        self.subsets = self.args.get("subset_list", subsets)
        if self.meta.few_shot_num > 2 and self.meta.train_split and getattr(self.meta, "few_shot_mode", "") == "auto":
            self.args["few_shot_num"] = 0 if getattr(self.meta, "allowed_few_shot_nums", None) else 2

    def prepare(self) -> dict[str, Any]:
        """The book's entry."""
        cls = self.meta.data_adapter
        for base in cls.__mro__:
            if base.__name__ in OUT_OF_REACH:
                return {"failure": f"OutOfReach: {OUT_OF_REACH[base.__name__]}"}
        if self.name in LOCAL:
            self._write_local(LOCAL[self.name])
        hints = {**HINTS.get(Path(inspect.getsourcefile(cls) or "").parent.name, {}), **HINTS.get(self.name, {})}
        shape = Shape(self._columns(cls), {**self._subset_kinds(cls), **hints, **self._entities(cls)})
        repairs = Repairs(shape, self.benchmarks)
        failure = ""
        for _ in range(MOST_REPAIRS):
            try:
                with contained.time_limit(SECONDS):
                    made = self._try(shape)
                if made["gap"] == 0.0 and self.kind in SCORED_ALONE:
                    made = self._with_other_answers(shape, made)
                is_judged = cls.scoring_policy.judge_by_default
                about = {"kind": self.kind, "args": self.args, "is_judged": is_judged}
                return {**about, "columns": dict(shape.kinds), **made}
            except (Exception, SystemExit, contained.OutOfTime) as error:
                failure = contained.reason(error)
                if wanted := re.search(r"no rows of subset '([^']*)', split '([^']*)'", str(error)):
                    self.further.append((wanted[1], wanted[2]))
                    continue
                is_final = isinstance(error, (ImportError, OutOfReach, contained.OutOfTime))
                if is_final or not repairs.repair(error, self.row):
                    break
        return {"failure": failure}

    def _write_local(self, records: Sequence[Any]) -> None:
        """Write the file of a benchmark that reads the user's own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(record) for record in records]
        (self.folder / "default_test.jsonl").write_text("\n".join(lines), encoding="utf-8")
        self.args["local_path"] = str(self.folder)

    def _with_other_answers(self, shape: Shape, made: dict[str, Any]) -> dict[str, Any]:
        """Where no answer counts as right, the expected one may have another form: a letter, a number."""
        answers = [name for name in shape.columns.keys if is_answer(name) and name not in shape.kinds]
        for kind in ("letter", "digits", "number", "text", "yesno") if len(answers) == 1 else ():
            other = Shape(shape.columns, {**shape.kinds, answers[0]: kind})
            try:
                with contained.time_limit(SECONDS):
                    tried = self._try(other)
            except (Exception, SystemExit, contained.OutOfTime):
                continue
            if tried["gap"] > 0:
                shape.kinds.update(other.kinds)
                return tried
        with contained.time_limit(SECONDS):
            return self._try(shape)  # its rows are written again

    def _entities(self, cls: type) -> dict[str, str]:
        """Tokens and tags for an adapter that looks for named entities."""
        if "NERAdapter" not in {base.__name__ for base in cls.__mro__}:
            return {}
        adapter = self._adapter()
        adapter.current_subset_name = self.subsets[0]
        adapter.setup_entity_mappings()
        tokens, tags = tags_of(list(adapter.entity_type_map) or ["PER", "LOC"])
        return {"tokens": tokens, "ner_tags": tags}

    def _columns(self, cls: type) -> Use:
        """What the methods of an adapter read of a record: its own and those of its bases in the package."""
        file = Path(inspect.getsourcefile(cls) or "")
        tree = ast.parse(file.read_text(encoding="utf-8"))
        methods: dict[str, str] = {}
        for base in cls.__mro__:
            if base.__module__.startswith("evalscope.benchmarks") or "record_to_sample" not in methods:
                for name, value in vars(base).items():
                    function = getattr(value, "__func__", value)
                    if inspect.isfunction(function) and name not in methods:
                        methods[name] = _as_function(function)
        constants = [ast.unparse(node) for node in tree.body if isinstance(node, (ast.Assign, ast.FunctionDef))]
        with tempfile.TemporaryDirectory() as folder:
            flat = Path(folder) / "flat.py"
            flat.write_text("\n\n".join([*constants, *filter(None, methods.values())]), encoding="utf-8")
            return columns_of({"hook": FunctionName(flat, "record_to_sample")}, ["hook"])

    def _subset_kinds(self, cls: type) -> dict[str, str]:
        """The column that names a record's subset holds the names of subsets."""
        source = "".join(
            inspect.getsource(base) for base in cls.__mro__ if base.__module__.startswith("evalscope.benchmarks")
        )
        found = re.search(r"subset_key\s*=\s*(f?)([^\n]*?),?\n", source)
        if not found:
            return {}
        value = found[2]
        is_list = value.endswith("[0]")
        value = value.removesuffix("[0]")
        if re.fullmatch(r"\w+", value) and (assigned := re.search(rf"\b{value}\b[\w\[\]: .,]*=\s*([^=\n]+)\n", source)):
            value = assigned[1]
        # A number in the subset's name stands in the column: 'Level 3' for 3.
        prefix = re.match(r"['\"]([^{'\"]*)\{(\w+)", value) if found[1] else None
        if prefix and (assigned := re.search(rf"\b{prefix[2]}\b\s*=\s*([^=\n]+)\n", source)):
            value = assigned[1]
        column = re.search(r"record(?:\[|\.get\()['\"]([^'\"]+)['\"]", value)
        if column is None:
            return {}
        names = [one.removeprefix(prefix[1]) if prefix else one for one in self.subsets]
        cells = [int(one) if prefix and one.isdigit() else one for one in names]
        return {column[1]: in_turn(*([[one] for one in cells] if is_list else cells))}

    def _try(self, shape: Shape) -> dict[str, Any]:
        if self.name not in LOCAL and not write_files(self.name, self.subsets, self.folder, self.seed):
            self._write(shape)
        adapter = self._adapter()
        dataset = adapter.load_dataset()
        samples = [sample for subset in dataset.values() for sample in subset]
        if len(samples) < 2:
            raise LookupError(f"{len(samples)} samples are left")
        targets = [candidates(_doc(one), one.target, one.choices) for one in samples]
        if right := ANSWERS.get(self.name):
            targets = [[right[number % len(right)], *texts] for number, texts in enumerate(targets)]
        chosen = choose(targets, lambda column, dress: self._gap(adapter, samples, column, dress))
        answers = scripted_answers(chosen, 1, (self.seed, self.name))
        book: dict[str, dict[str, str]] = {}
        for model, of_rows in answers.items():
            for number, said in of_rows.items():
                book.setdefault(key_of(_messages(samples[number])), {})[model] = said[0]
        return {"n": len(samples), "gap": chosen.gap, "dress": chosen.dress, "answers": book}

    def _write(self, shape: Shape) -> None:
        for file in self.folder.glob("**/*.parquet"):
            file.unlink()
        splits = {self.meta.eval_split, self.meta.train_split, *self.subsets, self.meta.default_subset} - {None}
        subsets = {*self.subsets, self.meta.default_subset}
        parts = {(subset, split) for subset in subsets for split in splits}
        for subset, split in sorted({*parts, *self.further}):
            made = make_rows(shape, N_ROWS, f"{self.seed}:{self.name}:{subset}:{split}")
            if not made[0]:
                raise LookupError("reads no column")
            rows = [{name: encoded(cell) for name, cell in row.items()} for row in made]
            self.row = rows[0]
            write_rows(list(rows), self.folder / subset.replace("/", "_"), [split.replace("/", "_")])

    def _adapter(self) -> Any:
        from evalscope.api.registry import get_benchmark
        from evalscope.config import TaskConfig

        # EvalScope keeps a copy of what it has loaded once, by the dataset's name.
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder.parent.parent / "copies")
        config = TaskConfig(
            model="mock",
            eval_type="systemone_api" if self.kind == "decision" else "mock_llm",
            datasets=[self.name],
            dataset_args={self.name: self.args},
            dataset_dir=str(self.folder.parent.parent / "copies"),
            seed=42,
        )
        return get_benchmark(self.name, config)

    def _gap(self, adapter: Any, samples: Sequence[Any], column: Sequence[str], dress: str) -> float | None:
        """How far apart right and wrong answers are in the adapter's own scores; nothing if it cannot score alone."""
        if self.kind not in SCORED_ALONE:
            return None
        rights, wrongs = [], []
        for number, sample in enumerate(samples):
            wrong = column[(number + 1) % len(column)]
            if wrong == column[number]:
                wrong = "qwzx"
            try:
                rights.append(_scores(adapter, sample, dress.format(column[number])))
                wrongs.append(_scores(adapter, sample, dress.format(wrong)))
            except Exception:
                return None
        return largest_gap(_means(rights), _means(wrongs))


def encoded(cell: Any) -> Any:
    """A cell as EvalScope's loaders give it to adapters: media as bytes with a path."""
    if hasattr(cell, "getbands"):
        buffer = io.BytesIO()
        cell.save(buffer, "PNG")
        return {"bytes": buffer.getvalue(), "path": "picture.png"}
    if isinstance(cell, dict) and {"array", "sampling_rate"} <= cell.keys():
        return {"bytes": _wav(cell["array"], cell["sampling_rate"]), "path": "tone.wav"}
    if isinstance(cell, dict):
        return {key: encoded(one) for key, one in cell.items()}
    return [encoded(one) for one in cell] if isinstance(cell, list) else cell


def _wav(samples: Sequence[float], rate: int) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(rate)
        made.writeframes(b"".join(struct.pack("<h", round(30_000 * one)) for one in samples))
    return buffer.getvalue()


def _as_function(function: Any) -> str:
    """A method as a function without ``self``, so that the reader of columns can follow its calls."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return ""
    made = tree.body[0]
    if not isinstance(made, ast.FunctionDef):
        return ""
    made.decorator_list = []
    made.args.args = [one for one in made.args.args if one.arg not in ("self", "cls")]

    class WithoutSelf(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            self.generic_visit(node)
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            return ast.copy_location(ast.Name(node.attr, node.ctx), node) if is_own else node

    return ast.unparse(WithoutSelf().visit(made))


def _doc(sample: Any) -> dict[str, Any]:
    return dict(sample.metadata or {})


def _messages(sample: Any) -> list[dict[str, Any]]:
    """The messages of a sample as far as their texts go."""
    if isinstance(sample.input, str):
        return [{"content": sample.input}]
    return [{"content": one.text} for one in sample.input]


def _scores(adapter: Any, sample: Any, text: str) -> dict[str, float]:
    from evalscope.api.evaluator import TaskState
    from evalscope.api.model import ModelOutput

    output = ModelOutput.from_content("model", text)
    state = TaskState(model="model", sample=sample, messages=[], output=output, completed=True)
    value = adapter.calculate_metrics(task_state=state).score.value
    return {name: float(one) for name, one in value.items() if isinstance(one, (int, float))}


def _means(scores: Sequence[dict[str, float]]) -> dict[str, float]:
    names = {name for one in scores for name in one}
    return {name: sum(one.get(name, 0.0) for one in scores) / len(scores) for name in names}


def names_of(pattern: str) -> Iterator[str]:
    """The installed adapters whose names a glob matches."""
    import fnmatch

    index = json.loads((benchmarks_folder() / "_index.json").read_text(encoding="utf-8"))
    for name, module in sorted(index.items()):
        if name != COLLECTION and any(fnmatch.fnmatchcase(name, one) for one in pattern.split(",")):
            try:
                importlib.import_module(module)
            except Exception as error:
                print(f"{name}: {contained.reason(error)}", flush=True)
                continue
            yield name


def benchmarks_folder() -> Path:
    """The folder of the installed adapters."""
    import evalscope.benchmarks

    return Path(evalscope.benchmarks.__file__).parent


def main() -> None:
    """Write the book of a seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    options = parser.parse_args()
    contained.only_this_machine()
    place: dict[str, str] = {}
    serve_rows(place)
    run_in_processes(place)
    score_by_digests()
    book = options.work / "book.jsonl"
    book.unlink(missing_ok=True)
    for name in names_of(options.only):
        place["current"] = str(options.work / "rows" / name)
        entry = Preparation(name, options.work, options.seed, benchmarks_folder()).prepare()
        print(name, entry.get("failure") or f"{entry['n']} samples, gap {entry['gap']:.2f}", flush=True)
        with book.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"name": name, **entry}) + "\n")


if __name__ == "__main__":
    main()
