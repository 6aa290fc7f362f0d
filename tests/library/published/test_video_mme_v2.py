"""Video-MME-v2: groups of four questions."""

from __future__ import annotations

import math

import pytest

from tests.library.published.kit import cases_of, code_of


def test_a_group_with_a_failed_sample_has_no_score() -> None:
    videos = code_of("video_mme_v2")
    rows = cases_of("video_mme_v2")["rows"]
    records = [videos.process_results(case["row"], [case["answer"]])["total"] for case in rows]
    assert videos.total(records[:4]) == 100.0
    assert videos.total(records[:7]) == pytest.approx(videos.total(records[:4]))


def test_without_a_whole_group_there_is_no_value() -> None:
    videos = code_of("video_mme_v2")
    rows = [case for case in cases_of("video_mme_v2")["rows"] if case["row"]["group_type"] == "relevance"]
    records = [videos.process_results(case["row"], [case["answer"]])["total"] for case in rows]
    assert math.isnan(videos.logic_score(records))
    assert not math.isnan(videos.relevance_score(records))
    assert math.isnan(videos.total(records[:3]))
    assert math.isnan(videos.level_1(records[:3]))
