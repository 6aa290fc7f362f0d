"""Pieces of the suite against EvalScope 1.x that need no EvalScope: its judge, its collections, its further cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.comparing import Difference
from conformance.evalscope_1.endpoint import judged
from conformance.evalscope_1.mixtures import COLLECTION, mixtures, names_of_mixtures, note_collection
from conformance.evalscope_1.suite import EXPECTED
from conformance.frame import Observation

CONTRACT = 'Reply with JSON.\n- "score": a number >= 0 and <= 4\n'


def test_a_judge_of_images_sees_them() -> None:
    assert judged("judge", CONTRACT, [["image_url", "aa"]]) == judged("judge", CONTRACT, [["image_url", "aa"]])
    assert len({judged("judge", CONTRACT, [["image_url", f"{number}"]]) for number in range(20)}) > 1


def test_a_collection_needs_rows_of_all_its_benchmarks() -> None:
    names = dict(names_of_mixtures())
    book: dict[str, Any] = {
        name: {"answers": {}, "args": {"few_shot_num": 0}} for within in names.values() for name in within
    }
    made = {case["name"]: case for case in mixtures(book)}
    assert made.keys() == names.keys()
    drawn = json.dumps(made[f"{COLLECTION}@weighted"]["drawn"])
    assert drawn.count('"few_shot_num": 0') == len(names[f"{COLLECTION}@weighted"])
    book["ai2d"] = {"failure": "no rows"}
    assert f"{COLLECTION}@images" not in {case["name"] for case in mixtures(book)}


def test_what_a_sampler_drew_and_its_means_are_compared(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    levels = {"tag_level": [{"tags": "en", "micro_avg.": 0.5, "count": 2}]}
    (tmp_path / "m" / "collection_detailed_report.json").write_text(json.dumps(levels))
    observed = Observation(f"{COLLECTION}@weighted", "right")
    prompt = {"input": [{"id": "0a1b2c3d", "role": "user"}]}
    note_collection(observed, [{"index": 3, "weight": 0.5, "prompt": prompt}], tmp_path)
    assert observed.values == {"tag_level en micro_avg.": 0.5, "tag_level en count": 2}
    assert observed.samples["entry 3"] == {"index": 3, "weight": 0.5, "prompt": '{"input": [{"role": "user"}]}'}


def test_a_case_that_runs_in_evalscope_alone_is_no_verdict_that_differs() -> None:
    for way in ("rambles", "recall"):
        failed = Difference(f"gsm8k@{way}", "all", "failure", "runs", "AttributeError")
        assert not any(rule.covers(failed) for rule in EXPECTED)
