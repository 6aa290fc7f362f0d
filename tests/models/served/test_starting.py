"""Starting several servers at the same time: what is told meanwhile, and what ends the waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from polymeter.core.errors import ModelError
from polymeter.models.served import process, starting
from polymeter.models.served.starting import Servers
from tests.helpers import vllm_stub

LIMIT_S = 60.0


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Makes servers of the stub, with what goes wrong with each, and stops them."""
    monkeypatch.setattr(process, "GRACE_S", 0.5)
    monkeypatch.setattr(starting, "_TELL_S", 0.0)
    monkeypatch.setattr(starting, "_LOOK_S", 0.02)
    program = str(vllm_stub.install(tmp_path))
    made: list[Servers] = []

    def servers(*faults: str, name: str = "toy") -> Servers:
        made.append(
            Servers(
                "vLLM",
                lambda port: [program, "serve", "org/toy", "--port", str(port), "--served-model-name", "toy"],
                [{"VLLM_STUB": fault} for fault in faults],
                name,
                tmp_path / "logs" / "vllm",
            )
        )
        return made[-1]

    yield servers
    for one in made:
        one.stop()


def silent(text: str) -> None:
    return None


def test_all_are_ready_when_it_returns(make) -> None:
    servers = make("", "")
    servers.start(LIMIT_S, silent, threading.Event())
    assert [server.is_ready for server in servers.all] == [True, True]
    assert len({server.port for server in servers.all}) == 2
    assert [server.log.name for server in servers.all] == ["vllm-1.log", "vllm-2.log"]


def test_the_last_line_of_the_log_is_told_while_it_is_awaited(make) -> None:
    told: list[str] = []
    is_enough = threading.Event()

    def tell(text: str) -> None:
        told.append(text)
        if "Loading weights" in text:
            is_enough.set()

    with pytest.raises(ModelError, match="interrupted"):
        make("", "never-healthy").start(LIMIT_S, tell, is_enough)
    assert "servers ready. INFO Loading weights of org/toy" in told[-1]
    assert told[-1].startswith("vLLM is starting, ")
    assert len(set(told)) == len(told), "what has not changed is not told again"


def test_another_name_is_not_the_model(make) -> None:
    with pytest.raises(ModelError, match="was not ready within 2 s"):
        make("", name="another").start(2.0, silent, threading.Event())


def test_one_that_fails_ends_the_waiting_for_all(make) -> None:
    with pytest.raises(ModelError, match="ended with exit code 1 before it was ready") as failed:
        make("never-healthy", "error").start(LIMIT_S, silent, threading.Event())
    assert "vllm-2.log" in str(failed.value)
    assert "  torch.OutOfMemoryError: CUDA out of memory" in str(failed.value)
    assert failed.value.scope == "endpoint", "it is not the fault of a request"


def test_the_first_error_in_a_log_is_told_beside_its_last_lines(make) -> None:
    with pytest.raises(ModelError, match="ended with exit code 1") as failed:
        make("early-error").start(LIMIT_S, silent, threading.Event())
    text = str(failed.value)
    assert text.endswith("\nThe first error in it:\n  (EngineCore pid=7) ValueError: The weights are of another model.")
    assert text.count("ValueError") == 1
    assert "  RuntimeError: Engine core initialization failed." in text, "the last lines"


def test_an_error_among_the_last_lines_is_told_once(make) -> None:
    with pytest.raises(ModelError, match="ended with exit code 1") as failed:
        make("error").start(LIMIT_S, silent, threading.Event())
    assert str(failed.value).count("OutOfMemoryError") == 1
    assert "first error" not in str(failed.value)


def test_a_start_that_is_interrupted_waits_no_longer(make) -> None:
    is_interrupted = threading.Event()
    is_interrupted.set()
    with pytest.raises(ModelError, match="interrupted"):
        make("never-healthy").start(LIMIT_S, silent, is_interrupted)
