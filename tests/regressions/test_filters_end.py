"""A regular expression that backtracks without end costs one sample, which says which expression it was and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.regressions.test_bounded_scoring import rows_of, run, write

SLOW, QUICK = "a" * 60 + "!", "aaab"

FILTER = """\
filter_list:
  - name: found
    filter:
      - function: regex
        regex_pattern: '((?:a+)+b)'
      - function: take_first
metric_list: [{metric: exact_match}]
"""
CHOICES = """\
filter_list:
  - name: found
    filter:
      - function: multi_choice_regex
        regex_pattern: '((?:a+)+b)'
      - function: take_first
metric_list: [{metric: exact_match}]
"""
IGNORED = "metric_list: [{metric: exact_match, regexes_to_ignore: ['(?:a+)+b']}]\n"


@pytest.mark.parametrize("yaml", [FILTER, CHOICES, IGNORED], ids=["regex", "multi_choice_regex", "regexes_to_ignore"])
def test_a_pattern_that_never_ends_costs_one_sample(tmp_path: Path, yaml: str) -> None:
    write(tmp_path, [(SLOW, "aaab"), (QUICK, "aaab")], yaml)
    text = (tmp_path / "rows.jsonl").read_text().replace('"q0"', f'"{SLOW}"').replace('"q1"', f'"{QUICK}"')
    (tmp_path / "rows.jsonl").write_text(text.replace('"said"', '"choices": ["x"], "said"'))
    done = run(tmp_path, "--score-timeout", "1")
    assert done is not None, "the run hangs"
    assert done.returncode == 1, done.stderr
    first, second = rows_of(tmp_path)
    assert first["status"] == "unscored"
    assert "(?:a+)+b" in first["error"]["message"]
    assert "longer than 1 s" in first["error"]["message"]
    if "filter_list" in yaml:
        assert "task.yaml" in first["error"]["message"]
        assert second["scores"][0]["value"] == 1.0
    assert second["status"] == "ok"
