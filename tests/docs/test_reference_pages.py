"""The pages that are made from the code are up to date, complete and short."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from polymeter.core.names.parity import Stays, difference_tables
from polymeter.core.names.registries import METRICS
from polymeter.core.names.systems import System, systems
from polymeter.core.options import RunOptions
from polymeter.metrics.defaults import DEFAULT_METRICS
from polymeter.tasks.yaml.config import YamlFields
from scripts import differences, fields_page, metrics_page, options_page
from tests.helpers.metrics import VALUES

MADE = (
    pytest.param(fields_page, 1_200, id="fields.md"),
    pytest.param(metrics_page, 1_200, id="metrics.md"),
    pytest.param(options_page, 1_450, id="options.md"),
    pytest.param(
        differences,
        3_700,
        id="differences.md",
        marks=pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope", "ulmeval"),
    ),
)


@pytest.mark.parametrize(("script", "most_words"), MADE)
def test_a_page_is_up_to_date_and_short(script: ModuleType, most_words: int) -> None:
    assert script.page() == script.PAGE.read_text("utf-8"), f"Run: python -m {script.__name__}"
    assert len(script.page().split()) <= most_words


def rows(page: str, section: str) -> list[list[str]]:
    """The rows of the table under a heading, without its head."""
    body = page.split(f"\n## {section}\n", 1)[1].partition("\n## ")[0]
    lines = [line for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


@pytest.mark.parametrize("system", [one for one in systems() if one.differences], ids=lambda one: one.name)
def test_a_system_has_a_table_of_its_switches_and_a_list_of_the_rest(system: System) -> None:
    page = differences.page()
    records = [record for table in difference_tables(system) for record in table.rows]
    switched = [record for record in records if record.is_switched]
    assert [row[:2] for row in rows(page, system.title)] == [[f"`{one.switch}`", one.rule] for one in switched]
    listed = page.split(f"\n## {system.title}\n", 1)[1].partition("\n## ")[0]
    for record in records:
        if isinstance(record.switch, Stays) and record.switch is not Stays.SAME:
            below = listed.split(f"- *{record.switch}*\n", 1)[1].partition("\n- *")[0]
            assert f"    - {record.rule}: {record.there} → {record.here}" in below


def test_the_metrics_have_the_values_and_defaults_of_the_code() -> None:
    page = metrics_page.page()
    for output_type, names in DEFAULT_METRICS.items():
        listed = rows(page, f"`{output_type}`")
        shown = {name: row[1] for row in listed for name in re.findall(r"`([^`]+)`", row[0])}
        expected = {name: value for (name, kind), value in VALUES.items() if kind == output_type}
        assert {name: value for name, value in shown.items() if name in expected} == expected
        assert all(METRICS.get(name).name in expected for name in shown)
        default = " and ".join(f"`{name}`" for name in names) or "none"
        assert page.split(f"\n## `{output_type}`\n\n", 1)[1].startswith(f"Default: {default}.")


def test_other_names_and_arguments_of_a_metric_are_shown() -> None:
    shown = {row[0]: row for row in rows(metrics_page.page(), "`generate_until`")}
    assert "`mcc`, `matthews_corrcoef`" in shown
    assert "`ignore_case`" in shown["`exact_match`"][3]
    assert shown["`cer` ↓"][3] == "`fold_width`"


def test_every_field_has_its_type_default_and_meaning() -> None:
    page = fields_page.page()
    sections = re.findall(r"^## (.+)$", page, re.M)[:-1]
    listed = {row[0].strip("`"): row[1:] for section in sections for row in rows(page, section)}
    assert set(listed) == {info.alias or name for name, info in YamlFields.model_fields.items()}
    assert all(kind and meaning for kind, _, meaning in listed.values())
    assert listed["task"][1] == "required"
    assert listed["repeats"][:2] == ["integer", "`1`"]
    assert listed["target_delimiter"][:2] == ["string", '`" "`']
    assert listed["metric_list"][0] == "list"
    assert listed["doc_to_text"][0] == "form"
    assert "`loglikelihood`" in listed["output_type"][2]


def test_every_option_of_a_run_is_listed_once() -> None:
    page = options_page.page()
    sections = ("Options that can change results", "Options that cannot")
    listed = [row[0].split("`")[1] for section in sections for row in rows(page, section)]
    assert sorted(listed) == sorted(RunOptions.model_fields)
    assert "|`batch_size`|" in page
    assert "|`generation`, `--gen-kwargs`|" in page
    assert "|`offset`, no flag|" in page
