"""What a template may do, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.tasks.yaml.prompts import sandbox
from polymeter.tasks.yaml.prompts.templates import compile_template

ROW: dict[str, Any] = {"a": "xyz", "l": [1, 2], "d": {"_id": 7}, "id": 262_148_000, "long": "x" * 2_000_000}


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
        ("{{ l | join('\n----------------\n') }}", "1\n----------------\n2"),
        ("{{ l | map('string') | join('----------------') }}", "1----------------2"),
        ("{{ range(3) | map('string') | list }}{{ l ~ a ~ none }}", "['0', '1', '2'][1, 2]xyzNone"),
        ("{% for x in l | reverse %}{{ loop.index }}/{{ loop.length }}:{{ x }}{% endfor %}", "1/2:22/2:1"),
        (
            "{% for k, v in d.items() %}{{ k }}={{ v }}{% else %}-{% endfor %}{% for x in [] %}{% else %}-{% endfor %}",
            "_id=7-",
        ),
        ("{{ b | default(99999999) }}{{ 'x' | int(99999999) }}", "9999999999999999"),
        ("{{ [3, 1] | sort | tojson }}{{ [3, 1] | sum }}{{ d | tojson(indent=2) | length }}", "[1, 3]414"),
        ("{{ a + 'b' }}{{ l + [3] }}{{ 1 + 2 }}{{ 1.5 + 1 }}", "xyzb[1, 2, 3]32.5"),
        ("{% macro f(obj) %}<{{ obj }}>{% endmacro %}{{ f(obj=a) }}", "<xyz>"),
    ],
)
def test_allowed(text: str, rendered: str) -> None:
    assert render(text) == rendered


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        # A large number is a value, not a size.
        ("{{ 'Q%d' | format(id) }}{{ '%s' | format(id) }}{{ 'Q%d' % id }}", "Q262148000262148000Q262148000"),
        ("{{ '{}'.format(id) }} {{ '{:,}'.format(id) }} {{ [id].index(id) }}", "262148000 262,148,000 0"),
        ("{{ l | sum(start=id) }}{{ a | replace('x', id) }}", "262148003262148000yz"),
        ("{{ a.startswith('x', 0, id) }}{{ a.split('y', id) }}", "True['x', 'z']"),
        # Long text is searched for, not made.
        (
            "{{ long | regex_replace('(?i)question: what is a long pattern of sixty characters or so', '') == long }}",
            "True",
        ),
        ("{{ long | regex_replace('(x)$', '\\\\1y') | length }}", "2000001"),
        ("{{ long.replace('a question of sixty characters, or of some more than that', 'b') | length }}", "2000000"),
        (
            "{{ (long ~ '\n') | replace('\n', 'a separator of sixty characters, or of some more' ) | length }}",
            "2000048",
        ),
        ("{{ long.split('a question of sixty characters, or of some more than that') | length }}", "1"),
        ("{{ long.expandtabs(8) | length }}{{ long.translate({120: 'yy'}) | length }}", "20000004000000"),
        ("{{ 'A layout of some length: {} and {}'.format(long, l) | length }}", "2000036"),
        ("{{ ('A layout of some length: %s and %s' % (long, l)) | length }}", "2000036"),
        ("{{ long[:99] | wordwrap(80) | length }}{{ long | indent(4, first=true) | length }}", "1002000004"),
        # A text that grows piece by piece.
        (
            "{% set n = namespace(s='') %}{% for x in range(1500) %}{% set n.s = n.s ~ 'y' * 99 ~ '\n' %}{% endfor %}"
            "{{ n.s | length }}",
            "150000",
        ),
        (
            "{% set n = namespace(s='') %}{% for x in range(1500) %}{% set n.s = n.s + 'y' * 99 + '\n' %}{% endfor %}"
            "{{ n.s | length }}",
            "150000",
        ),
        # Widths within fields, also in a loop.
        ("{% for x in l %}{% set w = [5] %}{{ '{:>{}}'.format(x, w[0]) }}{% endfor %}", "    1    2"),
        ("{{ '{:{}}|{:>{w}}'.format(a, '<5', 'b', w=3) }}{{ '{a}'.format_map({'a': l}) }}", "xyz  |  b[1, 2]"),
        ("{{ 2.345 | round(1) }}{{ 1234 | round(-2, 'floor') }}", "2.31200.0"),
        # What captures text.
        ("{% set b %}{{ a }}!{% endset %}{% set c | upper %}{{ b }}{% endset %}{{ b ~ c }}", "xyz!XYZ!"),
        (
            "{% filter upper %}{{ a }}{% endfilter %}{% block b scoped %}{{ a }}{% endblock %}{{ self.b() }}",
            "XYZxyzxyz",
        ),
        ("{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}{{ a }}{% endcall %}", "<xyz>"),
        ("{% for x in [1, [2, 3]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}", "123"),
        ("{{ ','.join(l | map('string')) }}{{ d.items() | list }}{{ d.keys() }}", "1,2[('_id', 7)]dict_keys(['_id'])"),
        ("{{ [[1], {'b': [2]}] | tojson(indent=2) | length }}{{ [[1]] | pprint }}", "51[[1]]"),
    ],
)
def test_what_makes_little_is_allowed_whatever_it_reads(text: str, rendered: str) -> None:
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
        "{{ lipsum() }}",
        "{{ lipsum(n=3000000) }}",
        "{{ 'a'.center(10**10) }}",
        "{{ (1).to_bytes(10**9, 'big') }}",
        "{{ ('\\t' * 1000000).expandtabs(1000000) }}",
        "{{ ('\\n' * 1000000) | indent(1000000) }}",
        "{{ ([[1] * 1000] * 1000) | tojson(indent=1000000) }}",
        "{{ (a * 1000000).join(['x'] * 1000000) }}",
        "{{ range(1000000) | join(a * 1000000) }}",
        "{{ range(10**9) | list }}",
        "{{ l | map('replace', '1', a * 3000000) | map('replace', 'x', a) | map('replace', 'y', a) | list }}",
        "{{ [a * 3000000] * 1000 }}",
        "{{ ([a * 3000000] * 1000) | join }}",
        "{{ ([a * 3000000] * 1000) | string | length }}",
        "{{ ([a * 3000000] * 1000) ~ a }}",
        "{{ ([[1] * 1000000] * 1000) | sum(start=[]) }}",
        "{{ '%(x)9999999d' | format(x=1) }}",
        "{{ ('%9999d' * 10000) | format(*([1] * 10000)) }}",
        "{{ '%.9999999f' % 1.5 }}",
        "{{ ('{0:{1}}' * 10000).format(a, 10000) }}",
        "{{ ('{0:9999}' * 10000).format(a) }}",
        "{% set n = namespace(x=a) %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x=a) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x=l) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x=[]) %}{% for i in range(99) %}{% set n.x = n.x + [a * 3000000] %}{% endfor %}",
        "{% set t = a * 9999 %}{% for x in t %}{% for y in t %}{% endfor %}{% endfor %}",
        "{{ '%0*d' | format(10**9, 1) }}",
        "{% for i in [1] recursive %}{{ loop(range(1000000)) if loop.depth < 3 }}{% endfor %}",
        "{% for i in [1] recursive %}{{ loop(iterable=range(1000000)) if loop.depth < 3 }}{% endfor %}",
        "{% for i in range(99) %}{% block b scoped %}{% for j in range(99999) %}{% endfor %}{% endblock %}{% endfor %}",
        "{{ 5 | round(100000000, 'ceil') }}",
        "{{ 5 | round(-300000000) }}",
        "{{ 5 | round(precision=1001) }}",
        "{% set b %}{{ long }}{{ long }}{% endset %}{% set c %}{{ b }}{{ b }}{{ b }}{% endset %}",
        "{% set n = namespace(x=[]) %}{% for i in range(99) %}{% set b %}{{ long }}{{ i }}{% endset %}{% endfor %}",
        "{% set b | default('') %}{% for i in range(9) %}{{ long }}{% endfor %}{% endset %}",
        "{% macro m() %}{% for i in range(9) %}{{ long }}{% endfor %}{% endmacro %}{{ m() | length }}",
        "{% filter length %}{% for i in range(9) %}{{ long }}{% endfor %}{% endfilter %}",
        "{% block b %}{{ long }}{{ long }}{{ long }}{{ long }}{{ long }}{% endblock %}{{ self.b() }}",
        "{% block b %}{% for i in range(9) %}{{ long }}{% endfor %}{% endblock %}{{ self.b() | length }}",
        "{{ ('%(a)s' * 300) % {'a': long} }}",
        "{{ ('%(a)s' * 300) | format(a=long) }}",
        "{{ ('%(a)s' * 300).encode() % {'a'.encode(): long.encode()} }}",
        "{{ '%(a(b))999999999d' % {'a(b)': 1} }}",
        "{% set b = [long] %}{% for i in range(1) %}{% set b = [b, b] %}{{ '%s' % [b, b, b] }}{% endfor %}",
        "{{ long.join(range(300) | map('string')) }}",
        "{{ ('{0}' * 300).format([long]) }}",
        "{{ ('{0[0]}' * 300).format([long]) }}",
        "{{ ('{a}' * 300).format_map({'a': long}) }}",
        "{{ '{a:>{w}}'.format_map({'a': '', 'w': 1200000000}) }}",
        "{{ '{0:>{1[0]}}'.format('', [1200000000]) }}",
        "{{ '{:>{}}'.format('', '1200000000') }}",
        "{{ '{:>{}}'.format('', 1200000000.0) }}",
        "{{ '{0[}]:>1200000000}'.format({'}': ''}) }}",
        "{% set n = namespace(w=1200000000) %}{{ '{0:>{1.w}}'.format('', n) }}",
        "{% set n = namespace(x=[long]) %}{% set n.x = [n.x, n.x, n.x, n.x, n.x, n.x] %}{{ n }}",
        "{% set b = {'b': [long, long, long]} %}{{ [b.values(), b.items()] }}",
        "{{ long.translate({120: long}) }}",
        "{{ long | regex_replace('x', 'y' * 100) }}",
        "{{ ('x' * 20000) | regex_replace('(?=(.*))', '\\\\1') }}",
        "{{ ('x ' * 1000) | wordwrap(1, wrapstring=long) }}",
        "{{ ('\n' * 1000) | indent(long) }}",
        "{{ ('a.org ' * 1000) | urlize(target=long) }}",
        "{% set n = namespace(x=1) %}{% for i in range(300) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x | tojson(999) }}",
        "{% set n = namespace(x=[]) %}{% for i in range(99) %}{% set n.x = n.x + [long ~ i] %}{% endfor %}"
        "{% for i in range(999) %}{% set n.x = n.x + [long ~ i] %}{% endfor %}",
        "{% set d = dict(range(100000) | batch(2)) %}{% for i in range(999) %}{% set e = dict(d) %}{% endfor %}",
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


@pytest.mark.parametrize(
    "text",
    [
        "{% for x in a * 99 %}{% for y in range(99) | map('string') %}{% endfor %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% for x in [[[], []] * 50] * 50 recursive %}{{ loop(x) }}{% endfor %}",
    ],
)
def test_steps_of_all_kinds_are_counted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MAX_STEPS", 1000)
    with pytest.raises(DataError, match="is not allowed: its loops have more than 1,000 steps"):
        render(text)
