"""Data for the benchmarks, generated from a fixed seed."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

TEXT_TASK = """\
task: bench_text
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  max_new_tokens: 16
metric_list:
  - metric: exact_match
"""
HOOKS_TASK = """\
task: bench_hooks
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_text: !function utils.text
doc_to_target: answer
process_results: !function utils.score
generation_kwargs:
  max_new_tokens: 16
metric_list:
  - metric: right
    aggregation: mean
    higher_is_better: true
"""
HOOKS = """\
def text(doc):
    return doc["question"]


def score(doc, results):
    return {"right": float(results[0].strip() == doc["answer"])}
"""
ADAPTER = """\
import json
import shutil
from pathlib import Path

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType
from evalscope.metrics import exact_match


@Benchmark.register(
    name="bench_rows",
    pretty_name="bench_rows",
    dataset_id="bench_rows",
    model_adapter=OutputType.GENERATION,
    subset_list=["default"],
    metric_list=["AverageAccuracy"],
    eval_split="test",
    prompt_template="{query}",
)
class BenchRowsAdapter(DataAdapter):
    def load(self, dataset_name_or_path=None, subset_list=None, work_dir=None, **kwargs):
        lines = Path(__file__).with_name("text.jsonl").read_text("utf-8").splitlines()
        return {"default": {self.eval_split: [json.loads(line) for line in lines]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["question"])

    def get_gold_answer(self, input_d):
        return input_d["answer"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result.strip()

    def match(self, gold, pred):
        return exact_match(gold, pred)
"""
DATASET_CLASS = """\
from ulmeval.dataset.text_base import TextBaseDataset


class BenchClass(TextBaseDataset):
    TYPE = "QA"
    DATASET_URL = {"bench_class": ""}
    DATASET_MD5 = {"bench_class": None}
    METRICS = {"right": True}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [dict(type="text", value=line["question"])]

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        return {"right": float(str(prediction).strip() == str(line["answer"]))}
"""
IMAGE_TASK = """\
task: bench_images
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_visual: image
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs:
  max_new_tokens: 16
metric_list:
  - metric: exact_match
"""
INDEXED_TASK = """\
include: _template_yaml
task: indexed_{number}
tag: indexed
doc_to_text: !function utils.text
doc_to_target: answer
metric_list:
  - metric: exact_match
metadata:
  version: 1.0
"""


def text_task(folder: Path, n_docs: int) -> Path:
    """A folder with a task of short text questions."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "text.jsonl").open("w") as file:
        for number in range(n_docs):
            file.write(json.dumps({"question": f"What is {number} plus {number}?", "answer": str(2 * number)}) + "\n")
    (folder / "bench_text.yaml").write_text(TEXT_TASK.format(data="text.jsonl"))
    return folder


def hooks_task(folder: Path, n_docs: int) -> Path:
    """The same questions, asked and scored by Python hooks as nearly every published task does it."""
    text_task(folder, n_docs)
    (folder / "utils.py").write_text(HOOKS)
    (folder / "bench_hooks.yaml").write_text(HOOKS_TASK.format(data="text.jsonl"))
    return folder


def text_forms(folder: Path, n_docs: int) -> dict[str, tuple[str, ...]]:
    """The same questions in every form that Polymeter runs; for each form the words that select it."""
    text_task(folder, n_docs)
    hooks_task(folder / "hooks", n_docs)
    adapter, table, classes = (folder / name for name in ("adapter", "table", "classes"))
    for place in (adapter, table, classes):
        place.mkdir(exist_ok=True)
    shutil.copy(folder / "text.jsonl", adapter)
    (adapter / "bench_rows_adapter.py").write_text(ADAPTER)
    lines = [f"{number}\tWhat is {number} plus {number}?\t{2 * number}\n" for number in range(n_docs)]
    for file in (table / "bench_table.tsv", classes / "bench_class.tsv"):
        file.write_text("index\tquestion\tanswer\n" + "".join(lines))
    (classes / "bench_class.py").write_text(DATASET_CLASS)
    return {
        "templates": ("--tasks", str(folder / "bench_text.yaml")),
        "hooks": ("--tasks", str(folder / "hooks" / "bench_hooks.yaml")),
        "adapter": ("--tasks", "bench_rows", "--include-path", str(adapter)),
        "table": ("--tasks", str(table / "bench_table.tsv")),
        "dataset class": ("--tasks", "bench_class", "--include-path", str(classes)),
    }


def image_bytes(number: int, size: tuple[int, int]) -> bytes:
    """A JPEG that looks like a photograph; each number has its own."""
    import numpy as np
    from PIL import Image

    coarse = np.random.default_rng(number).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).save(buffer, format="JPEG", quality=90)
    return buffer.getvalue()


def image_task(folder: Path, n_docs: int, size: tuple[int, int] = (640, 480)) -> Path:
    """A folder with a task of one JPEG per question."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"bytes": image_bytes(number, size), "path": f"{number}.jpg"} for number in range(n_docs)]
    table = pa.table(
        {
            "image": pa.array(rows, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
            "question": [f"Which picture is number {number}?" for number in range(n_docs)],
            "answer": ["mock"] * n_docs,
        }
    )
    features = {
        "info": {
            "features": {
                "image": {"_type": "Image"},
                "question": {"dtype": "string", "_type": "Value"},
                "answer": {"dtype": "string", "_type": "Value"},
            }
        }
    }
    pq.write_table(
        table.replace_schema_metadata({"huggingface": json.dumps(features)}),
        folder / "images.parquet",
        row_group_size=100,
    )
    (folder / "bench_images.yaml").write_text(IMAGE_TASK.format(data="images.parquet"))
    return folder


def decode_script(folder: Path) -> str:
    """Code that decodes all images of ``image_task`` and does nothing else: the cost that no harness can avoid."""
    return (
        "import io, pyarrow.parquet as pq\n"
        "from PIL import Image\n"
        f"for row in pq.read_table({str(folder / 'images.parquet')!r}, columns=['image'])['image']:\n"
        "    Image.open(io.BytesIO(row['bytes'].as_py())).load()\n"
    )


def many_yamls(folder: Path, n_files: int) -> Path:
    """A folder tree with many task files that share templates, as in collections of benchmarks."""
    for number in range(n_files):
        home = folder / f"family_{number // 10}"
        if number % 10 == 0:
            home.mkdir(parents=True, exist_ok=True)
            (home / "_template_yaml").write_text(
                "dataset_path: json\ntest_split: test\noutput_type: generate_until\n"
                "generation_kwargs:\n  max_new_tokens: 16\n  temperature: 0\n  do_sample: false\n"
                "lmms_eval_specific_kwargs:\n  default:\n    pre_prompt: ''\n    post_prompt: ''\n"
            )
            (home / "utils.py").write_text("def text(doc):\n    return doc['question']\n")
        (home / f"task_{number}.yaml").write_text(INDEXED_TASK.format(number=number))
    return folder
