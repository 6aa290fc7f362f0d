"""Each switch of ``--parity lmms-eval``, both ways: prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.core.model import ModelTraits
from polymeter.core.parity import parity_with
from tests.formats.task_yaml.kit import ask, opened
from tests.helpers.differences import difference

pytestmark = pytest.mark.needs_system("lmms_eval")

FIXED = """\
num_fewshot: 1
fewshot_split: train
fewshot_config:
  sampler: first_n
  samples:
  - {q: fixed, a: one}
  doc_to_text: 'Q {{q}}'
  doc_to_target: 'A {{a}}'
  target_delimiter: ' = '
  fewshot_delimiter: ' / '
"""


@difference("fewshot-rows", here="Q fixed = A one / q3", there="q0 a0\n\nq3")
def test_examples_are_rows_of_the_split_in_the_form_of_the_task(tmp_path: Path, parity: str, expected: str) -> None:
    task = opened(tmp_path, FIXED, traits=ModelTraits("m", "simple"), parity=parity_with(parity))
    assert ask(task, 3).text == expected


@difference("chat-prompt", here="About.q0 a0\n\nq3", there="q3")
def test_chat_models_get_the_question_alone(tmp_path: Path, parity: str, expected: str) -> None:
    extra = "description: About.\nnum_fewshot: 1\nfewshot_split: train\nfewshot_config: {sampler: first_n}\n"
    task = opened(tmp_path, extra, traits=ModelTraits("m", "chat"), parity=parity_with(parity))
    assert ask(task, 3).text == expected
    simple = opened(tmp_path / "s", extra, traits=ModelTraits("m", "simple"), parity=parity_with(parity))
    assert ask(simple, 3).text == "About.q0 a0\n\nq3"
