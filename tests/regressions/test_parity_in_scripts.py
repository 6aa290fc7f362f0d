"""The parity of the environment and of the settings holds for what a script under ``polymeter python`` calls itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.regressions.copies import command

MEDIAN = "from lmms_eval.api.metrics import median\nprint(median([9, 1, 2]))\n"
ON_A_THREAD = """\
from concurrent.futures import ThreadPoolExecutor
from lmms_eval.api.metrics import median

with ThreadPoolExecutor(1) as pool:
    print(pool.submit(median, [9, 1, 2]).result())
"""
TASK = """\
import json
from pathlib import Path
from {package}.api.task import ConfigurableTask

Path("rows.jsonl").write_text(json.dumps({{"q": "one", "a": ["red"]}}) + "\\n")
data = {{"dataset_path": "json", "dataset_kwargs": {{"data_files": {{"test": "rows.jsonl"}}}}, "test_split": "test"}}
asked = {{"doc_to_text": "{{{{q}}}}", "doc_to_target": "a", "output_type": "generate_until"}}
metric = {{"metric": "exact_match", "aggregation": "median"}}
task = ConfigurableTask(config={{"task": "t", **data, **asked, "metric_list": [metric]}})
"""
CASES = [
    pytest.param("lmms-eval", MEDIAN, "2.0", "1", id="a function"),
    pytest.param("lmms-eval", ON_A_THREAD, "2.0", "1", id="a function on a thread of the script's own"),
    pytest.param(
        "lmms-eval",
        "from lmms_eval.api.registry import get_aggregation\nprint(get_aggregation('median')([9, 1, 2]))\n",
        "2.0",
        "1",
        id="a function by its registered name",
    ),
    pytest.param(
        "lmms-eval",
        TASK.format(package="lmms_eval") + "print(task.aggregation()['exact_match']([9, 1, 2]))\n",
        "2.0",
        "1",
        id="a task of lmms-eval",
    ),
    pytest.param(
        "lm-eval",
        TASK.format(package="lm_eval")
        + "print(task.process_results({'q': 'two', 'a': 'red'}, ['red'])['exact_match'])\n",
        "1.0",
        "0.0",
        id="a task of lm-eval, whose first row decides that targets are lists",
    ),
    pytest.param(
        "evalscope",
        "from evalscope.metrics.rouge_metric import compute_rouge_score_one_sample\n"
        "print(compute_rouge_score_one_sample(['a b'], ['a'])['rouge-1-r'])\n",
        "1.0",
        "0.5",
        id="a metric of EvalScope",
    ),
    pytest.param(
        "ulmeval",
        "from ulmeval.api import OpenAIWrapper\nprint(OpenAIWrapper('gpt-4o').img_size)\n",
        "-1",
        "512",
        id="a judge of ULMEvalKit",
    ),
]


def said(folder: Path, *words: str, **env: str) -> str:
    """The last line that a script printed."""
    done = command("python", *words, cwd=folder, HF_HUB_OFFLINE="1", **env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.needs_system("evalscope", "lm_eval", "lmms_eval", "ulmeval")
@pytest.mark.parametrize(("system", "script", "here", "there"), CASES)
def test_a_script_has_the_values_of_the_parity_that_the_environment_names(
    system: str, script: str, here: str, there: str, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(script)
    assert said(tmp_path, "script.py") == here
    assert said(tmp_path, "script.py", POLYMETER_PARITY=system) == there


@pytest.mark.needs_system("lmms_eval")
def test_the_settings_count_for_a_script_and_for_a_module(tmp_path: Path) -> None:
    (tmp_path / "polymeter.yaml").write_text("parity: lmms-eval\n")
    (tmp_path / "script.py").write_text(MEDIAN)
    assert said(tmp_path, "script.py") == "1"
    assert said(tmp_path, "-m", "script") == "1"
    assert said(tmp_path, "script.py", POLYMETER_PARITY="none") == "2.0"


EVALUATED = """\
import polymeter
from lmms_eval.api.metrics import median

made = polymeter.evaluate("mock", "t", include_paths=["."], output="run", model_args={"answer": 0}, parity=PARITY)
print(made.value("t", "exact_match"), median([9, 1, 2]))
"""
OWN = """\
task: t
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
metric_list: [{metric: exact_match, aggregation: !function own.middle}]
"""


@pytest.mark.needs_system("lmms_eval")
@pytest.mark.parametrize(
    ("parity", "named", "printed"),
    [("lmms-eval", "none", "0.0 1"), ("none", "lmms-eval", "1.0 2.0"), ("lmms-eval", "lmms-eval", "1.0 1")],
)
def test_an_evaluation_in_a_script_has_the_parity_that_it_names(
    parity: str, named: str, printed: str, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        "from lmms_eval.api.metrics import median\n\n\ndef middle(values):\n    return median(values)\n"
    )
    (tmp_path / "t.yaml").write_text(OWN)
    # The answer is 0 each time: the values are 0, 1 and 0, of which the one in the middle is 0 once they are sorted.
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"q": "{i}", "a": "{a}"}}\n' for i, a in enumerate("909")))
    (tmp_path / "script.py").write_text(EVALUATED.replace("PARITY", repr(named)))
    assert said(tmp_path, "script.py", POLYMETER_PARITY=parity) == printed
