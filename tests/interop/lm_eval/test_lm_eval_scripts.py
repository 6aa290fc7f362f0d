"""``simple_evaluate`` in a script: what it returns, and what a tracker saves of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter.interop.lm_eval.models.base import LM_MODELS
from tests.cli.kit import Typing
from tests.interop.lm_eval.house import MODEL, results, samples, write_house

pytestmark = pytest.mark.needs_system("lm_eval")
SCRIPT = f"""\
import json

import lm_eval
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager
from lm_eval.utils import make_table

{MODEL}

manager = TaskManager(include_path="tasks")
found = lm_eval.simple_evaluate(CountsLetters(), tasks=["both", "rolls"], task_manager=manager, limit=2)
print(make_table(found))
tracker = EvaluationTracker(output_path="out")
tracker.save_results_aggregated(found, found["samples"])
for task in found["configs"]:
    tracker.save_results_samples(task, found["samples"][task])
named = lm_eval.simple_evaluate("counts-letters", "bonus=1", ["choice"], task_manager=manager, log_samples=False)
again = lm_eval.evaluate(CountsLetters(), {{"choice": None}}, task_manager=manager)
with open("chats.json", "w") as file:
    chats = [
        lm_eval.simple_evaluate(
            model, tasks=["says"], task_manager=manager, limit=1, apply_chat_template=True, log_samples=True
        )
        for model in (CountsLetters(), "counts-letters")
    ]
    json.dump([one["samples"]["says"][0]["arguments"] for one in chats], file)
with open("returned.json", "w") as file:
    json.dump([found, named, again], file, default=str)
"""

AS_A_DICT = f"""\
import json

import lm_eval
from lm_eval.tasks import TaskManager

{MODEL}

own = {{
    "task": "own",
    "dataset_path": "json",
    "dataset_kwargs": {{"data_files": {{"test": "tasks/rows.jsonl"}}}},
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "Élan: {{{{word}}}}",
    "doc_to_target": "I say {{{{word}}}}",
    "metric_list": [{{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}}],
    "generation_kwargs": {{"until": ["\\n"]}},
}}
manager = TaskManager(include_path="tasks")
found = lm_eval.simple_evaluate(CountsLetters(), tasks=[own, "says"], task_manager=manager)
with open("returned.json", "w") as file:
    json.dump(found, file, default=str)
"""


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LM_MODELS, "_models", dict(LM_MODELS._models))
    write_house(tmp_path)
    return Typing(tmp_path, capsys)


def test_a_script_gets_lm_evals_document(typing: Typing) -> None:
    typing.write({"script.py": SCRIPT})
    done = typing("python script.py")
    assert done.code == 0, done.said
    found, named, again = json.loads((typing.folder / "returned.json").read_text())
    assert found["results"]["rolls"]["sample_len"] == 2
    assert found["results"]["rolls"]["word_perplexity_stderr,none"] == "N/A", "it states no error of this aggregation"
    assert found["higher_is_better"]["rolls"] == {"word_perplexity": False}
    assert found["n-shot"] == {"both": 0, "choice": 0, "rolls": 0, "says": 0}
    first = found["samples"]["choice"][0]
    assert first["target"] == "1" or first["target"] == 1
    assert [len(pair) for pair in first["arguments"]] == [2, 2]
    assert found["samples"]["rolls"][0]["resps"] == [[-3.0]]
    assert "samples" not in named
    assert (named["config"]["model"], named["config"]["model_args"]) == ("counts-letters", {"bonus": 1})
    assert again["results"]["choice"]["acc,none"] == named["results"]["choice"]["acc,none"]
    assert "def as_they_are(dataset):" in found["configs"]["says"]["process_docs"], "functions are their source text"


def test_conversations_stand_in_the_template_of_an_object_or_a_name(typing: Typing) -> None:
    typing.write({"script.py": SCRIPT})
    assert typing("python script.py").code == 0
    chats = json.loads((typing.folder / "chats.json").read_text("utf-8"))
    assert [arguments[0][0] for arguments in chats] == ["<user>Say cat<assistant> "] * 2


def test_a_tracker_saves_what_is_returned(typing: Typing) -> None:
    typing.write({"script.py": SCRIPT})
    assert typing("python script.py").code == 0
    document = results(typing.folder / "out")
    assert set(document["task_hashes"]) == {"choice", "says", "rolls"}
    assert samples(typing.folder / "out", "rolls")[0]["arguments"] == {"gen_args_0": {"arg_0": "cat"}}


def test_a_whole_task_may_be_a_dict(typing: Typing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(typing.folder / "cache"))
    typing.write({"script.py": AS_A_DICT})
    done = typing("python script.py")
    assert done.code == 0, done.said
    found = json.loads((typing.folder / "returned.json").read_text())
    assert set(found["results"]) == {"own", "says"}
    assert found["results"]["own"]["exact_match,none"] == 1.0
    assert found["samples"]["own"][0]["arguments"][0][0] == "Élan: cat"
    assert typing("python script.py").code == 0
    assert len([*(typing.folder / "cache" / "tasks").rglob("*.yaml")]) == 1, "a resumed run finds its task again"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("lm_eval.simple_evaluate('hf', tasks=[object()])", "not by its name"),
        ("lm_eval.simple_evaluate('hf', tasks=[{'dataset_path': 'x'}])", "a dict without a name"),
        (
            "lm_eval.simple_evaluate('hf', tasks=[{'task': 'x', 'doc_to_text': len}])",
            "'x' is given as a dict with a function",
        ),
        (
            "lm_eval.simple_evaluate('hf', tasks=[{'task': 'says'}], task_manager=TaskManager(include_path='tasks'))",
            "the name of another, 'says'",
        ),
        ("HFLM(pretrained=object())", "not the name of a checkpoint"),
        ("lm_eval.simple_evaluate('hff', tasks=['says'])", "'hf'"),
    ],
)
def test_what_cannot_be_resumed_is_refused(typing: Typing, call: str, message: str) -> None:
    imports = "import lm_eval\nfrom lm_eval.models.huggingface import HFLM\nfrom lm_eval.tasks import TaskManager\n"
    typing.write({"script.py": f"{imports}{call}\n"})
    done = typing("python script.py")
    assert done.code == 2, done.said
    assert message in done.said
