"""Runs Polymeter on the prepared rows: the same checkpoint, and the same scripted answers."""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.frame import Observation, read_observations, write_observation
from conformance.lm_eval.cases import RESAMPLES, SYSTEM, Case, Way
from conformance.lm_eval.observing import observed_here

MOST_AT_ONCE = 20
BATCH = 8


def tasks_root() -> str:
    """The installed lm-eval's tasks, as an include path that says whose they are; nothing is imported.

    Raises:
        SystemExit: if lm-eval is not installed beside what runs this.
    """
    found = importlib.util.find_spec("lm_eval")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("lm_eval is not installed here: make conformance makes an environment that has it.")
    return f"lm-eval:{Path(next(iter(found.submodule_search_locations))) / 'tasks'}"


def scripted_model(book: Mapping[str, Any], who: str) -> Any:
    """A model of Polymeter that says what the book has."""
    from polymeter import BatchModel, ModelTraits, Output, Response

    class Scripted(BatchModel):
        traits = ModelTraits(family=f"scripted-{who}")
        batch_hint = 64

        def __init__(self) -> None:
            self.asked = Counter[Any]()

        @property
        def identity(self) -> Mapping[str, Any]:
            return {"scripted": who}

        def respond(self, requests: list[Any]) -> list[Any]:
            return [Response((Output(text=self.said(one), finish_reason="stop"),)) for one in requests]

        def said(self, request: Any) -> str:
            origin = request.origin
            answers = book[origin.task]["answers"][who][str(origin.index)]
            return str(answers[request.parameters.repeat % len(answers)])

    return Scripted()


class Runs:
    """Evaluations of several cases that are asked in one way; where they cannot be planned together, of each alone.

    Args:
        arguments: Those of the command.
        book: What `prepare` wrote.
    """

    def __init__(self, arguments: argparse.Namespace, book: Mapping[str, Any]) -> None:
        self.work: Path = arguments.work
        self.out: Path = arguments.out
        self.has_parity: bool = arguments.parity
        self.book = book
        self.root = tasks_root()  # before the shims stand in for the package
        self.tokenizer: Any = None
        self.catalog: Any = None

    def observe(self, cases: Sequence[Case], who: str) -> None:
        """Run some cases with one model, and note what became of each."""
        try:
            for made in self._evaluate(cases, who):
                write_observation(self.out, made)
        except Exception as error:
            if len(cases) == 1:
                write_observation(self.out, Observation(cases[0].name, who, failure=contained.reason(error)))
                return
            middle = len(cases) // 2
            self.observe(cases[:middle], who)
            self.observe(cases[middle:], who)

    def _evaluate(self, cases: Sequence[Case], who: str) -> list[Observation]:
        import polymeter
        from polymeter.interop.lm_eval.results import LmEvalStoredRun, results_document
        from polymeter.reading.stored import samples_as_read
        from polymeter.store.exports.export import read_samples

        way = cases[0].way
        run = self.out.parent / f"run-{self.out.stem}"
        shutil.rmtree(run, ignore_errors=True)
        model = f"hf:{self.work / 'tiny'}" if who == "tiny" else scripted_model(self.book, who)
        given = {"model_args": {"dtype": "float64", "device": "cpu", "cut_prompts": True}} if who == "tiny" else {}
        is_drawn = any(self.book[case.task].get("is_drawn") for case in cases)
        settings = {"max_new_tokens": 12, **({"temperature": 0.0} if is_drawn else {})}
        generated = {"generation": settings} if who == "tiny" and self._is_text(cases[0]) else {}
        result = polymeter.evaluate(
            model,
            [case.task for case in cases],
            include_paths=[self.root],
            data={self.book[case.task]["dataset"]: str(self._rows(case)) for case in cases},
            output=run,
            cache_dir=self.work / "cache",
            is_offline=True,
            media="none",
            batch_size=BATCH,
            seed=0,
            dialect_options={"lm_eval": _dialect(way)},
            **({} if way.shots is None else {"num_fewshot": way.shots}),
            **({"system_prompt": SYSTEM} if way.has_system else {}),
            **({"parity": "lm-eval"} if self.has_parity else {}),
            **given,
            **generated,
        )
        document = results_document(LmEvalStoredRun(result.folder, self._facts(cases)))
        return [
            observed_here(
                case.name,
                case.task,
                who,
                document,
                samples_as_read(read_samples(result.folder, case.task), result.folder.read_manifest(), case.task),
                self._templated if way.is_chat and who == "tiny" else _turns if way.is_chat else _text,
            )
            for case in cases
        ]

    def _facts(self, cases: Sequence[Case]) -> Any:
        """What the files of lm-eval need beside a run folder."""
        from polymeter.catalog.listing import build_catalog
        from polymeter.interop.lm_eval.results import LmEvalFacts
        from polymeter.run.plan.selection import select

        self.catalog = self.catalog or build_catalog([self.root])
        chosen = select([case.task for case in cases], self.catalog)
        return LmEvalFacts("", {}, "", {spec.name: spec for spec in chosen.tasks}, bootstrap_iters=RESAMPLES)

    def _rows(self, case: Case) -> Path:
        return self.work / "rows" / case.task.replace("/", "_")

    def _is_text(self, case: Case) -> bool:
        return bool(self.book[case.task]["output_type"] == "generate_until")

    def _templated(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Messages in the checkpoint's template, as its own tokenizer writes it."""
        if self.tokenizer is None:
            from transformers import AutoTokenizer

            self.tokenizer = AutoTokenizer.from_pretrained(self.work / "tiny")
        is_begun = messages[-1]["role"] == "assistant"
        return str(
            self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=not is_begun,
                continue_final_message=is_begun,
            )
        )


def _dialect(way: Way) -> dict[str, Any]:
    return {"apply_chat_template": True, "fewshot_as_multiturn": way.is_multiturn} if way.is_chat else {}


def _turns(messages: Sequence[Mapping[str, str]]) -> str:
    turns = "".join(f"<{turn['role']}>{turn['content']}</{turn['role']}>" for turn in messages)
    return turns + ("" if messages[-1]["role"] == "assistant" else "<assistant>")


def _text(messages: Sequence[Mapping[str, str]]) -> str:
    return "".join(message["content"] for message in messages)


def batches(cases: Sequence[Case], book: Mapping[str, Any]) -> list[list[Case]]:
    """Cases that can run together: asked in one way, one kind of output, and no two of them name the same dataset."""
    made: list[list[Case]] = []
    for case in cases:
        entry = book[case.task]
        for batch in made:
            first = book[batch[0].task]
            is_alike = batch[0].way == case.way and all(
                first.get(key) == entry.get(key) for key in ("output_type", "is_drawn")
            )
            paths = {book[other.task]["dataset"].split(":")[0] for other in batch}
            if is_alike and len(batch) < MOST_AT_ONCE and entry["dataset"].split(":")[0] not in paths:
                batch.append(case)
                break
        else:
            made.append([case])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--book", type=Path, required=True)
    parser.add_argument("--names", type=Path, required=True, help="JSON list of cases")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parity", action="store_true")
    arguments = parser.parse_args()
    contained.only_this_machine()
    book = json.loads(arguments.book.read_text(encoding="utf-8"))
    cases = [Case.from_data(data) for data in json.loads(arguments.names.read_text(encoding="utf-8"))]
    done = read_observations(arguments.out)
    runs = Runs(arguments, book)
    for batch in batches(cases, book):
        for who in ("tiny", "right", "messy"):
            asked = [one for one in batch if who == "tiny" or "answers" in book[one.task]]
            left = [one for one in asked if (one.name, who) not in done]
            if left:
                runs.observe(left, who)
                print(left[0].way.name, who, len(left), flush=True)


if __name__ == "__main__":
    main()
