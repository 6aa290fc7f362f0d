"""VLMEvalKit itself, as a suite on one machine needs it: a checkout's own code without its models, with a scripted
judge in place of the endpoints that its classes ask, and with local tables.
"""

from __future__ import annotations

import importlib
import itertools
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.vlmevalkit.absent import importing_ends, stand_in
from conformance.vlmevalkit.judging import joined, judged, plain_message
from conformance.vlmevalkit.videos import read_locally

Heard = Callable[[Any], None]
"""Is called with every question to the judge, as plain data."""


class Original:
    """The imported package.

    Args:
        checkout: The folder that contains ``vlmeval``.
        data: The folder of tables.

    Attributes:
        dataset: The module ``vlmeval.dataset``.
        heard: Called with every question to the judge.
    """

    def __init__(self, checkout: Path, data: Path) -> None:
        os.environ["LMUData"] = str(data)  # noqa: SIM112  (its name is VLMEvalKit's)
        # Some classes ask no judge, whichever it is, unless this looks like a key.
        os.environ["OPENAI_API_KEY"] = "sk-scripted"
        data.mkdir(parents=True, exist_ok=True)
        sys.path.insert(0, str(checkout))
        self.absent = stand_in()
        self.heard: Heard = lambda _asked: None
        self._numbers = itertools.count()
        self._without_models(checkout / "vlmeval")
        self.dataset: Any = importlib.import_module("vlmeval.dataset")
        self.file: Any = importlib.import_module("vlmeval.smp.file")
        choices: Any = importlib.import_module("vlmeval.dataset.utils.multiple_choice")
        # A file of one process in /tmp is named by the second: two that run at once would read each other's.
        choices.timestr = lambda *_, **__: f"{os.getpid()}-{next(self._numbers)}"
        importing_ends()
        self._with_local_tables()

    def classes(self) -> dict[str, type]:
        """The class that every dataset belongs to, by the order of the registry."""
        found: dict[str, type] = {}
        for cls in self.dataset.DATASET_CLASSES:
            for name in cls.supported_datasets():
                found.setdefault(name, cls)
        for name, made in self.dataset.supported_video_datasets.items():
            found.setdefault(name, made.func)
        return found

    def inference(self, kind: str = "") -> Any:
        """A module of inference: that of images and texts, ``mt`` or ``video``."""
        return importlib.import_module(f"vlmeval.inference{'_' if kind else ''}{kind}")

    def _without_models(self, package: Path) -> None:
        """Put empty modules in place of those that import models and clients of endpoints; their bases stay."""
        root = _module("vlmeval", path=package)
        root.__version__ = "0.2rc1"  # type: ignore[attr-defined]
        _module("vlmeval.config", supported_VLM={})
        _module("vlmeval.tools", LOCALIZE=None)
        _module("vlmeval.vlm", path=package / "vlm")
        api = _module("vlmeval.api", path=package / "api")
        base: Any = importlib.import_module("vlmeval.api.base")
        base.time = _NoWaiting
        base.rd = random.Random(0)  # how long to wait; what a class draws itself is told apart
        gpt: Any = importlib.import_module("vlmeval.api.gpt")

        class Judge(gpt.OpenAIWrapper):  # type: ignore[misc]
            def generate_inner(wrapper, inputs: Any, **_: Any) -> tuple[int, str, str]:
                asked = joined(plain_message(inputs, wrapper.system_prompt))
                self.heard(asked)
                return 0, judged(asked), "ok"

        for name in ("OpenAIWrapper", "SiliconFlowAPI", "HFChatModel", "GPT4V", "OpenAISDKWrapper"):
            setattr(api, name, Judge)
        gpt.OpenAIWrapper = Judge

    def _with_local_tables(self) -> None:
        """Have tables read as they are, whatever digest a class expects of the published one."""

        def prepare_tsv(dataset: Any, url: str, file_md5: str | None = None) -> Any:
            dataset.data_path = str(Path(self.file.LMUDataRoot()) / f"{dataset.dataset_name}.tsv")
            return self.file.load(dataset.data_path)

        for cls in self.dataset.DATASET_CLASSES:
            for base in cls.__mro__:
                if "prepare_tsv" in vars(base):
                    base.prepare_tsv = prepare_tsv
            read_locally(cls, Path(self.file.LMUDataRoot()))


class _NoWaiting:
    """Its clients wait before they ask, so that many do not ask at once."""

    @staticmethod
    def sleep(_seconds: float) -> None:
        return None


def _module(name: str, path: Path | None = None, **members: Any) -> ModuleType:
    made = ModuleType(name)
    if path is not None:
        made.__path__ = [str(path)]
    for key, value in members.items():
        setattr(made, key, value)
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)
    return made
