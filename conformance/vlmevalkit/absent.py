"""Empty modules in place of packages that VLMEvalKit imports and nothing here runs: its models', and heavy scorers."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGES = frozenset(
    {
        "accelerate", "anls", "apted", "bert_score", "cairosvg", "cdfvd", "clip", "colormath", "cv2", "decord",
        "dotenv", "editdistance", "einops", "evaluate", "fuzzysearch", "geopy", "imageio", "ipdb", "jieba", "joblib",
        "json_repair", "Levenshtein", "lpips", "lxml", "math_verify", "matplotlib", "matplotlib_venn", "moviepy",
        "mpl_toolkits", "nest_asyncio", "networkx", "nltk", "num2words", "openai", "pdf2image", "playwright", "Polygon",
        "portalocker", "pronouncing", "pycocoevalcap", "pylatexenc", "qwen_vl_utils", "rouge", "rouge_score",
        "sentence_transformers", "skimage", "squarify", "sty", "tabulate", "termcolor", "tiktoken", "timeout_decorator",
        "timm", "torchmetrics", "torchvision", "unidecode", "validators", "zss",
    }
)  # fmt: skip
"""Packages for which there are empty modules if they are not installed."""


class AbsentError(ImportError):
    """A package that is not installed was used."""


class _AnythingType(type):
    is_importing = True

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _AnythingType(name, (), {})

    def __call__(cls, *arguments: Any, **_: Any) -> Any:
        # A decorator leaves its function; whatever else is called after the import was to compute something.
        if arguments and callable(arguments[0]):
            return arguments[0]
        if not _AnythingType.is_importing:
            raise AbsentError(f"{cls.__name__} is of a package that is not installed")
        return _AnythingType("absent", (), {})


class _AbsentModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _AnythingType(name, (), {})


class AbsentFinder(MetaPathFinder, Loader):
    """Finds an empty module in place of each module of some packages."""

    def __init__(self, packages: frozenset[str]) -> None:
        self._packages = packages

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self._packages:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """An empty module has nothing to run."""


def stand_in() -> frozenset[str]:
    """Let absent packages be imported as empty modules; their names."""
    absent = frozenset(name for name in PACKAGES if importlib.util.find_spec(name) is None)
    sys.meta_path.append(AbsentFinder(absent))
    return absent


def importing_ends() -> None:
    """From now on, a call of something in an empty module is an `AbsentError`."""
    _AnythingType.is_importing = False
