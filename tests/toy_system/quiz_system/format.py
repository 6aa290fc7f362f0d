"""The format ``quiz``: one benchmark per ``*.quiz`` file.

Empty lines separate questions. Each has the lines ``Q: …`` and ``A: …``, and ``Image: …`` if it shows an image.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polymeter import extend as pm


def read(file: Path) -> list[dict[str, str]]:
    """Read the questions of a file."""
    questions = []
    for block in file.read_text("utf-8").strip().split("\n\n"):
        question = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if not {"Q", "A"} <= question.keys():
            raise pm.PlanError(f"{block!r} is not a question.", where=str(file), hint="Write Q: … and A: … lines.")
        questions.append(question)
    return questions


def index(roots: Sequence[pm.Root], cache_dir: Path | None) -> pm.Catalog:
    catalog = pm.Catalog()
    for root in roots:
        for file in [root.path] if root.path.is_file() else sorted(root.path.rglob("*.quiz")):
            if file.suffix == ".quiz":
                catalog.add(pm.Entry(file.stem, "task", "quiz", file, root.is_user))
    return catalog


def load(entry: pm.Entry, catalog: pm.Catalog) -> pm.Loaded:
    config = {"questions": read(entry.file)}
    spec = pm.TaskSpec(entry.name, "quiz", entry.file, config, pm.source_hash([entry.file]), (entry.file,))
    return pm.Loaded((spec,))


def describe(entry: pm.Entry, catalog: pm.Catalog) -> list[tuple[str, Any, Path]]:
    return [("questions", len(read(entry.file)), entry.file)]


def flatten(entry: pm.Entry, catalog: pm.Catalog) -> str:
    return entry.file.read_text("utf-8")


def check(entry: pm.Entry, catalog: pm.Catalog) -> list[pm.Problem]:
    images = [entry.file.parent / question["Image"] for question in read(entry.file) if "Image" in question]
    return [pm.Problem(str(entry.file), f"{path.name!r} is missing.") for path in images if not path.is_file()]


def compile_task(spec: pm.TaskSpec, traits: pm.ModelTraits, context: pm.OpenContext) -> pm.Task:
    parameters, _ = pm.text_parameters(context.generation, {"max_new_tokens": 16, "temperature": 0})
    samples = [pm.Sample(spec.name, str(i), i, question) for i, question in enumerate(spec.config["questions"])]
    shows_images = any("Image" in sample.doc for sample in samples)

    def rollout(sample: pm.Sample) -> pm.RolloutSteps:
        images = [pm.Image(spec.file.parent / sample.doc["Image"])] if "Image" in sample.doc else []
        message = pm.Message("user", (*images, pm.Text(f"{sample.doc['Q']}\nAnswer with one word.")))
        yield pm.Request((message,), parameters, pm.Origin(spec.name, sample.id, index=sample.index))

    def score(sample: pm.Sample, rollout: pm.Rollout) -> pm.Score:
        answer = rollout.responses[0].text.strip(" .\n").lower()
        return pm.Score({("acc", "none"): float(answer == sample.doc["A"].lower())}, sample.doc["A"], answer)

    def reduce(rows: Iterable[pm.ScoredRow], context: pm.ReduceContext) -> list[pm.Result]:
        return pm.reduce_rows(rows, [pm.MetricPlan("acc", "none", pm.AGGREGATIONS.get("mean"), True)], context)

    return pm.Task(
        spec=spec,
        needs=pm.Needs(modalities=frozenset({"text", "image"} if shows_images else {"text"})),
        samples=samples,
        rollout=rollout,
        score=score,
        reduce=reduce,
        row_functions=pm.RowFunctions(full_doc=lambda i: samples[i].doc, target=lambda i: samples[i].doc["A"]),
        parameters=(parameters,),
        fingerprint=spec.source_hash,
        score_digest=spec.source_hash,
        is_thread_safe=True,
    )


FORMAT = pm.Format("quiz", index, load, describe, flatten, check, compile_task, endings=(".quiz",))
