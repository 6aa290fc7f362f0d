"""Writes logs of EvalScope 1.x on made data: ``python -m conformance.logs.make_evalscope_1 FOLDER``.

It runs where EvalScope 1.x is installed.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

from evalscope import TaskConfig, run_task
from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
from evalscope.api.dataset import Sample
from evalscope.api.metric import Score
from evalscope.api.registry import register_benchmark
from PIL import Image

from conformance.logs.cleaning import keep

CAPITALS = {
    "europe": [
        ("France", "Paris"),
        ("Spain", "Madrid"),
        ("Latvia", "Riga"),
        ("Poland", "Warsaw"),
        ("Greece", "Athens"),
    ],
    "asia": [("Japan", "Tokyo"), ("Nepal", "Kathmandu"), ("Laos", "Vientiane"), ("Oman", "Muscat")],
}
SAID = {
    "France": ["Paris.", "Lyon"],
    "Spain": ["Madrid", "Madrid"],
    "Poland": ["Krakow", "Warsaw"],
    "Greece": [" Athens ", "It is Athens"],
    "Japan": ["Tokyo", "Tokyo"],
    "Nepal": ["I do not know.", "Kathmandu"],
    "Laos": ["Vientiane", "Vientiane"],
    "Oman": ["Muscat", ""],
    "sky": ["ANSWER: B"],
    "grass": ["ANSWER: A"],
    "blood": ["I cannot tell."],
    "this image": ["ANSWER: C"],
}
"""What the model says to a question with a word; one answer for each repeat. It fails for Latvia."""
CHOICES = [("sky", "B"), ("grass", "A"), ("blood", "C")]


@register_benchmark(
    BenchmarkMeta(
        name="capitals",
        pretty_name="Capitals",
        description="Capitals of countries.",
        dataset_id="made/capitals",
        subset_list=list(CAPITALS),
        metric_list=["exact_match", "acc"],
        primary_metric="exact_match",
        eval_split="test",
        prompt_template="What is the capital of {question}?",
    )
)
class Capitals(DefaultDataAdapter):
    """Two numbers for each answer; an empty answer has none."""

    def load(self):
        from evalscope.api.dataset import DatasetDict, DictDataLoader

        sets = {
            subset: DictDataLoader(
                dict_list=[{"country": country, "capital": capital} for country, capital in records],
                sample_fields=self.record_to_sample,
                repeats=self.repeats,
                limit=self.limit,
            ).load()
            for subset, records in CAPITALS.items()
        }
        return DatasetDict(sets), None

    def record_to_sample(self, record):
        return Sample(input=record["country"], target=record["capital"], metadata=record)

    def extract_answer(self, prediction, task_state):
        return prediction.strip().strip(".")

    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        score = Score(extracted_prediction=filtered_prediction, prediction=original_prediction)
        if filtered_prediction:
            score.value = {
                "exact_match": float(filtered_prediction == reference),
                "acc": float(reference in original_prediction),
            }
        return score


class Speaker(BaseHTTPRequestHandler):
    """An endpoint that says what is written above."""

    turns: ClassVar[dict[str, int]] = {}

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        word = next((word for word in SAID if word in text), "")
        turn = self.turns[word] = self.turns.get(word, -1) + 1
        if word:
            message = {"role": "assistant", "content": SAID[word][turn % len(SAID[word])]}
            usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
            said = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}
            reply = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"], **said}
        else:
            reply = {"error": {"message": "The model has no answer.", "type": "invalid_request_error"}}
        data = json.dumps(reply).encode()
        self.send_response(200 if word else 422)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def write_choices(folder: Path) -> None:
    """Questions with choices, for EvalScope's own benchmarks of files."""
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(buffer, "PNG")
    image = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    rows = [
        {
            "id": str(10 + i),
            "question": f"Which colour has the {thing}?",
            "A": "green",
            "B": "blue",
            "C": "red",
            "answer": answer,
        }
        for i, (thing, answer) in enumerate(CHOICES)
    ]
    shown = [
        {
            "question": "<image 1> Which colour has this image?",
            "options": ["green", "blue", "red"],
            "image_1": image,
            "answer": "C",
        }
    ]
    for name, lines in (("colours_val.jsonl", rows), ("images_val.jsonl", shown)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def main(target: Path) -> None:
    """Write the logs: of EvalScope's own benchmarks of files, and of a benchmark with repeats."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Speaker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        data, work = Path(folder) / "data", Path(folder) / "work"
        data.mkdir()
        write_choices(data)
        common = {
            "model": "speaker",
            "api_url": f"http://127.0.0.1:{server.server_address[1]}/v1",
            "api_key": "EMPTY",
            "eval_type": "openai_api",
            "no_timestamp": True,
            "ignore_errors": True,
            "eval_batch_size": 1,
            "generation_config": {"temperature": 0.0, "max_tokens": 16, "retries": 0},
        }
        args = {
            "general_mcq": {
                "local_path": str(data),
                "subset_list": ["colours"],
                "prompt_template": "{question}\n{choices}\nANSWER: {letters}",
            },
            "general_vmcq": {"local_path": str(data), "subset_list": ["images"]},
        }
        run_task(TaskConfig(**common, work_dir=str(work / "choices"), datasets=list(args), dataset_args=args))
        run_task(TaskConfig(**common, work_dir=str(work / "repeats"), datasets=["capitals"], repeats=2))
        keep(work, target, lambda path: path.suffix in (".log", ".html"))
    server.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
