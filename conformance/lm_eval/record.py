"""Records what lm-eval makes of a folder of made tasks, as data for the tests: prompts, answers, scores and numbers.

    python -m conformance.lm_eval.record tests/conformance/lm_eval

in an environment with lm-eval. The folder holds ``tasks``, ``rows`` with a folder for each dataset, and the record.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance.lm_eval import computed, installed
from conformance.lm_eval.cases import RESAMPLES, SYSTEM, Case, Way
from conformance.lm_eval.observing import observed_there

WAYS = (
    Way(),
    Way(2),
    Way(1, has_system=True),
    Way(2, is_chat=True, is_multiturn=True),
    Way(2, is_chat=True, has_system=True),
)
GROUP = "all_birds"
FILE = "recorded.json"


def turns(messages: Sequence[dict[str, str]], *, is_asked: bool = True) -> str:
    """Messages as one text, as the made chat template writes them."""
    text = "".join(f"<{one['role']}>{one['content']}</{one['role']}>" for one in messages)
    return text + ("<assistant>" if is_asked else "")


def computed_model() -> Any:
    """`computed` as a model of lm-eval."""
    from lm_eval.api.model import LM

    class Computed(LM):  # type: ignore[misc]
        tokenizer_name = "computed"

        def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
            return [computed.likelihood(*request.args) for request in requests]

        def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[float]:
            return [computed.rolling(request.args[0]) for request in requests]

        def generate_until(self, requests: Sequence[Any]) -> list[str]:
            asked, made = Counter[Any](), []
            for request in requests:
                text = computed.said(request.args[0], asked[request.task_name, request.doc_id])
                asked[request.task_name, request.doc_id] += 1
                for stop in request.args[1]["until"]:
                    text = text.split(stop)[0]
                made.append(text)
            return made

        def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
            return turns(chat_history, is_asked=add_generation_prompt)

    return Computed()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    installed.contained_manager({})
    import datasets
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    def open_rows(path: str, **_: Any) -> Any:
        files = {file.stem: str(file) for file in (folder / "rows" / path.rpartition("/")[2]).glob("*.jsonl")}
        return datasets.DatasetDict({name: datasets.Dataset.from_json(file) for name, file in files.items()})

    datasets.load_dataset = lambda path, name=None, **_: open_rows(path)
    manager = TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
    record: dict[str, Any] = {}
    for way in WAYS:
        for name in [*manager.all_subtasks, *([GROUP] if way == Way() else [])]:
            document = simple_evaluate(
                model=computed_model(),
                tasks=[name],
                task_manager=manager,
                num_fewshot=way.shots,
                apply_chat_template=way.is_chat,
                fewshot_as_multiturn=way.is_multiturn,
                system_instruction=SYSTEM if way.has_system else None,
                bootstrap_iters=RESAMPLES,
            )
            if name == GROUP:
                record[GROUP] = {key: value for key, value in document["results"][GROUP].items() if "," in key}
                continue
            case = Case(name, way)
            record[case.name] = {**asdict(observed_there(case.name, name, "computed", document)), "case": asdict(case)}
    text = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
