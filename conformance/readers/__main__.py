"""The command: ``python -m conformance.readers [TOOL …]``: is what we export what each tool's own readers read?

A run on made data is exported to each tool and read by that tool's code in its own environment, ``.venv-TOOL``. Every
number and answer that comes back is compared with the run.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

import polymeter
from conformance.frame import python_of

HERE = Path(__file__).parent
TOOLS = {
    "lmms-eval": ("lmms-eval", "read_lmms_eval.py"),
    "lm-eval": ("lm-eval", "read_lm_eval.py"),
    "evalscope": ("evalscope", "read_evalscope_0_17.py"),
    "evalscope-1": ("evalscope-1", "read_evalscope_1.py"),
    "inspect": ("inspect", "read_inspect.py"),
    "vlmevalkit": ("vlmevalkit", "read_vlmevalkit.py"),
}
"""The name of each export, with that of the environment and the script."""
_ROUNDED = 1e-4
"""EvalScope's reports have four digits."""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m conformance.readers", description=__doc__)
    parser.add_argument("tools", nargs="*", choices=[*TOOLS, []], metavar="TOOL", help="whose readers (default: all)")
    parser.add_argument("--python", help="the Python that has the tool, instead of that of .venv-TOOL")
    arguments = parser.parse_args()
    is_good = True
    with tempfile.TemporaryDirectory(prefix="readers-") as work:
        runs = {name: _run(Path(work), name) for name in ("mixed", "letters")}
        (Path(work) / "exports").mkdir()
        (Path(work) / "tables").rename(Path(work) / "exports" / "tables")
        for tool in arguments.tools or TOOLS:
            environment, script = TOOLS[tool]
            run = runs["letters" if tool == "vlmevalkit" else "mixed"]
            folder = Path(work) / "exports" / tool
            polymeter.export(run, tool, output=folder, media="copy")
            python = arguments.python or python_of(f".venv-{environment}")
            done = subprocess.run([str(python), str(HERE / script), str(folder)], capture_output=True, text=True)
            if done.returncode:
                print(f"{tool}: its reader failed\n{done.stderr[-4000:]}")
                is_good = False
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            differences = [*_differences(polymeter.open_run(run), found)]
            n_values = sum(1 + len(task["numbers"]) + 2 * len(task["samples"]) for task in found.values())
            print(f"{tool}: {n_values} values read back, {len(differences)} different")
            for line in differences:
                print(f"  {line}")
            is_good = is_good and not differences
    return 0 if is_good else 1


def _differences(run: polymeter.RunResult, found: dict[str, Any]) -> Iterator[str]:
    """Where what a tool has read is not what the run says."""
    for task, own in run.results["tasks"].items():
        read = found.get(task)
        if read is None:
            yield f"{task} was not read"
            continue
        if read["n"] != own["n_scored"]:
            yield f"{task}: n {read['n']}, not {own['n_scored']}"
        whole = {result["metric"]: result["value"] for result in own["results"] if not result["subset"]}
        for metric, value in read["numbers"].items():
            if abs(whole[metric] - value) > _ROUNDED:
                yield f"{task}: {metric} {value}, not {whole[metric]}"
        samples = {str(sample.index): sample for sample in run.samples(task) if sample.status == "ok"}
        if read["samples"].keys() != samples.keys():
            yield f"{task}: samples {sorted(read['samples'])}, not {sorted(samples)}"
        for index in read["samples"].keys() & samples.keys():
            back, sample = read["samples"][index], samples[index]
            if back["answer"] is not None and back["answer"] != sample.answer and isinstance(back["answer"], str):
                yield f"{task} {index}: answer {back['answer']!r}, not {sample.answer!r}"
            for metric, value in back["numbers"].items():
                if sample.scores[metric] != value:
                    yield f"{task} {index}: {metric} {value}, not {sample.scores[metric]}"


def _run(work: Path, name: str) -> Path:
    """A run on made data: texts, choices and images of two kinds; or lettered options with an image each."""
    tables = work / "tables"
    tables.mkdir(exist_ok=True)
    draw = random.Random(7)
    if name == "mixed":
        rows = [{"question": f"{i} + {i}", "answer": str(2 * i), "kind": ("even", "odd")[i % 2]} for i in range(40)]
        (work / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        for task, more in (
            ("sums", 'doc_to_target: "{{answer}}"\nmetric_list: [{metric: exact_match}]\n'),
            ("kinds", "output_type: multiple_choice\ndoc_to_choice: [even, odd]\ndoc_to_target: kind\n"),
        ):
            head = f"task: {task}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: sums.jsonl}}}}\n"
            text = f'{head}test_split: test\ndoc_to_text: "What is {{{{question}}}}?"\n{more}'
            (work / f"{task}.yaml").write_text(text, encoding="utf-8")
        said = {str(i): str(2 * i) if draw.random() < 0.6 else "=1+1" for i in range(len(rows))}
        tasks: list[str] = ["sums", "kinds", "demo_signs"]
    else:
        buffer = BytesIO()
        Image.effect_noise((8, 8), 50).save(buffer, "PNG")
        image = b64encode(buffer.getvalue()).decode()
        options = {"A": "apple", "B": "bear", "C": "cat", "D": "dog"}
        table = [
            {"index": i, "image": image, "question": f"Which is number {i}?", **options, "answer": "ABCD"[i % 4]}
            | {"category": ("wild", "tame")[i % 2]}
            for i in range(40)
        ]
        with (tables / "letters.tsv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]), delimiter="\t")
            writer.writeheader()
            writer.writerows(table)
        forms = ("{0}", "The answer is {0}.", "Answer: {0}", "B", "C. cat")
        said = {str(row["index"]): draw.choice(forms).format(row["answer"]) for row in table}
        tasks = [str(tables / "letters.tsv")]
    (work / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")
    options_of = {"answers": str(work / f"{name}.json")}
    output = work / "runs" / name
    polymeter.evaluate("mock", tasks, model_args=options_of, include_paths=[work], output=output, limit=40)
    return output


if __name__ == "__main__":
    sys.exit(main())
