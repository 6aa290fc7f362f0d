"""The runs that are killed: together they use every format, every kind of model, and judges of texts and of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

RUN = "run"
_TASKS, _BENCH, _TABLES = (("--include-path", name) for name in ("tasks", "bench", "tables"))
_JUDGE = ("--judge", "openai:judge", "--judge-args", "base_url={url}")
_ASKED = ("--import", "asked.py", "--model", "oracle_asked")
_OPENAI = ("--model", "openai:m", "-a", "base_url={url}")
_FEW_STEPS = ("--gen-kwargs", "num_inference_steps=2")


@dataclass(frozen=True)
class Kind:
    """A run that is killed.

    Attributes:
        words: What follows ``polymeter``. ``{url}`` is the address of the endpoint as OpenAI's clients want it,
            ``{host}`` the same without a path, ``{weights}`` a checkpoint.
        make_weights: Writes the checkpoint into a folder.
    """

    words: tuple[str, ...]
    make_weights: Callable[[Path], object] | None = None


def run(*words: str, make_weights: Callable[[Path], object] | None = None) -> Kind:
    """``polymeter run``, with requests to models of this machine counted."""
    return Kind(("run", *words, "--import", "counted.py", "--quiet", "--output", RUN), make_weights)


def llava(folder: Path) -> None:
    """A small LLaVA with random weights."""
    from tests.helpers.checkpoints import make_checkpoint

    make_checkpoint("llava", folder)


def janus(folder: Path) -> None:
    """A small Janus with random weights."""
    from tests.helpers.janus import make_unified

    make_unified("janus", folder)


def stable_diffusion(folder: Path) -> None:
    """A small pipeline with random weights."""
    from tests.helpers.diffusion import make_pipeline

    make_pipeline("stable_diffusion", folder)


KINDS: Mapping[str, Kind] = {
    "all formats, a model in Python": run(
        *_ASKED, "--tasks", "arithmetic,rounds,quiz,animals", *_TASKS, *_BENCH, *_TABLES
    ),
    "task YAML, mock": run("--model", "mock", "-a", "delay_ms=3", "--tasks", "arithmetic,choices,votes", *_TASKS),
    "task YAML, asynchronous mock and mock judge": run(
        *("--model", "mock", "-a", "is_async=true,delay_ms=20", "--concurrency", "2"),
        *("--judge", "mock", "--judge-args", "answer=A,delay_ms=3", "--tasks", "judged,sums,votes", *_TASKS),
    ),
    "adapter and table, endpoint": run(*_OPENAI, "--tasks", "quiz,animals", *_BENCH, *_TABLES),
    "task YAML, endpoint and judge": run(*_OPENAI, *_JUDGE, "--tasks", "judged,arithmetic", *_TASKS),
    "table and task YAML, images by openai and judge": run(
        *("--model", "openai:gpt-image-1", "-a", "base_url={url}", *_JUDGE),
        *("--tasks", "tones,portraits,paint", *_TABLES, *_TASKS),
    ),
    "task YAML and table, anthropic": run(
        *("--model", "anthropic:claude-test", "-a", "base_url={host}"),
        *("--tasks", "sums,rounds,votes,animals", *_TASKS, *_TABLES),
    ),
    "task YAML and adapter, gemini": run(
        *("--model", "gemini:gemini-test", "-a", "base_url={host}"),
        *("--tasks", "sums,rounds,votes,quiz", *_TASKS, *_BENCH),
    ),
    "adapter and dataset class, images by gemini and judge": run(
        *("--model", "gemini:gemini-2.5-flash-image", "-a", "base_url={host}", *_JUDGE),
        *("--tasks", "drawn,portraits", *_BENCH, *_TABLES),
    ),
    "dataset class, images and judge": run(*_ASKED, *_JUDGE, "--tasks", "portraits", *_TABLES),
    "table, images drawn and edited": run("--model", "shapes", "--tasks", "demo_t2i,demo_edit", "--limit", "10"),
    "task YAML and adapter, hf": run(
        *("--model", "hf:{weights}", "--tasks", "sums,choices,votes,quiz,quiz_choice", *_TASKS, *_BENCH),
        make_weights=llava,
    ),
    "dataset class, images by hf and judge": run(
        "--model", "hf:{weights}", *_JUDGE, "--tasks", "tones,portraits", *_TABLES, make_weights=janus
    ),
    "dataset class and task YAML, diffusers and judge": run(
        *("--model", "diffusers:{weights}", *_FEW_STEPS, *_JUDGE),
        *("--tasks", "shades,portraits,paint", *_TABLES, *_TASKS),
        make_weights=stable_diffusion,
    ),
    "task YAML, ocr": run("--model", "ocr", "-a", "n_threads=1", "--tasks", "demo_signs", "--limit", "12"),
    "task YAML, speech": run("--model", "pocketsphinx:digits", "--tasks", "demo_audio", "--limit", "12"),
    "task YAML, small vision-language model": run("--model", "tiny_vlm", "--tasks", "demo_vlm_choice", "--limit", "24"),
    "task YAML, wrapper of lmms-eval": run(
        *("--model", "lmms:oracle_lmms", "--model-path", "lmms_wrapper.py", "--model-args", "scale=3"),
        *("--tasks", "sums,choices,rounds", *_TASKS),
    ),
    "task YAML, chat wrapper of lmms-eval": run(
        "--model", "lmms:soak_chat", "--model-path", "chat_wrapper.py", "--tasks", "sums,votes", *_TASKS
    ),
    "task YAML, wrapper of lm-eval": run(
        "--model", "lm:soak-lm", "--model-path", "lm_wrapper.py", "--tasks", "guesses,likely", *_TASKS
    ),
    "dataset class and table, wrapper of ULMEvalKit": run(
        *("--model", "ulm:OracleUlm", "--model-path", "ulm_wrapper.py", "--model-args", "shade=50"),
        *("--tasks", "animals,garden,shades", *_TABLES),
    ),
    "dataset class, wrapper by VLMEvalKit's name": run(
        *("--model", "vlm:OracleUlm", "--model-path", "ulm_wrapper.py", "--model-args", "shade=50"),
        *("--tasks", "animals,garden", *_TABLES),
    ),
    "adapter, custom model of EvalScope": Kind(("python", "evalscope_run.py")),
}
