"""lmms-eval as installed, made to read local rows: what drivers in its environment share."""

from __future__ import annotations

import argparse
import copy
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

MEDIA = {".mp4", ".avi", ".mkv", ".webm", ".mov", ".wav", ".mp3", ".flac", ".png", ".jpg", ".jpeg", ".srt", ".vtt"}


def without_downloads(hub: Path) -> None:
    """Whatever is downloaded from the hub is an empty folder."""
    import huggingface_hub

    hub.mkdir(parents=True, exist_ok=True)
    huggingface_hub.snapshot_download = lambda *_, **__: str(hub)


def without_waiting(hub: Path) -> None:
    """Retries follow at once, nothing is downloaded, and METEOR can be let go of after its time was up.

    Its scorer takes its lock again when it is deleted; a time limit may have ended the call that held it.
    """
    import huggingface_hub
    import lmms_eval.api.task
    import tenacity.nap
    from pycocoevalcap.meteor import meteor

    meteor.threading = SimpleNamespace(Lock=threading.RLock)
    without_downloads(hub)
    lmms_eval.api.task.snapshot_download = huggingface_hub.snapshot_download
    tenacity.nap.time = SimpleNamespace(sleep=lambda _seconds: None)
    time.sleep = lambda _seconds: None


def shorten_waits() -> None:
    """Task code that waits before it asks a judge again waits for a moment."""
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 0.01))


def make_asked_files(folder: Path) -> None:
    """Files of media below a folder exist as soon as task code asks for them."""
    exists, isfile = os.path.exists, os.path.isfile

    def make(path: Any) -> None:
        place = Path(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else Path()
        if "<" in place.name or "[" in place.name:  # made from something that is no name
            return
        if place.suffix.lower() in MEDIA and place.is_absolute() and place.is_relative_to(folder) and not exists(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.suffix.lower() in {".png", ".jpg", ".jpeg"}:
                from PIL import Image

                Image.new("RGB", (16, 12), (90, 120, 40)).save(place)
            else:
                place.write_bytes(b"\0" * 64)

    def exists_now(path: Any) -> bool:
        make(path)
        return exists(path)

    def isfile_now(path: Any) -> bool:
        make(path)
        return isfile(path)

    os.path.exists, os.path.isfile = exists_now, isfile_now


def task_managers() -> dict[str, Any]:
    """A manager of tasks for each kind of model; the index, which is slow to make, is made once."""
    from lmms_eval.tasks import TaskManager

    simple = TaskManager("ERROR", model_name="scripted_simple")
    chat = copy.copy(simple)
    chat.model_name = "scripted_chat"
    return {"simple": simple, "chat": chat}


def load_task(name: str, manager: Any, kind: str) -> Any:
    from lmms_eval.tasks import get_task_dict

    return next(iter(get_task_dict([name], manager, kind).values()))


def command_line(output: Path) -> argparse.Namespace:
    """What the command line's options would be for an evaluation."""
    return argparse.Namespace(
        output_path=str(output),
        process_with_media=False,
        reasoning_tags='[["<think>", "</think>"], ["<analysis>", "</analysis>"]]',
        agentic_trace_mode="basic",
        model="scripted",
        model_args="",
        log_samples=True,
        predict_only=False,
        limit=None,
        verbosity="ERROR",
    )


def quiet() -> None:
    """Silence what tasks log."""
    import logging

    from loguru import logger

    logger.remove()
    logger.add = lambda *_, **__: 0  # type: ignore[method-assign]
    logging.disable(logging.CRITICAL)


def real_error(error: BaseException) -> BaseException:
    """What was raised before a retry wrapped it."""
    from tenacity import RetryError

    while isinstance(error, RetryError):
        inner = error.last_attempt.exception()
        if inner is None:
            break
        error = inner
    return error
