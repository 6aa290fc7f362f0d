"""What stands in for the world, the same in both tools: a hub, a tokenizer, image scorers, and the scripted model.

It is imported where the original is installed and where Polymeter plays its part, so it imports neither at its top.
"""

from __future__ import annotations

import json
import re
import sys
import types
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MARK = re.compile(r"case-[0-9a-f]{10}")
_OPTION = re.compile(r"^\((\w)\) (.*)$", re.M)


class Script:
    """What the scripted models say.

    Args:
        folder: Where `write_cases` wrote.
        images: Where generated images go.
    """

    def __init__(self, folder: Path, images: Path) -> None:
        written = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
        self.cases: list[dict[str, Any]] = written["cases"]
        self._answers: dict[str, dict[str, Any]] = written["answers"]
        self._images = images
        self.case: dict[str, Any] = {}
        self.shown: dict[str, str] = {}

    def said(self, mark: str, model: str) -> Any:
        """What a model says to the question with a mark, as it is written down."""
        return self._answers.get(mark, {}).get(model, "")

    def answer(self, model: str, origin: Mapping[str, Any]) -> Any:
        """The content of a model's answer to a prompt of the benchmark."""
        prompt = _text_of(origin)
        marks = MARK.findall(prompt)
        self.shown[marks[-1] if marks else f"crc-{zlib.crc32(prompt.encode()):08x}"] = prompt
        if not marks:
            # An endpoint is tried before the run, with a prompt of no benchmark.
            pool = self.case["pools"][model] if self.case else ["Fine."]
            return pool[zlib.crc32(prompt.encode()) % len(pool)]
        said = self._answers[marks[-1]][model]
        if isinstance(said, dict) and "image" in said:
            return self._image(marks[-1], model, tuple(said["image"]))
        if isinstance(said, dict):
            return _as_letter(prompt, **said)
        return said

    def _image(self, mark: str, model: str, colour: tuple[int, int, int]) -> str:
        from PIL import Image

        file = self._images / f"{mark}-{model}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (16, 16), colour).save(file)
        return str(file)


def _text_of(origin: Mapping[str, Any]) -> str:
    """All text of a prompt, in order."""
    messages = origin.get("messages")
    turns = messages["turns"] if isinstance(messages, Mapping) else messages
    if turns:
        return json.dumps(turns, ensure_ascii=False)
    parts = ["".join(part) if isinstance(part, (list, tuple)) else str(part) for part in origin["data"]]
    return "\n".join([str(origin.get("system_prompt") or ""), *parts])


def _as_letter(prompt: str, option: str, form: str) -> str:
    """An answer that names an option by the letter that it has in this prompt."""
    found = [letter for letter, text in _OPTION.findall(prompt) if text.strip() == option.strip()]
    return form.replace("{x}", found[-1] if found else "?")


def scripted_model(base: type, script: Script, said_by: str, model_id: str = "", ending: str = "") -> Any:
    """A ``CustomModel`` that says what the script has for one of the models."""

    class ScriptedModel(base):  # type: ignore[misc]
        def predict(self, prompts: list[str], **kwargs: Any) -> list[dict[str, Any]]:
            return [self.reply(script.answer(said_by, origin)) for origin in kwargs["origin_inputs"]]

        def reply(self, content: Any) -> dict[str, Any]:
            content = content + ending if isinstance(content, str) else content
            message = {"role": "assistant", "content": content}
            return {"choices": [{"index": 0, "message": message}], "model": said_by, "object": "chat.completion"}

    return ScriptedModel(config={"model_id": model_id or said_by})


class ScriptedTokenizer:
    """A token for each character."""

    @classmethod
    def from_pretrained(cls, *_: Any, **__: Any) -> ScriptedTokenizer:
        return cls()

    def encode(self, text: str, **_: Any) -> list[int]:
        return [ord(character) for character in text]

    def decode(self, tokens: list[int], **_: Any) -> str:
        return "".join(map(chr, tokens))


class ImageScore:
    """A scorer of images that depends on the colour and on the text."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, images: list[Any], texts: list[Any], **_: Any) -> list[list[Any]]:
        return [[self._score(images[0], texts[0])]]

    def _score(self, image: Any, text: Any) -> Any:
        from PIL import Image

        opened = image if isinstance(image, Image.Image) else Image.open(image)
        red, green, blue = opened.convert("RGB").getpixel((0, 0))
        words = text["prompt"] if isinstance(text, Mapping) else text
        value = (red + 2 * green + 3 * blue + 7 * len(words)) % 997 / 997
        if self._name != "FGA_BLIP2Score":
            return _Number(value)
        kinds = {"overall": value, "cat (object)": 1 - value, "red (attribute-colour)": value / 2}
        return {name: _Number(one) for name, one in kinds.items()}


class _Number:
    """As much of a tensor as adapters use."""

    def __init__(self, value: float) -> None:
        self._value = value

    def cpu(self) -> _Number:
        return self

    def item(self) -> float:
        return self._value


SCORERS = ("PickScore", "VQAScore", "HPSv2.1Score", "FGA_BLIP2Score")


def register_scorers(registry: Any, metric: Callable[..., Any]) -> None:
    """Put the scripted scorers in place of those that need weights."""
    for name in SCORERS:
        registry.register(metric(name=name, object=lambda name=name: ImageScore(name)))


def stand_in_for_leaderboard() -> None:
    """Let ``bfcl_eval`` know the two models whose names its checkers are given. Its own table of models imports the
    packages of a dozen providers.
    """
    table: Any = types.ModuleType("bfcl_eval.constants.model_config")
    named = {"gpt-4o-2024-11-20-FC": True, "meta-llama/Llama-3.3-70B-Instruct-FC": False}
    table.MODEL_CONFIG_MAPPING = {
        name: types.SimpleNamespace(underscore_to_dot=has_underscores) for name, has_underscores in named.items()
    }
    sys.modules[table.__name__] = table


def stand_in_for_hub(folder: Path, script: Script) -> None:
    """Let ``modelscope`` read the generated rows, whether or not the package is installed, and Polymeter, which reads
    files of ModelScope without it.
    """

    def place(dataset: str) -> Path:
        return folder / "hub" / script.case["name"] / dataset.replace("/", "__")

    class ScriptedDataset:
        @staticmethod
        def load(dataset_name: str, subset_name: str = "default", split: str = "", **_: Any) -> Any:
            import datasets

            file = place(dataset_name) / subset_name / f"{split}.json"
            return datasets.Dataset.from_list(json.loads(file.read_text(encoding="utf-8")))

    def dataset_snapshot_download(dataset: str, **_: Any) -> str:
        return str(place(dataset))

    modelscope = _module("modelscope")
    modelscope.AutoTokenizer = ScriptedTokenizer
    modelscope.dataset_snapshot_download = dataset_snapshot_download
    msdatasets = _module("modelscope.msdatasets")
    msdatasets.MsDataset = modelscope.MsDataset = ScriptedDataset
    modelscope.msdatasets = msdatasets
    if "polymeter" in sys.modules:
        _stand_in_for_repositories(place)


def _stand_in_for_repositories(place: Callable[[str], Path]) -> None:
    from polymeter.data.fetching.hub_files import HubFile
    from polymeter.data.fetching.modelscope import Repository
    from polymeter.interop.evalscope.tasks import datasets

    def open_repository(name: str, cache_dir: Path) -> Repository:
        folder = place(name)
        if [child.name for child in folder.iterdir()] == ["default"]:
            folder /= "default"  # a repository without configurations has its splits at the top
        found = sorted(file for file in folder.rglob("*") if file.is_file())
        files = tuple(
            HubFile(name, "", str(file.relative_to(folder)), file.stat().st_size, "", is_here=True) for file in found
        )
        return Repository(name, "", "master", cache_dir, folder, files)

    datasets.open_repository = open_repository


def _module(name: str) -> Any:
    try:
        return __import__(name, fromlist=["_"])
    except ModuleNotFoundError:
        sys.modules[name] = types.ModuleType(name)
        return sys.modules[name]
