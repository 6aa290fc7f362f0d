"""A synthetic run for the tests of reports: drawn images, good, bad and failed answers, strings that want to run."""

from __future__ import annotations

import io
import math
from typing import Any

from PIL import Image, ImageDraw

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    "<img src=x onerror='window.hacked = 3'>",
    "<!--<script>window.hacked = 4</script>",
    "'\"><svg onload=window.hacked=5>",
)
NAMES = ("Alpine Dairy Co-op", "Harbour Books", "Café Zürich", "Nordlys Verksted", "Old Mill Bakery", "Linden Pharmacy")


def receipt(number: int) -> tuple[bytes, str]:
    """A drawn receipt and its text."""
    lines = [
        NAMES[number % len(NAMES)],
        f"Receipt {1000 + number}",
        f"2 x Bread rolls   {3 + number % 5}.40",
        f"1 x Oat milk   {1 + number % 3}.95",
        f"Subtotal   {6 + number % 7}.35",
        f"Total   {7 + number % 7}.10",
    ]
    image = Image.new("RGB", (300, 190), "#fdfcf8")
    pen = ImageDraw.Draw(image)
    for row, line in enumerate(lines):
        pen.text((18, 14 + 27 * row), line, fill="#222222", font_size=17)
    pen.line((14, 118, 286, 118), fill="#888888")
    return _png(image), "\n".join(lines)


def sign(number: int) -> tuple[bytes, str]:
    """A drawn sign and its text."""
    text = ("WET FLOOR", "Gleis 7", "NO ENTRY", "Exit 24B", "出口", "Mind the gap")[number % 6]
    image = Image.new("RGB", (420, 150), ("#1f4e8c", "#a33a2c", "#2f6b3c")[number % 3])
    ImageDraw.Draw(image).text((40, 45), text, fill="white", font_size=52)
    return _png(image), text


def _png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


def spoiled(text: str, number: int) -> str:
    """The text as a reader with weak eyes would have it."""
    if number % 3 == 0:
        return text.replace("\n", " ")
    if number % 3 == 1:
        return text.replace("o", "0", number % 4).replace("rolls", "rol1s")
    return text.replace("Total", "Tota1").replace("milk", "mi1k").replace("1 x ", "")


def exchange(file: str | None, prompt: str, answer: str, role: str = "model", **settings: Any) -> dict[str, Any]:
    """One exchange as the export writes it."""
    parts: list[dict[str, Any]] = [{"image": {"width": 300, "height": 190, "file": file}}] if file else []
    return {
        "role": role,
        "request": {
            "messages": [{"role": "user", "parts": [*parts, {"text": prompt}]}],
            "ask": {"kind": "generate", "max_new_tokens": 64, "temperature": 0, **settings},
        },
        "response": {
            "outputs": [{"text": answer, "finish_reason": "stop", "usage": [412, 31, None]}],
            "latency_ms": 183.2,
        },
    }


def sample(index: int, **values: Any) -> dict[str, Any]:
    """A sample as the export writes it."""
    plain: dict[str, Any] = {
        "id": f"row-{index:03d}",
        "index": index,
        "subset": [],
        "cluster": None,
        "status": "ok",
        "error": None,
        "doc": {"row": index, "kind": "plain"},
        "target": "yes",
        "answer": "yes",
        "explanation": None,
        "scores": [{"metric": "exact_match", "filter": "none", "value": 1.0}],
        "log": {},
        "exchanges": [],
    }
    return plain | values


def result(metric: str, value: Any, n: int, **values: Any) -> dict[str, Any]:
    """A result as the export writes it."""
    plain: dict[str, Any] = {
        "metric": metric,
        "filter": "none",
        "subset": [],
        "value": value,
        "n": n,
        "stderr": None,
        "interval": None,
        "stderr_method": None,
        "higher_is_better": True,
        "artifacts": [],
    }
    return plain | values


def task(alias: str, results: list[dict[str, Any]], n_samples: int, **values: Any) -> dict[str, Any]:
    """A task of ``results.json``."""
    n_scored = values.pop("n_scored", n_samples)
    plain: dict[str, Any] = {
        "alias": alias,
        "version": "1.0",
        "num_fewshot": 0,
        "n_samples": n_samples,
        "n_scored": n_scored,
        "statuses": {"ok": n_scored} | ({"error": n_samples - n_scored} if n_samples > n_scored else {}),
        "n_length": 0,
        "n_nondeterministic": 0,
        "results": results,
        "source_hash": "5f3c9a",
    }
    return plain | values


class SyntheticRun:
    """Everything that ``make_html_report`` takes."""

    def __init__(self, n_receipts: int = 40) -> None:
        self.files: dict[str, bytes] = {}
        self.by_task: dict[str, list[dict[str, Any]]] = {
            "demo_receipts": [self._receipt(i) for i in range(n_receipts)],
            "demo_signs": [self._sign(i) for i in range(24)],
            "demo_choice": [self._choice(i) for i in range(6)],
            "hostile": [self._hostile(i) for i in range(len(HOSTILE))],
        }
        interval = {"stderr": 0.0214, "interval": [0.7993, 0.8832], "stderr_method": "mean"}
        n = n_receipts
        self.results: dict[str, Any] = {
            "schema_version": 1,
            "status": "complete",
            "model": "ocr",
            "tasks": {
                "demo_receipts": task(
                    "Receipts",
                    [
                        result("anls", 0.8412, n - 2, **interval),
                        result("cer", 0.1274, n - 2, stderr=0.018, interval=[0.0921, 0.1627], higher_is_better=False),
                        result("wer", 1.0731, n - 2, stderr=0.21, interval=[0.66, 1.48], higher_is_better=False),
                    ],
                    n,
                    n_scored=n - 2,
                    statuses={"ok": n - 2, "error": 1, "refused": 1},
                    n_length=3,
                ),
                "demo_signs": task(
                    "Signs",
                    [
                        result(
                            "exact_match", 0.6667, 24, stderr=0.0983, interval=[0.474, 0.8593], stderr_method="mean"
                        ),
                        *(
                            result("exact_match", value, 6, subset=[name], stderr=0.2, interval=[0.2, 0.9])
                            for name, value in {"latin": 0.83, "cjk": 0.5, "blurred": 0.5, "tilted": 0.83}.items()
                        ),
                    ],
                    24,
                ),
                "demo_choice": task(
                    "Choice",
                    [result("acc", 0.5, 6, stderr=0.2236, interval=[0.0618, 0.9382])],
                    6,
                    version="2",
                    num_fewshot=5,
                ),
                "hostile": task(
                    HOSTILE[2],
                    [result("exact_match", {"en": 0.2, HOSTILE[0]: math.nan, "all": None}, 5)],
                    5,
                    version=HOSTILE[1],
                ),
            },
            "groups": {
                "demo": {
                    "alias": "Demo (reading)",
                    "version": "1.0",
                    "members": ["demo_receipts", "demo_signs"],
                    "results": [
                        result("anls", 0.8412, n - 2, stderr=0.0158, interval=[0.8102, 0.8722], stderr_method="pooled")
                    ],
                }
            },
            "layout": [
                ["group", "demo", 0],
                ["task", "demo_receipts", 1],
                ["task", "demo_signs", 1],
                ["task", "demo_choice", 0],
                ["task", "hostile", 0],
            ],
            "notes": ["The task 'demo_signs' of ./mine hides a built-in one."],
        }
        self.manifest: dict[str, Any] = {
            "polymeter": {"version": "0.1.0", "commit": "3f2a9c1e77d04b12"},
            "model": {
                "name": "ocr",
                "identity": {"engine": "rapidocr 3.10.1", "models": {"det": "PP-OCRv5", "rec": "PP-OCRv5"}},
            },
            "status": "complete",
            "started": "2026-11-20T13:40:21+00:00",
            "ended": "2026-11-20T13:41:02+00:00",
            "seconds": 41.3,
            "command": "polymeter run --model ocr --tasks demo,demo_choice --output runs/demo",
            "tasks": [
                {
                    "name": name,
                    "file": f"library/demo/{name}.yaml",
                    "source_hash": "5f3c9a",
                    "dataset_fingerprint": "b81d77",
                }
                for name in self.by_task
            ],
            "options": {
                "identity": {"seed": 0, "limit": None, "generation": {"temperature": 0}},
                "runtime": {"window": 64},
            },
            "packages": {"rapidocr": "3.10.1", "onnxruntime": "1.22.0", "numpy": "2.3.1", "Pillow": "12.0"},
            "hardware": {"cpu": "2 cores", "memory_gb": 16, "system": "Linux 6.8"},
            "include_paths": [{"path": "./mine", "commit": "aa00bb", "is_dirty": True}],
            "usage": {"input_tokens": 41200, "output_tokens": 3120},
            "cache": {"hits": 0},
            "notes": [],
        }

    def samples(self, name: str) -> list[dict[str, Any]]:
        """The samples of a task."""
        return self.by_task[name]

    def media(self, name: str) -> tuple[bytes, str] | None:
        """Bytes and type of a media file."""
        return (self.files[name], "image/png") if name in self.files else None

    def _keep(self, name: str, data: bytes) -> str:
        self.files[name] = data
        return name

    def _receipt(self, index: int) -> dict[str, Any]:
        data, text = receipt(index)
        file = self._keep(f"{index:04d}receipt.png", data)
        answer = spoiled(text, index)
        asked = exchange(file, "Transcribe all text of this receipt, line by line from top to bottom.", answer)
        if index in (7, 19):
            error = {"kind": "data", "message": "Cannot read the image photos/7.png: image file is truncated."}
            refused = {"kind": "refused", "message": "The endpoint declined: content policy."}
            is_broken = index == 7
            return sample(
                index,
                status="error" if is_broken else "refused",
                error=error if is_broken else refused,
                answer=None,
                target=text,
                scores=[],
                exchanges=[] if is_broken else [asked],
            )
        wrong = sum(a != b for a, b in zip(text, answer, strict=False)) / len(text) if index % 3 else 0.0
        values = {"anls": 1 - wrong, "cer": wrong, "wer": wrong * 2}
        scores = [{"metric": metric, "filter": "none", "value": value} for metric, value in values.items()]
        return sample(index, target=text, answer=answer, scores=scores, exchanges=[asked])

    def _sign(self, index: int) -> dict[str, Any]:
        data, text = sign(index)
        file = self._keep(f"{index:04d}sign.png", data)
        answer = text if index % 3 else "I cannot make out any letters here."
        judged = exchange(
            None, f"Does {answer!r} say the same as {text!r}? Answer yes or no.", "yes" if index % 3 else "no", "judge"
        )
        return sample(
            index,
            subset=[("latin", "cjk", "blurred", "tilted")[index % 4]],
            target=text,
            answer=answer,
            explanation="The judge compared the two texts.",
            scores=[{"metric": "exact_match", "filter": "none", "value": float(bool(index % 3))}],
            exchanges=[exchange(file, "Read the sign. Answer with its text only.", answer), judged],
            log={"attempts": 1},
        )

    def _choice(self, index: int) -> dict[str, Any]:
        asked = {
            "role": "model",
            "request": {
                "messages": [
                    {"role": "system", "parts": [{"text": "You answer with one letter."}]},
                    {
                        "role": "user",
                        "parts": [{"text": "Which river flows through Basel?\nA. Rhine\nB. Aare\nC. Inn"}],
                    },
                ],
                "ask": {"kind": "loglikelihood", "continuations": [" A", " B", " C"]},
            },
            "response": {
                "outputs": [{"logprobs": [[-0.31, True, 1], [-1.52, False, 1], [-4.08, False, 1]]}],
                "latency_ms": 22.0,
            },
        }
        scores = [{"metric": "acc", "filter": "none", "value": float(index % 2)}]
        return sample(index, target="A", answer="A" if index % 2 else "B", scores=scores, exchanges=[asked])

    def _hostile(self, index: int) -> dict[str, Any]:
        text = HOSTILE[index]
        return sample(
            index,
            id=f"h{index} {text}",
            subset=[text],
            target=text,
            answer=f"{text} \ud800",
            explanation=text,
            error=None if index else {"kind": "score", "message": text},
            status="ok" if index else "error",
            scores=[{"metric": "exact_match", "filter": "none", "value": math.nan if index == 1 else 0.2 * index}],
            doc={text: [text, math.inf]},
            log={"said": text},
            exchanges=[exchange(None, text, text)],
        )
