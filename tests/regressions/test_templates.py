"""A task file without functions is data: its templates read columns and write text, and do nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TASK = """\
task: capitals
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}}
test_split: test
doc_to_text: |-
  TEMPLATE
doc_to_target: capital
metric_list: [{metric: exact_match}]
"""
ESCAPES = [
    "{{ cycler.__init__.__globals__.os.popen('touch CANARY').read() }}",
    "{{ lipsum.__globals__['os'].popen('touch CANARY').read() }}",
    "{{ (lipsum|attr('__glo' ~ 'bals__'))['os'].popen('touch CANARY').read() }}",
    "{{ country['__cla' ~ 'ss__'].mro()[1].__subclasses__() }}",
    "{{ '{0.__class__.__mro__}'.format(country) }}",
]
FLOODS = [
    "{{ 'a' * 10**10 }}",
    "{{ country.ljust(10**10) }}",
    "{{ '%10000000000d' % 1 }}",
    "{{ 9**(9**9) }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% for i in range(99999) %}{{ country * 1000 }}{% endfor %}",
    "{{ lipsum(n=3000000) }}",
    "{% set n = namespace(x=country) %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x | length }}",
    "{% set n = namespace(x=country) %}{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x | length }}",
    "{{ ([country * 100000] * 100000) | join | length }}",
    "{{ ([country * 100000] * 100000) | string | length }}",
    "{{ (country * 100000).join(['x'] * 100000) | length }}",
    "{% set c = country * 9999 %}{% for a in c %}{% for b in c %}{% endfor %}{% endfor %}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(50) }}",
    "{% for i in [1] recursive %}{{ loop(range(1000000)) if loop.depth < 9 }}{% endfor %}",
    "{% for i in range(9999) %}{% block b scoped %}{% for j in range(99999) %}{% endfor %}{% endblock %}{% endfor %}",
    "{{ 5 | round(-3000000000) }}",
    "{% set a = country * 1000000 %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 12 + "{{ a | length }}",
    "{{ ('%(a)s' * 3000) % {'a': country * 1000000} }}",
    "{{ (country * 1000000).join(range(3000) | map('string')) | length }}",
    "{{ ('{0[0]}' * 3000).format([country * 1000000]) | length }}",
    "{{ '{a:>{w}}'.format_map({'a': '', 'w': 12000000000}) | length }}",
]


def polymeter(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, *words],
        cwd=folder,
        env={**os.environ, "POLYMETER_CACHE_DIR": str(folder / "cache"), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (25, 25))
from polymeter.cli.main import main
sys.exit(main())
"""


def told(folder: Path, ended: subprocess.CompletedProcess[str]) -> str:
    samples = folder / "out" / "samples" / "capitals.jsonl"
    return ended.stderr + (samples.read_text() if samples.exists() else "")


def task(folder: Path, template: str) -> Path:
    (folder / "capitals.csv").write_text("country,capital\nFrance,Paris\n")
    (folder / "capitals.yaml").write_text(TASK.replace("TEMPLATE", template))
    return folder


@pytest.mark.parametrize("template", ESCAPES)
def test_a_template_runs_no_code(template: str, tmp_path: Path) -> None:
    folder = task(tmp_path, template)
    ended = polymeter(folder, "run", "--model", "mock", "--tasks", "capitals.yaml", "--output", "out")
    assert not (folder / "CANARY").exists()
    assert ended.returncode in (1, 2)
    said = told(folder, ended)
    assert "doc_to_text" in said
    assert "capitals.yaml:5" in said
    assert "is not allowed" in said
    assert "!function" in said


@pytest.mark.parametrize("template", FLOODS)
def test_a_template_cannot_fill_the_memory_or_loop_for_ever(template: str, tmp_path: Path) -> None:
    folder = task(tmp_path, template)
    ended = polymeter(folder, "run", "--model", "mock", "--tasks", "capitals.yaml", "--output", "out")
    assert ended.returncode in (1, 2)
    assert "is not allowed" in told(folder, ended)


def test_check_names_file_and_expression_without_rendering(tmp_path: Path) -> None:
    folder = task(tmp_path, ESCAPES[0])
    ended = polymeter(folder, "check", "capitals.yaml")
    assert ended.returncode == 2
    assert "capitals.yaml:5: The template of doc_to_text is not allowed: it uses '__globals__'" in ended.stdout
    assert not (folder / "CANARY").exists()


@pytest.mark.control
def test_ordinary_templates_render_as_before(tmp_path: Path) -> None:
    template = "{% for i in range(3) %}{{ i }}{% endfor %}{{ country | upper }}{{ '%s-%02d' | format(capital, 7) }}"
    template += "{% if country is defined %}{{ country.split('a') | join('-') }}{{ 'x' * 3 }}{% endif %}"
    folder = task(tmp_path, template)
    ended = polymeter(folder, "check", "capitals.yaml", "--prompts", "1")
    assert "012FRANCEParis-07Fr-ncexxx" in ended.stdout


def test_large_numbers_and_long_texts_are_no_floods(tmp_path: Path) -> None:
    template = "{{ 'Q%d' | format(262148000) }} {{ '{:,}'.format(262148000) }} "
    template += "{% set ns = namespace(s='') %}{% for i in range(1500) %}{% set ns.s = ns.s ~ country * 16 ~ '-' %}"
    template += "{% endfor %}{{ ns.s | length }} {% set c = country * 300000 %}"
    template += (
        "{{ c | regex_replace('(?i)question: what is the long pattern of sixty characters or so', '') | length }}"
    )
    folder = task(tmp_path, template)
    ended = polymeter(folder, "check", "capitals.yaml", "--prompts", "1")
    assert "Q262148000 262,148,000 145500 1800000" in ended.stdout
