"""Wrappers get what ``doc_to_visual`` and ``doc_to_messages`` returned, whatever it is, as in lmms-eval."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter import evaluate
from polymeter.core.content import Video
from polymeter.core.identity import request_fingerprint
from polymeter.core.request import Generate, Request
from polymeter.tasks.yaml.prompts.visuals import from_chat, from_hook
from tests.tasks.yaml.kit import task_text, write_rows

pytestmark = pytest.mark.needs_system("lmms_eval")

WRAPPER = """\
import json
import os

from lmms_eval.api.model import lmms
from lmms_eval.api.registry import register_model


def shown(value):
    if hasattr(value, "getbands"):
        return f"image {value.size[0]}x{value.size[1]}"
    if isinstance(value, dict):
        return {key: shown(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(one) for one in value]
    return value if isinstance(value, (str, int, float, type(None))) else type(value).__name__


def note(value):
    with open(os.environ["SEEN"], "w") as file:
        json.dump(shown(value), file)
    return "b"


@register_model("seeing")
class Seeing(lmms):
    is_simple = True

    def generate_until(self, requests):
        made = []
        for request in requests:
            context, settings, to_visual, doc_id, task, split = request.args
            visuals = to_visual(self.task_dict[task][split][doc_id])
            made.append(note(visuals))
            visuals.clear()
        return made

    def loglikelihood(self, requests):
        raise NotImplementedError

    def generate_until_multi_round(self, requests):
        raise NotImplementedError


@register_model("chatting")
class Chatting(Seeing):
    is_simple = False

    def generate_until(self, requests):
        made = []
        for request in requests:
            context, to_messages, settings, doc_id, task, split = request.args
            made.append(note(self.seen(to_messages(self.task_dict[task][split][doc_id]))))
        return made

    def seen(self, messages):
        return messages[0]["content"]


@register_model("whole")
class Whole(Chatting):
    def seen(self, messages):
        return messages
"""
UTILS = """\
from pathlib import Path

import numpy
from PIL import Image


class VideoReader:
    def get_batch(self, indices):
        return indices


IMAGE = Image.new("RGB", (4, 3))
FILE = str(Path(__file__).with_name("a.png"))


def visual(doc):
    return {expression}


def messages(doc):
    return [{{"role": "user", "content": [{item}, {{"type": "text", "text": "Well?"}}]}}]
"""
MOVIE = {"video_path": "/films/a.mp4", "timestep": 7}
SOUND = {"array": [0.0, 0.5], "sampling_rate": 2, "path": "x.wav"}
SEGMENT = {"type": "video", "path": "/films/a.mp4", "video_start": 1.5, "video_end": 3}


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEEN", str(tmp_path / "seen.json"))
    (tmp_path / "seeing.py").write_text(WRAPPER)
    Image.new("RGB", (5, 2)).save(tmp_path / "a.png")
    write_rows(tmp_path, [{"q": "x", "a": "b"}])
    return tmp_path / "seen.json"


def _given(folder: Path, model: str, *, expression: str = "[]", item: str = "{}", extra: str = "") -> Any:
    (folder / "utils.py").write_text(UTILS.format(expression=expression, item=item))
    (folder / "t.yaml").write_text(task_text(f"doc_to_visual: !function utils.visual\n{extra}"))
    run = evaluate(
        f"lmms:{model}",
        str(folder / "t.yaml"),
        model_args={"path": str(folder / "seeing.py")},
        output=folder / "run",
        media="none",
    )
    assert run.value("t", "exact_match") == 1.0
    return json.loads((folder / "seen.json").read_text().replace(str(folder / "a.png"), "FILE"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (repr([MOVIE]), [MOVIE]),
        (repr([SEGMENT]), [SEGMENT]),
        ("({'image': FILE, 'type': 'image', 'boxes': [1, 2]},)", [{"image": "FILE", "type": "image", "boxes": [1, 2]}]),
        ("['/films/a.mp4', '/sounds/a.wav', FILE]", ["/films/a.mp4", "/sounds/a.wav", "FILE"]),
        ("[Path('/films/a.mp4')]", ["PosixPath"]),
        ("[[IMAGE, IMAGE], [IMAGE]]", [["image 4x3", "image 4x3"], ["image 4x3"]]),
        ("[IMAGE, ['/films/a.mp4', IMAGE]]", ["image 4x3", ["/films/a.mp4", "image 4x3"]]),
        ("(IMAGE, '/films/a.mp4')", ["image 4x3", "/films/a.mp4"]),
        ("[numpy.zeros((2, 3, 4, 3))]", ["ndarray"]),
        ("[VideoReader()]", ["VideoReader"]),
        (repr([SOUND]), [SOUND]),
        ("[b'RIFFxxxxWAVE']", ["bytes"]),
        ("IMAGE", ["image 4x3"]),
        ("None", []),
    ],
)
def test_simple_wrappers_get_what_the_author_returned(seen: Path, expression: str, expected: Any) -> None:
    given = _given(seen.parent, "seeing", expression=expression)
    assert given == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (repr([MOVIE]), {"type": "video", "url": MOVIE}),
        (repr([SEGMENT]), {"type": "video", "url": SEGMENT}),
        ("[{'type': 'video', 'url': '/films/a.mp4', 'fps': 2}]", {"type": "video", "url": "/films/a.mp4"}),
        ("[FILE]", {"type": "image", "url": "FILE"}),
        ("[IMAGE]", {"type": "image", "url": "image 4x3"}),
        (repr([SOUND]), {"type": "audio", "url": SOUND}),
        ("[{'type': 'audio', 'path': 'a.wav'}]", {"type": "audio", "url": "a.wav"}),
        ("[{'bytes': None, 'path': 'a.wav'}]", {"type": "audio", "url": {"bytes": None, "path": "a.wav"}}),
    ],
)
def test_chat_wrappers_get_items_of_it(seen: Path, expression: str, expected: Any) -> None:
    content = _given(seen.parent, "chatting", expression=expression)
    assert content == [expected, {"type": "text", "text": "x"}]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("{'type': 'image', 'url': FILE}", {"type": "image", "url": "FILE"}),
        ("{'type': 'image', 'url': IMAGE}", {"type": "image", "url": "image 4x3"}),
        (
            "{'type': 'video', 'url': '/films/a.mp4', 'start_time': 1.0}",
            {"type": "video", "url": "/films/a.mp4", "start_time": 1.0},
        ),
        (f"{{'type': 'video', 'url': {SEGMENT!r}}}", {"type": "video", "url": SEGMENT}),
        ("{'type': 'text', 'text': 'a', 'video': 'a.mp4'}", {"type": "text", "text": "a", "video": "a.mp4"}),
        (
            "{'type': 'image', 'url': IMAGE, 'min_pixels': 9, 'boxes': [[0, 1]]}",
            {"type": "image", "url": "image 4x3", "min_pixels": 9, "boxes": [[0, 1]]},
        ),
        (
            "{'type': 'video', 'url': Path('/films/a.mp4'), 'fps': 2, 'start_time': 1, 'end_time': None}",
            {"type": "video", "url": "/films/a.mp4", "fps": 2, "start_time": 1, "end_time": None},
        ),
        (
            f"{{'type': 'audio', 'url': {SOUND!r}, 'language': 'fr'}}",
            {"type": "audio", "url": SOUND, "language": "fr"},
        ),
        (f"{{'type': 'video', 'url': {SOUND!r}}}", {"type": "video", "url": SOUND}),
        ("{'type': 'image', 'image': FILE}", {"type": "image", "image": "FILE", "url": "FILE"}),
    ],
)
def test_chat_wrappers_get_the_authors_messages(seen: Path, item: str, expected: Any) -> None:
    content = _given(seen.parent, "chatting", item=item, extra="doc_to_messages: !function utils.messages\n")
    assert content == [expected, {"type": "text", "text": "Well?"}]


def test_chat_wrappers_get_the_keys_of_a_message(seen: Path) -> None:
    item = "{'type': 'text', 'text': 'a'}]}, {'role': 'assistant', 'name': 'B', 'content': ["
    (message, answer) = _given(
        seen.parent,
        "whole",
        item=f"{item}{{'type': 'text', 'text': 'b'}}",
        extra="doc_to_messages: !function utils.messages\n",
    )
    assert message == {"role": "user", "content": [{"type": "text", "text": "a"}]}
    assert list(answer) == ["role", "name", "content"]
    assert answer["name"] == "B"
    assert [item["text"] for item in answer["content"]] == ["b", "Well?"]


@pytest.mark.parametrize(
    "written",
    [
        "{'role': 'user', 'content': [{'type': 'text', 'text': 'a', 'video': 'x'}]}",
        "{'role': 'user', 'name': 'B', 'content': [{'type': 'text', 'text': 'a'}]}",
        "{'role': 'user', 'content': [{'type': 'video', 'url': '/a.mp4', 'fps': 2}]}",
        "{'role': 'user', 'content': [{'type': 'text', 'text': 'a', 'spans': {(0, 1): 'b', 2: 'c'}}]}",
    ],
)
def test_what_stands_beside_items_is_part_of_what_was_asked(written: str) -> None:
    message = ast.literal_eval(written)
    plain = {"role": "user", "content": [{name: item[name] for name in ("type", "text", "url") if name in item}
                                         for item in message["content"]]}  # fmt: skip
    requests = [Request(from_chat([one], "row"), Generate()) for one in (message, plain, dict(message))]
    one, other, same = (request_fingerprint(request, by_content=True) for request in requests)
    assert one == same != other
    one, other, same = map(request_fingerprint, requests)
    assert one == other, "inside a run, the row says it"


def test_what_stands_beside_a_path_is_part_of_what_was_asked() -> None:
    (plain,), (early,), (late,) = (
        from_hook([value], None) for value in ({"video_path": "a.mp4"}, MOVIE | {"video_path": "a.mp4"},
                                               MOVIE | {"video_path": "a.mp4", "timestep": 8})
    )  # fmt: skip
    assert isinstance(early, Video)
    hashes = [part.given.mark("h") for part in (plain, early, late) if part.given]
    assert hashes[0] == "h"
    assert len(set(hashes)) == 3
