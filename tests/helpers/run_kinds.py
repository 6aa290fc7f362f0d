"""A run of each kind that a reader of run folders meets, made with models that ship and tasks of a few rows.

``python -m tests.helpers.run_kinds FOLDER [KIND …]`` writes them to a folder, to be looked at.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

import polymeter
from polymeter.core.acting.tools import read_call
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Output, Request, Response, Usage
from polymeter.models.mock import MockBatch
from tests.helpers.judged import judged_folder
from tests.helpers.toy_datasets import png_base64, write_class

REPOSITORY = Path(__file__).parents[2]
HOSTILE = "<script>window.hacked = 1</script>\u202egnp.exe\u202c\x07<img src=x onerror=window.hacked=2>"
_YAML = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
{body}
metadata: {{version: 1.0}}
"""


def make(kind: str, folder: Path) -> Path:
    """A run of one kind.

    Args:
        kind: A key of ``KINDS``.
        folder: Where to; the run is ``folder/KIND``.
    """
    run = folder / kind
    work = folder / ".made" / kind
    work.mkdir(parents=True, exist_ok=True)
    KINDS[kind](work, run)
    return run


def _task(work: Path, name: str, rows: list[dict[str, Any]], body: str, code: str = "") -> Path:
    (work / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (work / "utils.py").write_text(code, encoding="utf-8")
    (work / f"{name}.yaml").write_text(_YAML.format(name=name, body=body), encoding="utf-8")
    return work / f"{name}.yaml"


def _run(model: Any, tasks: Any, run: Path, **options: Any) -> polymeter.RunResult:
    return polymeter.evaluate(model, tasks if isinstance(tasks, list) else str(tasks), output=run, **options)


def _saying(answer: Callable[[Request], str | Response], name: str = "speaker") -> MockBatch:
    return MockBatch(answer, identity={"backend": "mock", "name": name})


def _task_yaml(work: Path, run: Path) -> None:
    _run("ocr", ["demo_signs", "demo_receipt_total"], run, limit=8)


def _log_likelihood(work: Path, run: Path) -> None:
    _run("tiny_vlm", ["demo_vlm_loglikelihood"], run, limit=60)


def _multi_round(work: Path, run: Path) -> None:
    _run("tiny_vlm", ["demo_vlm_rounds"], run, limit=8)


def _image_generation(work: Path, run: Path) -> None:
    _run("shapes", ["demo_t2i"], run, limit=8, model_args={"error_rate": 0.4})


def _editing(work: Path, run: Path) -> None:
    _run("shapes", ["demo_edit"], run, limit=8, model_args={"error_rate": 0.4})


def _data_adapter(work: Path, run: Path) -> None:
    source = REPOSITORY / "tests/oracle/inputs/guests/bench"
    _run(
        _saying(lambda request: f"It is {request.text.count('a') * 2}"),
        ["quiz"],
        run,
        include_paths=[shutil.copytree(source, work / "bench", dirs_exist_ok=True)],
    )


_JUDGED_CLASS = """
def evaluate_sample(self, line, prediction, **judge_kwargs):
    from ulmeval.dataset.utils import build_judge
    judge = build_judge(model=judge_kwargs['model'])
    shown = dict(type='image', value=self.dump_image(line)[0])
    return {'score': float(judge.generate([shown, dict(type='text', value='Rate the answer ' + prediction)]))}
"""


def _dataset_class(work: Path, run: Path) -> None:
    os.environ["LMUData"] = str(work / "LMUData")  # noqa: SIM112  (the name that these tools have)
    columns = {
        "index": range(4),
        "image": [png_base64(colour, (64, 48)) for colour in ("red", "green", "blue", "white")],
        "question": [f"Which colour is image {n}?" for n in range(4)],
        "answer": ["red", "green", "blue", "white"],
    }
    file = write_class(work / "lib", _JUDGED_CLASS, columns=columns, base="ImageBaseDataset", type_="VQA")
    answers = _saying(lambda request: "red")
    judge = _saying(lambda request: "3", "rater")
    polymeter.evaluate(answers, ["Toy"], include_paths=(file,), output=run, roles={"judge": judge})


def _judged(work: Path, run: Path) -> None:
    judges = [
        _saying(lambda request: "B" if "question 1" in request.text else "A", "strict"),
        _saying(lambda request: "A", "kind"),
        _saying(lambda request: "Perhaps." if "question 2" in request.text else "B", "odd"),
    ]
    model = _saying(lambda request: f"answer {request.text.split()[-1]} {HOSTILE}")
    _run(model, ["facts"], run, include_paths=[judged_folder(work / "facts")], roles={"judge": judges}, panel_quorum=2)


_ASKS = "doc_to_text: q\ndoc_to_target: a"


def _several_images(work: Path, run: Path) -> None:
    """Two images in a prompt, the second one tall and narrow."""
    rows = []
    for number, (first, second) in enumerate((("red", "blue"), ("green", "green"))):
        files = [work / f"{number}-left.png", work / f"{number}-right.png"]
        Image.new("RGB", (320, 200), first).save(files[0])
        Image.new("RGB", (90, 900), second).save(files[1])
        rows.append(
            {"q": "Do both images have the same colour?", "a": ["no", "yes"][number], "files": [*map(str, files)]}
        )
    body = f"doc_to_visual: files\n{_ASKS}\nmetric_list: [{{metric: exact_match}}]"
    _run(_saying(lambda request: "no"), _task(work, "pairs", rows, body), run)


_SHOWS_FILE = f"doc_to_visual: file\n{_ASKS}"


def _video(work: Path, run: Path) -> None:
    import av

    rows = []
    for number in range(2):
        path = work / f"clip{number}.mp4"
        with av.open(str(path), "w") as file:
            stream = file.add_stream("libx264", rate=10)
            stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
            for level in range(30):
                frame = Image.new("RGB", (320, 240), "#dde7ee")
                ImageDraw.Draw(frame).ellipse(
                    (level * 8, 60 + 40 * number, level * 8 + 60, 120 + 40 * number), fill="#c0392b"
                )
                for packet in stream.encode(av.VideoFrame.from_image(frame)):
                    file.mux(packet)
            for packet in stream.encode():
                file.mux(packet)
        rows.append({"q": "Where does the ball roll?", "a": "to the right", "file": str(path)})
    _run(_saying(lambda request: "To the right."), _task(work, "clips", rows, _SHOWS_FILE), run)


def _audio(work: Path, run: Path) -> None:
    import numpy as np

    rows = []
    for number in range(2):
        path = work / f"tone{number}.wav"
        tone = (8000 * np.sin(np.arange(8000 * (number + 1)) * 2 * np.pi * 440 * (number + 1) / 8000)).astype("<i2")
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(tone.tobytes())
        rows.append({"q": "How many tones are there?", "a": "one", "file": str(path)})
    _run(_saying(lambda request: "one"), _task(work, "tones", rows, _SHOWS_FILE), run)


_NAMED = """```json
[{"bbox_2d": [45, 35, 205, 170], "label": "<b>ball</b>"}, {"point_2d": [120, 100], "label": "middle"}]
```"""
_BOXES = [
    ("[40, 30, 200, 180]", "[52, 40, 210, 190]"),
    ("[0.1, 0.1, 0.5, 0.6]", "The box is [0.12, 0.08, 0.52, 0.63]."),
    ("[40, 30, 200, 180]", "<box>(100,90),(520,600)</box>"),
    ("[40, 30, 200, 180]", _NAMED),
    ("point: 120, 100", "point: 300, 420"),
    ("[40, 30, 200, 180]", f"nothing here {HOSTILE}"),
]


def _grounding(work: Path, run: Path) -> None:
    image = Image.new("RGB", (400, 300), "#eef3f0")
    pen = ImageDraw.Draw(image)
    pen.ellipse((40, 30, 200, 180), fill="#c0392b")
    pen.rectangle((240, 160, 370, 270), fill="#2c5aa0")
    image.save(work / "scene.png")
    rows = [
        {"q": f"{n}. Where is the ball? Give its bounding box.", "a": target, "file": str(work / "scene.png")}
        for n, (target, _) in enumerate(_BOXES)
    ]
    body = f"{_SHOWS_FILE}\ngeneration_kwargs: {{max_new_tokens: 64}}\nmetric_list: [{{metric: exact_match}}]"
    model = _saying(lambda request: _BOXES[int(request.text.split(".")[0])][1])
    _run(model, _task(work, "grounding", rows, body), run)


def _tools(work: Path, run: Path) -> None:
    """Reasoning, a tool call, a system's message, a long answer, white space, and text that wants to run."""

    def answer(request: Request) -> Response:
        if "weather" in request.text:
            call = read_call("call_1", "get_weather", '{"city": "Zürich", "days": [1, 2]}')
            return Response(
                (
                    Output(
                        text="",
                        reasoning="I need the weather.\nI ask the tool.",
                        calls=(call,),
                        finish_reason="tool_calls",
                        usage=Usage(41, 17, 9),
                    ),
                ),
                latency_ms=812.0,
            )
        if "long" in request.text:
            return Response(
                (Output(text="line of a long answer\n" * 900, finish_reason="length", usage=Usage(12, 4096)),),
                latency_ms=22_100.0,
            )
        return Response(
            (Output(text=f" \t{HOSTILE}\u00a0\u200bשלום עולם  \n", finish_reason="stop", usage=Usage(9, 4)),),
            latency_ms=90.0,
        )

    code = (
        "def f(doc, lmms_eval_specific_kwargs=None):\n"
        "    return [{'role': 'system', 'content': [{'type': 'text', 'text': 'You are terse.'}]},\n"
        "            {'role': 'user', 'content': [{'type': 'text', 'text': doc['q']}]}]\n"
    )
    rows = [
        {"q": q, "a": a, "tags": ["a", {"b": 1}]}
        for q, a in (
            ("What is the weather in Zürich?", "sunny"),
            ("Say something long.", "line of a long answer"),
            ("Say something odd.", f"\t{HOSTILE} שלום"),
        )
    ]
    body = "doc_to_messages: !function utils.f\ndoc_to_text: q\ndoc_to_target: a\nmetric_list: [{metric: exact_match}]"
    _run(_saying(answer), _task(work, "talk", rows, body, code), run)


def _lines(n: int) -> list[dict[str, Any]]:
    return [{"q": f"What is {i} + {i}?", "a": str(2 * i)} for i in range(n)]


_SUMS = f"{_ASKS}\nmetric_list: [{{metric: exact_match}}]"


def _failed(work: Path, run: Path) -> None:
    def answer(request: Request) -> str:
        raise ConnectionError(f"the model is gone {HOSTILE}")

    _run(_saying(answer), _task(work, "sums", _lines(6), _SUMS), run, max_retries=0)


def _partial(work: Path, run: Path) -> None:
    n_asked = 0

    def answer(request: Request) -> str:
        nonlocal n_asked
        n_asked += 1
        if n_asked > 5:
            raise KeyboardInterrupt
        return request.text.split()[2]

    _run(_saying(answer), _task(work, "sums", _lines(20), _SUMS), run, window=1, batch_size=1)


def _imported(work: Path, run: Path) -> None:
    log = shutil.copytree(REPOSITORY / "tests/interop/lm_eval/logs", work / "log", dirs_exist_ok=True)
    polymeter.import_log(log, output=run)


def _weighed(work: Path, run: Path) -> None:
    """Many choices with a known confusion and subsets, for the plots: B is answered too often."""

    def answer(request: Request) -> Response:
        assert isinstance(request.parameters, Loglikelihood)
        number = int(request.text.split()[1])
        right, taken = number % 4, number % 4 if number % 3 else 1
        sure = -0.1 - (number % 7) / 10
        values = [sure if place == taken else sure - 0.4 - (number % 5) / 2 for place in range(4)]
        assert right >= 0
        return Response(
            (Output(logprobs=tuple(ChoiceLogprob(value, place == taken, 2) for place, value in enumerate(values))),)
        )

    rows = [{"q": f"Question {n} of many", "a": n % 4, "part": f"part {n % 3}"} for n in range(240)]
    body = (
        "output_type: multiple_choice\ndoc_to_text: q\ndoc_to_target: a\ndoc_to_choice: [red, green, blue, white]\n"
        "metric_list: [{metric: acc}, {metric: acc_norm}]"
    )
    _run(_saying(answer), _task(work, "weighed", rows, body), run)


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "task_yaml": _task_yaml,
    "data_adapter": _data_adapter,
    "dataset_class": _dataset_class,
    "image_generation": _image_generation,
    "editing": _editing,
    "judged": _judged,
    "multi_round": _multi_round,
    "several_images": _several_images,
    "video": _video,
    "audio": _audio,
    "log_likelihood": _log_likelihood,
    "weighed": _weighed,
    "grounding": _grounding,
    "tools": _tools,
    "failed": _failed,
    "partial": _partial,
    "imported": _imported,
}


if __name__ == "__main__":
    for name in sys.argv[2:] or KINDS:
        make(name, Path(sys.argv[1]))
        print(f"{name}: {Path(sys.argv[1]) / name}", flush=True)
