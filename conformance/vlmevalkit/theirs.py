"""Runs VLMEvalKit over the book: its loop of inference with the scripted models, prediction files, ``evaluate``."""

from __future__ import annotations

import argparse
import os
import random
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.frame import MODELS, Observation, write_observation
from conformance.vlmevalkit.book import Case, leaves, own_data, predictions_in, read_cases
from conformance.vlmevalkit.judging import Plain, as_text, plain_message
from conformance.vlmevalkit.original import Original
from conformance.vlmevalkit.prepare import judge_kwargs, quiet

_SECONDS = 40


class Speaker:
    """A scripted model of VLMEvalKit's.

    Args:
        said: The answers by index.

    Attributes:
        shown: What it was shown, by index.
    """

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said, self._index = said, ""
        self.shown: dict[str, Plain] = {}

    def watch(self, dataset: Any) -> None:
        """Learn from calls of ``build_prompt`` which row comes next."""
        build = dataset.build_prompt

        def build_prompt(line: Any, *arguments: Any, **options: Any) -> Any:
            self._index = str(dataset.data.iloc[line]["index"] if isinstance(line, int) else line["index"])
            return build(line, *arguments, **options)

        dataset.build_prompt = build_prompt

    def set_dump_image(self, dump: Any) -> None:
        """Models that make prompts of their own write images."""

    def generate(self, message: Any, dataset: str | None = None) -> str:
        self.shown[self._index] = plain_message(message)
        return str(self._said[self._index])

    def chat_inner(self, messages: Any, dataset: str | None = None) -> str:
        return self.chat(messages, dataset)

    def chat(self, messages: Any, dataset: str | None = None) -> str:
        turn = sum(one["role"] == "user" for one in messages) - 1
        self.shown[f"{self._index}/{turn}"] = plain_message(messages)
        return str(self._said[self._index][turn])


def observe(original: Original, case: Case, model: str, folder: Path) -> Observation:
    """What VLMEvalKit makes of one case with one model."""
    made = Observation(case.name, model)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Sets share folders of images, and an image that is there is not written again.
    shutil.rmtree(Path(original.file.LMUDataRoot()) / "images", ignore_errors=True)
    heard: list[Plain] = []
    original.heard = heard.append
    speaker = Speaker(case.answers[model])
    try:
        with contained.time_limit(_SECONDS), quiet():
            dataset = original.dataset.build_dataset(case.dataset)
            speaker.watch(dataset)
            file = original.file.get_pred_file_path(str(folder), "scripted", case.dataset)
            _infer(original, speaker, dataset, file)
            before = _drawn()
            returned = dataset.evaluate(file, **judge_kwargs(case.judge))
            made.has_draws = _drawn() != before
            # After evaluate, which may add to the file: Polymeter keeps what it leaves.
            made.samples = predictions_in(Path(file))
    except (Exception, SystemExit, contained.OutOfTime) as error:
        made.failure = contained.reason(error)
    else:
        made.values = dict(leaves(returned))
    asked = sorted(as_text(one) for one in heard if one[-1][-1] != "hello")
    made.prompts = {index: as_text(one) for index, one in speaker.shown.items()}
    made.prompts |= {f"judge {number:04}": one for number, one in enumerate(asked)}
    return made


def _drawn() -> int:
    """Something that changes when random numbers are drawn from a global generator."""
    import numpy

    return hash((random.getstate(), str(numpy.random.get_state())))  # noqa: NPY002


def _infer(original: Original, speaker: Speaker, dataset: Any, file: str) -> None:
    """Write the prediction file, by the loop for the kind of a set."""
    folder = str(Path(file).parent)
    if getattr(dataset, "MODALITY", "") == "VIDEO":
        original.inference("video").infer_data_job_video(speaker, folder, "scripted", dataset, result_file=file)
    elif getattr(dataset, "TYPE", "") == "MT":
        original.inference("mt").infer_data_job_mt(speaker, folder, "scripted", dataset)
    else:
        original.inference().infer_data_job(speaker, folder, "scripted", dataset)


def main() -> None:
    """Run the cases of a book."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--part", type=int, default=0, help="which of the parts, from 0")
    parser.add_argument("--parts", type=int, default=1, help="into how many parts the cases are divided")
    options = parser.parse_args()
    contained.only_this_machine()
    os.chdir(options.work)
    original = Original(options.checkout, own_data(options.work, f"theirs-{options.part}"))
    for number, case in islice(enumerate(read_cases(options.work)), options.part, None, options.parts):
        for model in MODELS:
            # Some classes write beside the folder too, and collections replace their name in the whole path.
            folder = options.work / "theirs" / model / str(number) / "run"
            write_observation(options.out, observe(original, case, model, folder))


if __name__ == "__main__":
    main()
