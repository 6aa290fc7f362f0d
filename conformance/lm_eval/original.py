"""Runs in lm-eval's environment: its own evaluator on the prepared rows, with its ``hf`` model or a scripted one."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.frame import Observation, read_observations, write_observation
from conformance.lm_eval import installed
from conformance.lm_eval.cases import RESAMPLES, SYSTEM, Case
from conformance.lm_eval.observing import observed_there

SECONDS = 240
BATCH = 8


def generation(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """What both tools are told about generation: a few tokens, and nothing drawn at random."""
    settings = dict(config or {})
    asked: dict[str, Any] = {"max_gen_toks": 12}
    if settings.get("do_sample") or settings.get("temperature"):
        asked |= {"do_sample": False, "temperature": 0.0}
    return asked


def scripted_model(book: Mapping[str, Any], who: str) -> Any:
    """A model of lm-eval that says what the book has."""
    from lm_eval.api.model import LM

    class Scripted(LM):  # type: ignore[misc]
        def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
            asked, said = Counter[Any](), []
            for request in requests:
                row = (request.task_name, request.doc_id)
                answers = book[request.task_name]["answers"][who][str(request.doc_id)]
                text = answers[asked[row] % len(answers)]
                asked[row] += 1
                # Every model of lm-eval ends its answers at the stop strings itself.
                for stop in request.args[1].get("until") or ():
                    text = text.split(stop)[0]
                said.append(text)
            return said

        def loglikelihood(self, requests: Sequence[Any]) -> Any:
            raise NotImplementedError("scripted models generate text")

        loglikelihood_rolling = loglikelihood
        tokenizer_name = "scripted"

        def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
            turns = "".join(f"<{turn['role']}>{turn['content']}</{turn['role']}>" for turn in chat_history)
            return turns + ("<assistant>" if add_generation_prompt else "")

    return Scripted()


def observe(case: Case, who: str, model: Any, manager: Any, settings: Mapping[str, Any] | None) -> Observation:
    """One case with one model."""
    from lm_eval.evaluator import simple_evaluate

    try:
        with contained.time_limit(SECONDS):
            document = simple_evaluate(
                model=model,
                tasks=[case.task],
                task_manager=manager,
                num_fewshot=case.way.shots,
                apply_chat_template=case.way.is_chat,
                fewshot_as_multiturn=case.way.is_multiturn,
                system_instruction=SYSTEM if case.way.has_system else None,
                gen_kwargs=settings,
                bootstrap_iters=RESAMPLES,
                log_samples=True,
                batch_size=BATCH,
            )
    except (Exception, SystemExit, contained.OutOfTime) as error:
        return Observation(case.name, who, failure=contained.reason(error))
    return observed_there(case.name, case.task, who, document)


def models_of(entry: Mapping[str, Any]) -> list[str]:
    """Who answers a task: the checkpoint, and where text is generated two scripted models."""
    return ["tiny", "right", "messy"] if "answers" in entry else ["tiny"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--book", type=Path, required=True)
    parser.add_argument("--names", type=Path, required=True, help="JSON list of cases")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    from lm_eval.models.huggingface import HFLM

    checkpoint = str(arguments.work / "tiny")
    tiny = HFLM(pretrained=checkpoint, dtype="float64", device="cpu", batch_size=BATCH)
    book = json.loads(arguments.book.read_text(encoding="utf-8"))
    models = {"tiny": tiny, **{who: scripted_model(book, who) for who in ("right", "messy")}}
    done = read_observations(arguments.out)
    for case in map(Case.from_data, json.loads(arguments.names.read_text(encoding="utf-8"))):
        entry = book[case.task]
        places["current"] = str(arguments.work / "rows" / case.task.replace("/", "_"))
        config = manager.task_index[case.task].cfg
        for who in models_of(entry):
            if (case.name, who) in done:
                continue
            is_text = config.get("output_type", "generate_until") == "generate_until"
            settings = generation(config.get("generation_kwargs")) if is_text and who == "tiny" else None
            made = observe(case, who, models[who], manager, settings)
            write_observation(arguments.out, made)
            print(case.name, who, made.failure or "ok", flush=True)
            if made.failure:
                break


if __name__ == "__main__":
    main()
