"""The verifiers of lmms-eval say whether they are sure, one is Gemini's, and judges look as closely as there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from tests.helpers.openai_stub import OpenAIStub, png
from tests.regressions.copies import command

RULES = """\
import json
from lmms_eval.verifiers import build_verification_pipeline as build

cases = {
    "mcq_match": [("(B)", "b."), ("C", "B"), ("the second", "B"), ("BC", "B")],
    "numeric": [("3.14", "3.14"), ("about 1,000 of them", "7"), ("none", "7")],
    "exact_match": [("Paris", "paris"), ("Rome", "paris")],
    "contains": [("in Paris", "paris"), ("in Rome", "paris")],
}
made = {name: build({"verifier": {"type": name}}) for name in cases}
found = {name: [made[name]("?", *pair) for pair in pairs] for name, pairs in cases.items()}
said = {name: [[one.is_correct, one.metadata.get("confident")] for one in all] for name, all in found.items()}
print(json.dumps(said))
"""
CONFIDENT = {
    "mcq_match": [[True, True], [False, True], [False, False], [False, False]],
    "numeric": [[True, True], [False, True], [False, False]],
    "exact_match": [[True, True], [False, False]],
    "contains": [[True, True], [False, False]],
}
"""For each pair whether it is right, and whether the verifier is sure: what lmms-eval 0.7.3 gives."""

TASK = """\
task: verified
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: "{{a}}"
process_results: !function own.scored
metric_list: [{metric: verdict, aggregation: mean, higher_is_better: true}]
"""
GEMINI = """\
from lmms_eval.verifiers import VERIFIER_REGISTRY
from lmms_eval.verifiers.gemini import GeminiVerifier


def scored(doc, results):
    assert VERIFIER_REGISTRY["gemini"] is GeminiVerifier
    verifier = GeminiVerifier(api_key="k", SETTINGS)
    return {"verdict": verifier(doc["q"], results[0], doc["a"]).score}
"""
JUDGE = """\
from ulmeval.api import OpenAIWrapper

OpenAIWrapper("m", api_base=URL, SETTINGS).generate([
    {"type": "image", "value": "a.png"}, {"type": "text", "value": "Which colour?"}
])
"""


@pytest.mark.needs_system("lmms_eval")
def test_a_verifier_that_parses_is_sure_of_what_it_could_parse(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(RULES)
    done = command("python", "script.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == CONFIDENT


@pytest.mark.needs_system("lmms_eval")
@pytest.mark.parametrize(
    ("settings", "said", "score"),
    [
        ("", "CORRECT", 1.0),
        ("response_format='score'", "7 of 10", 0.7),
        ("response_format='json', score_key='quality', score_range=(1, 5)", 'So: {"quality": 4}', 0.75),
        ("response_format='json'", '{"grade": 4}', None),
        ("response_format='json'", '{"score": NaN}', None),
        ("response_format='json'", '{"score": "nan"}', None),
        ("response_format='json'", '{"score": Infinity}', None),
        ("response_format='json', score_range=(1, 1)", '{"score": 1e999}', None),
        ("response_format='score'", "9" * 400, None),
    ],
)
def test_the_verifier_of_gemini_asks_the_judge(settings: str, said: str, score: float | None, tmp_path: Path) -> None:
    (tmp_path / "verified.yaml").write_text(TASK)
    (tmp_path / "own.py").write_text(GEMINI.replace("SETTINGS", settings))
    (tmp_path / "rows.jsonl").write_text('{"q": "one", "a": "red"}\n')
    judge = polymeter.ModelSpec("mock", "", {"answer": said})
    made = polymeter.evaluate(
        "mock", "verified", include_paths=[tmp_path], roles={"judge": judge}, output=tmp_path / "run"
    )
    (result,) = made.results["tasks"]["verified"]["results"]
    assert result["value"] == (None if score is None else pytest.approx(score))


@pytest.mark.needs_system("ulmeval")
@pytest.mark.parametrize(
    ("parity", "settings", "detail"),
    [
        ("ulmeval", "", {"detail": "low"}),
        ("ulmeval", "img_size=-1, img_detail='high'", {"detail": "high"}),
        ("none", "img_detail='high'", {}),
    ],
)
def test_a_judge_looks_at_images_as_closely_as_in_ulmevalkit(
    parity: str, settings: str, detail: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(png(size=(60, 40)))
    with OpenAIStub() as stub:
        (tmp_path / "script.py").write_text(JUDGE.replace("URL", repr(stub.base_url)).replace("SETTINGS", settings))
        done = command("python", "script.py", cwd=tmp_path, POLYMETER_PARITY=parity, OPENAI_API_KEY="k")
    assert done.returncode == 0, done.stderr
    (image,) = [part["image_url"] for part in stub.bodies[-1]["messages"][0]["content"] if "image_url" in part]
    assert {name: value for name, value in image.items() if name != "url"} == detail
