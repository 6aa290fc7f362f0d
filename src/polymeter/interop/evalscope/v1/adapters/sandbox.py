"""``CodeExecutionSandboxMixin``: programs that the model writes run in Polymeter's walls, if the run allows it."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import refuse_verdict
from polymeter.core.settings.generated_code import require_generated_code
from polymeter.metrics.code_process import EXITED, PASSED, TIMED_OUT, CodeLimits, run_script

_MOST_OUTPUT = 2**20
_MISSING = re.compile(r"failed: ModuleNotFoundError: No module named '([\w]+)")
_PLAIN_IMAGE = "python:"


@dataclass
class DockerImageSpec:
    """An image in which the programs of a benchmark are meant to run. None is built: programs run in Polymeter's walls.

    Attributes:
        name_prefix: Its name.
        context_dir: The folder that it is built from.
        dockerfile: How it is built.
        cache_key_parts: What it depends on.
        force_rebuild: Whether it is built anew.
        build_args: Arguments of the building.
    """

    name_prefix: str = ""
    context_dir: str = ""
    dockerfile: str = ""
    cache_key_parts: Sequence[str] = ()
    force_rebuild: bool = False
    build_args: dict[str, str] = field(default_factory=dict)


class CodeExecutionSandboxMixin:
    """Running of programs for adapters; it stands before the class of the adapter.

    Attributes:
        runs_generated_code: Its benchmarks run what the model writes.
    """

    runs_generated_code: ClassVar[bool] = True

    def __init__(self, benchmark_meta: Any, task_config: Any = None) -> None:
        self._benchmark_meta = benchmark_meta
        self._task_config = task_config
        super().__init__(benchmark_meta=benchmark_meta, task_config=task_config)  # type: ignore[call-arg]

    @property
    def use_sandbox(self) -> bool:
        """True: programs always run in walls."""
        return True

    @property
    def sandbox_manager(self) -> None:
        """There is no container."""
        return

    def get_sandbox_image_spec(self) -> DockerImageSpec | None:
        """Return the image that the benchmark needs; ``None``: a plain one."""
        return None

    def ensure_sandbox_ready(self) -> bool:
        """Return whether programs can run.

        Raises:
            PlanError: if the run does not allow generated code.
        """
        require_generated_code()
        return True

    def execute_code_in_sandbox(
        self, code: str | Sequence[str], timeout: float = 60, language: str = "python"
    ) -> dict[str, Any]:
        """Run a program.

        A program that runs to its end, or whose last statement ends it with status 0, is a success. So is one that ends
        itself earlier with status 0, if it has written something.

        Args:
            code: The program.
            timeout: Its processor time, in seconds.
            language: Only ``python`` can be run.

        Returns:
            ``status`` (``success``, ``error``, ``timeout``), ``output``, ``error``, ``metadata``.

        Raises:
            PlanError: if the run does not allow generated code.
            UnscoredError: if the program is of another language, or lacks a package of the benchmark's image. The
                sample then has no score, even if the caller catches this.
            ScoreError: if no process can be started for it.
        """
        require_generated_code()
        if language.lower() != "python":
            raise _unscored(f"The benchmark runs programs in {language}, and here only Python's can run.")
        program = code if isinstance(code, str) else "\n".join(code)
        outcome, output = run_script(program, CodeLimits(float(timeout)), _MOST_OUTPUT)
        self._check_packages(outcome)
        found: dict[str, Any] = {"output": output, "metadata": {"language": language}}
        if outcome == PASSED or (outcome == EXITED and output):
            return {"status": "success", **found}
        if outcome == TIMED_OUT:
            return {"status": "timeout", "error": "Code execution timed out.", **found}
        return {"status": "error", "error": outcome.removeprefix("failed: "), **found}

    def sandbox_finalize(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is left behind by a program."""

    def _check_packages(self, outcome: str) -> None:
        """Refuse to score a program that failed because this machine lacks what the benchmark's image has."""
        lacking = _MISSING.match(outcome)
        if lacking is None or importlib.util.find_spec(lacking[1]) is not None:
            return
        image = str((self._benchmark_meta.sandbox_config or {}).get("image") or _PLAIN_IMAGE)
        if self.get_sandbox_image_spec() is not None or not image.startswith(_PLAIN_IMAGE):
            raise _unscored(
                f"A program imports {lacking[1]!r}, which the benchmark's image may have and this machine lacks."
            )


def _unscored(why: str) -> UnscoredError:
    refuse_verdict(why)
    return UnscoredError(why)
