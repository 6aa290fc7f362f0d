"""Tasks of lm-evaluation-harness as whole processes: its own evaluator beside ``polymeter lm-eval``, with equal words.

A question with four letters behind five examples that stay the same (as MMLU asks), and one with four answers of
several words behind five examples drawn for each question (as ARC asks), both on one small checkpoint; and with a model
that costs nothing 20,000 questions of the first kind, and 20,000 rows of generation.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.rows import Work

PYTHON = Path(".venv-lm-eval/bin/python")
"""The interpreter of an environment in which lm-evaluation-harness is installed."""
BATCH_SIZES = (1, 8, 32, 64)
N_QUESTIONS, N_ROWS = 500, 20_000
_N_EXAMPLES = 40
_NAMES = ("river", "garden", "table", "window", "violin", "doctor", "stone", "bridge", "clock", "paper", "boat", "lamp")
_TASK = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {folder}/{test}.jsonl
    train: {folder}/train.jsonl
test_split: test
fewshot_split: train
output_type: multiple_choice
doc_to_target: answer
{asks}
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: acc_norm
    aggregation: mean
    higher_is_better: true
"""
_LETTERS = """\
doc_to_text: "{{question}}\\nA. {{choices[0]}}\\nB. {{choices[1]}}\\nC. {{choices[2]}}\\nD. {{choices[3]}}\\nAnswer:"
doc_to_choice: ["A", "B", "C", "D"]
fewshot_config:
  sampler: first_n
"""
_WORDS = """\
doc_to_text: "Question: {{question}}\\nAnswer:"
doc_to_choice: choices
"""
_ROWS = """\
task: bench_rows
dataset_path: json
dataset_kwargs:
  data_files:
    test: {folder}/rows.jsonl
test_split: test
output_type: generate_until
doc_to_text: "Question: {{{{question}}}}\\nAnswer:"
doc_to_target: target
generation_kwargs:
  until: ["\\n"]
  max_gen_toks: 16
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""
COSTS_NOTHING = {
    "bench_rows": ("20,000 rows of generation", ("--model", "dummy", "--batch_size", "64")),
    "bench_many_letters": ("20,000 five-shot questions, letters", ("--model", "dummy", "--num_fewshot", "5")),
}
"""Tasks for a model that costs nothing: what they are, and the words for a run."""
KINDS = {"bench_letters": _LETTERS, "bench_words": _WORDS}


def write(folder: Path, n_rows: int) -> Path:
    """Write tasks, rows and the checkpoint into a folder.

    Args:
        folder: Where to.
        n_rows: Rows of the tasks for a model that costs nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, n, seed in (("test", N_QUESTIONS, 1), ("train", _N_EXAMPLES, 2), ("many", n_rows, 3)):
        generator = random.Random(seed)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(_question(generator)) + "\n" for _ in range(n)))
    rows = ({"question": f"What is {i} plus {i}?", "target": str(2 * i)} for i in range(n_rows))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, asks in KINDS.items():
        (folder / f"{name}.yaml").write_text(_TASK.format(name=name, folder=folder, test="test", asks=asks))
    many = _TASK.format(name="bench_many_letters", folder=folder, test="many", asks=_LETTERS)
    (folder / "bench_many_letters.yaml").write_text(many)
    (folder / "bench_rows.yaml").write_text(_ROWS.format(folder=folder))
    _checkpoint(folder / "checkpoint")
    return folder


def theirs(root: Path, folder: Path, task: str, words: Sequence[str], output: Path) -> Work:
    """A task with lm-evaluation-harness."""
    command = (str(root / PYTHON), "-m", "lm_eval", "run", *_words(folder, task, words, output))
    return Work(f"lm-eval, {task}", command, output)


def ours(folder: Path, task: str, words: Sequence[str], output: Path) -> Work:
    """The same with Polymeter."""
    command = (str(Path(sys.executable).with_name("polymeter")), "lm-eval", "run")
    return Work(f"polymeter, {task}", (*command, *_words(folder, task, words, output)), output)


def scored(folder: Path, batch_size: int) -> tuple[str, ...]:
    """The words for a run on the checkpoint."""
    model = ("--model", "hf", "--model_args", f"pretrained={folder / 'checkpoint'},dtype=float32", "--device", "cpu")
    return (*model, "--num_fewshot", "5", "--batch_size", str(batch_size))


def _words(folder: Path, task: str, words: Sequence[str], output: Path) -> tuple[str, ...]:
    place = ("--tasks", task, "--include_path", str(folder), "--output_path", str(output), "--log_samples")
    return (*words, *place)


def _question(generator: random.Random) -> dict[str, object]:
    choices = [" ".join(generator.sample(_NAMES, 3)) for _ in range(4)]
    place = generator.randrange(4)
    told = " ".join(generator.choice(_NAMES) for _ in range(25))
    question = f"Somebody wrote down: {told}. Which of these stands at place {place + 1} of the list?"
    return {"question": question, "choices": choices, "answer": place}


def _checkpoint(folder: Path) -> None:
    """A Llama with random weights: small, and large enough that its forwards are most of the work."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from tests.helpers.checkpoints import make_checkpoint

    make_checkpoint("llama", folder)
    torch.manual_seed(0)
    config = LlamaConfig.from_pretrained(folder)
    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "head_dim": 64}
    for name, value in {**sizes, "max_position_embeddings": 4096, "num_key_value_heads": 4}.items():
        setattr(config, name, value)
    LlamaForCausalLM(config).save_pretrained(folder)
