"""What a template may do, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.formats.task_yaml.templates import compile_template

ROW: dict[str, Any] = {"a": "xyz", "l": [1, 2], "d": {"_id": 7}}


def render(text: str) -> str:
    return compile_template(text, ROW, field="doc_to_text", where="x.yaml:3")(ROW)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{{ d._id }}{{ d['_id'] }}", "77"),
        ("{% set ns = namespace(x=1) %}{% set ns.x = 2 %}{{ ns.x }}", "2"),
        ("{% for x in range(0, -3, -1) %}{{ x }}{% endfor %}", "0-1-2"),
        ("{{ l | batch(2) | list }}{{ a | center(5) }}|{{ a | indent(2) }}", "[[1, 2]] xyz |xyz"),
        ("{{ '{:>5}|{}'.format(a, 3) }}{{ '%5s|%%' % a }}", "  xyz|3  xyz|%"),
        ("{{ 2 ** 10 }}{{ 7 % 4 }}{{ 3 * 1.5 }}{{ [1] * 2 }}", "102434.5[1, 1]"),
        ("{{ (a * 1000000) | length }}", "3000000"),
        ("{% macro f(obj) %}<{{ obj }}>{% endmacro %}{{ f(obj=a) }}", "<xyz>"),
    ],
)
def test_allowed(text: str, rendered: str) -> None:
    assert render(text) == rendered


@pytest.mark.parametrize("text", ["{{ a.__class__ }}", "{{ a['__class__'] }}", "{{ a | attr('__class__') }}"])
def test_names_of_pythons_inside_are_refused_before_anything_is_rendered(text: str) -> None:
    with pytest.raises(PlanError, match="it uses '__class__'"):
        compile_template(text, ROW, field="doc_to_text", where="x.yaml:3")


@pytest.mark.parametrize(
    "text",
    [
        "{{ a['__cla' ~ 'ss__'] }}",
        "{{ l.append(3) }}",
        "{{ '{:>99999999999}'.format(a) }}",
        "{{ a | center(10**10) }}",
        "{{ (a * 1000000) | replace('x', 'yyyyyyyyyy' * 1000000) }}",
        "{{ lipsum(n=10**9) }}",
        "{{ '%0*d' | format(10**9, 1) }}",
    ],
)
def test_refused_when_rendered(text: str) -> None:
    with pytest.raises(DataError, match="is not allowed") as caught:
        render(text)
    assert caught.value.where == "x.yaml:3"


def test_each_rendering_has_its_own_steps() -> None:
    text = "{% for i in range(600000) %}{% endfor %}done"
    template = compile_template(text, ROW, field="doc_to_text", where="x.yaml:3")
    assert [template(ROW), template(ROW)] == ["done", "done"]
