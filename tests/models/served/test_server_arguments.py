"""What users write for a server: split as a shell does, checked, and divided into identity and the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.models.served.arguments import read_arguments
from polymeter.models.served.kinds import LLAMACPP, SGLANG, TRANSFORMERS, VLLM, ServerKind


def identity(kind: ServerKind, text: str) -> list[Any]:
    return read_arguments(kind, text).identity(kind)


def test_the_words_are_passed_on_as_a_shell_splits_them() -> None:
    text = """--dtype bfloat16 --hf-overrides '{"a": [1, 2]}' --enforce-eager"""
    read = read_arguments(VLLM, text)
    words = ("--dtype", "bfloat16", "--hf-overrides", '{"a": [1, 2]}', "--enforce-eager")
    assert read.words[:5] == words
    assert read_arguments(VLLM, list(words)) == read, "a list is the words"


@pytest.mark.parametrize(
    ("kind", "own", "added"),
    [
        (VLLM, "--generation-config auto", "--generation-config vllm"),
        (SGLANG, "--sampling-defaults model", "--sampling-defaults openai"),
        (LLAMACPP, "--temperature 0.8 --top-k 40 --top-p 0.95 --min-p 0.05", "--temp 1 --top-k 0 --top-p 1 --min-p 0"),
        (TRANSFORMERS, "", ""),
    ],
)
def test_what_a_request_leaves_open_does_not_come_from_a_checkpoint_unless_asked_for(
    kind: ServerKind, own: str, added: str
) -> None:
    assert list(read_arguments(kind, "").words) == added.split()
    assert list(read_arguments(kind, own).words) == own.split()
    assert not own or identity(kind, own) != identity(kind, ""), "it can change an answer"


@pytest.mark.parametrize(
    ("kind", "written", "same"),
    [
        (VLLM, "--dtype bfloat16 --max-model-len 4096", "--max_model_len=4096 --dtype=bfloat16"),
        (VLLM, "-q awq", "--quantization awq"),
        (VLLM, "", "-tp 4 --gpu-memory-utilization 0.5 --disable-log-requests --uvicorn-log-level debug"),
        (VLLM, "", "--no-enable-log-requests --no-disable-log-stats"),
        (LLAMACPP, "", "--no-mmap --no-cont-batching --no-webui"),
        (SGLANG, "--dtype half", "--dtype half --tp 8 --mem-fraction-static 0.7 --log-level debug"),
        (LLAMACPP, "-c 8192", "--ctx-size 8192 -ngl 99 --threads 8 --log-file x.log"),
        (TRANSFORMERS, "--dtype float32", "--device cpu --log-level info --dtype float32"),
    ],
)
def test_spelling_order_parallelism_and_logs_are_no_identity(kind: ServerKind, written: str, same: str) -> None:
    assert identity(kind, written) == identity(kind, same)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (VLLM, "--dtype bfloat16", "--dtype float16"),
        (VLLM, "", "--enforce-eager"),
        (VLLM, "", "--no-enable-prefix-caching"),
        (VLLM, "--max-model-len 4096", "--max-model-len 8192"),
        (VLLM, "--some-option-of-tomorrow 1", "--some-option-of-tomorrow 2"),
        (LLAMACPP, "--temp -1", "--temp -2"),
        (TRANSFORMERS, "--quantization bnb-4bit", "--quantization bnb-8bit"),
    ],
)
def test_everything_else_is_identity(kind: ServerKind, one: str, other: str) -> None:
    assert identity(kind, one) != identity(kind, other)


def test_a_negative_number_is_a_value() -> None:
    found = {name: values for name, *values in identity(LLAMACPP, "--temp -1 -c 5")}
    assert found["temp"] == ["-1"]
    assert found["ctx-size"] == ["5"]


def test_a_file_counts_by_its_content_wherever_it_is(tmp_path: Path) -> None:
    for name, text in (("a.jinja", "one"), ("b.jinja", "one"), ("c.jinja", "two")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    a, b, c = (identity(VLLM, f"--chat-template '{tmp_path / name}.jinja'") for name in "abc")
    assert a == b != c
    assert str(tmp_path) not in str(a)


@pytest.mark.parametrize("kind", [VLLM, SGLANG, LLAMACPP, TRANSFORMERS])
@pytest.mark.parametrize("option", ["--port 80", "--host=0.0.0.0"])
def test_what_the_run_sets_itself_is_refused(kind: ServerKind, option: str) -> None:
    with pytest.raises(PlanError, match=r"Polymeter starts the server and sets --(port|host) itself") as refused:
        read_arguments(kind, f"--dtype auto {option}")
    assert refused.value.where == "--server-args"
    assert "--base-url" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [("'--dtype", "cannot be split: No closing quotation"), ("float16 --dtype", "'float16' belongs to no option")],
)
def test_what_cannot_be_read_is_told(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        read_arguments(VLLM, text)


@pytest.mark.parametrize(
    ("kind", "text", "n"),
    [
        (VLLM, "", 1),
        (VLLM, "-tp 2 -pp 2", 4),
        (SGLANG, "--tp-size 8", 8),
        (VLLM, "--tensor-parallel-size=2", 2),
        (SGLANG, "--tp 4 --dp 2", 8),
        (SGLANG, "--tp 8 --dp 8 --enable-dp-attention", 8),
        (SGLANG, "--tp 8 --dp-size 4 --enable_dp_attention --pp 2", 16),
    ],
)
def test_the_gpus_of_a_server_follow_from_its_arguments(kind: ServerKind, text: str, n: int) -> None:
    assert read_arguments(kind, text).n_gpus(kind) == n


def test_a_number_of_gpus_that_is_none_is_told() -> None:
    with pytest.raises(PlanError, match="must be a whole number from 1, not 'two'"):
        read_arguments(VLLM, "-tp two").n_gpus(VLLM)
