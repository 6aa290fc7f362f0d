"""The command lines of the servers, word by word.

They were checked against the programs' own documentation: vLLM's *vllm serve* (usage: ``vllm serve [model_tag]
[options]``, 0.30), SGLang's *Server Arguments* (``python3 -m sglang.launch_server --model-path``), the README of
llama.cpp's server (``-m, --model FNAME``, ``-a, --alias``, ``--host``, ``--port``), and ``transformers serve --help``
(5.23: ``transformers serve [OPTIONS] [FORCE_MODEL]``), which is asked here where it is installed. So were the defaults
of sampling: vLLM's warning that they are overridden by the model's file names ``--generation-config vllm``, SGLang's
*Sampling Parameters* ``--sampling-defaults openai``, and llama.cpp's table says which values disable its samplers.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polymeter.core.names.registries import MODELS
from polymeter.models.served.kinds import KINDS, LLAMACPP, SGLANG, TRANSFORMERS, VLLM, ServerKind


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (VLLM, "serve org/name --host 127.0.0.1 --port 81 --served-model-name toy"),
        (SGLANG, "--model-path org/name --host 127.0.0.1 --port 81 --served-model-name toy"),
        (LLAMACPP, "--model org/name --host 127.0.0.1 --port 81 --alias toy"),
        (TRANSFORMERS, "serve org/name --host 127.0.0.1 --port 81"),
    ],
)
def test_the_words_are_those_of_the_documentation(kind: ServerKind, words: str) -> None:
    assert kind.command("org/name", 81, "toy") == words.split()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_set_here_cannot_be_set_by_the_user(kind: ServerKind) -> None:
    ours = {word.removeprefix("--") for word in kind.command("m", 1, "n") if word.startswith("--")}
    assert ours <= kind.reserved
    assert not kind.reserved & kind.runtime
    assert not set(kind.aliases) & (kind.runtime | kind.reserved), "an alias is resolved first"
    assert not set(kind.defaults) & (kind.runtime | set(kind.aliases) | kind.reserved)
    assert set(kind.gpu_options) <= kind.runtime, "how many GPUs share the work changes no answer"


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_a_model_of_that_name(kind: ServerKind) -> None:
    target = MODELS.find(kind.backend)
    assert target.extra == kind.extra
    assert MODELS.get(kind.backend).kind is kind  # type: ignore[attr-defined]
    assert ("loglikelihood" in target.gives) == (kind.logprobs != "none")


@pytest.mark.slow
def test_transformers_knows_every_option_that_is_named_here() -> None:
    beside = Path(sys.executable).with_name("transformers")
    program = str(beside) if beside.exists() else shutil.which("transformers")
    if program is None:
        pytest.skip("Transformers is not installed")
    done = subprocess.run(
        [program, "serve", "--help"], capture_output=True, text=True, check=True, env={"COLUMNS": "200", "PATH": ""}
    )
    named = TRANSFORMERS.runtime | TRANSFORMERS.reserved - {"force-model"}
    assert [name for name in sorted(named) if f"--{name}" not in done.stdout] == []
