"""The published benchmarks of the library: their scores are those of the official scorers, without a network."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import polymeter
from polymeter.core.media.showing import read_showing
from polymeter.core.names.catalog import Catalog
from polymeter.models.mock import MockModel
from polymeter.run.plan.selection import build_catalog, select
from tests.library.published.kit import NAMES, cases_of, code_of, write_data


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return build_catalog([], None)


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_official_scorer(name: str, tmp_path: Path, catalog: Catalog) -> None:
    given = cases_of(name)
    spec = select([given["task"]], catalog).tasks[0]
    data = write_data(tmp_path / "data", name, spec.config["test_split"])
    for kind in ("answer", "reply"):
        told = {str(number): case.get(kind, "") for number, case in enumerate(given["rows"])}
        (tmp_path / f"{kind}.json").write_text(json.dumps(told))
    has_judge = "reply" in given["rows"][0]
    run = polymeter.evaluate(
        MockModel(answers=str(tmp_path / "answer.json")),
        [given["task"]],
        roles={"judge": MockModel(answers=str(tmp_path / "reply.json"))} if has_judge else {},
        data={given["data"]: str(data)},
        output=tmp_path / "run",
    )
    result = run.results["tasks"][given["task"]]
    assert result["n_scored"] == sum(case["score"] is not None for case in given["rows"])
    got = {one["metric"]: one["value"] for one in result["results"]}
    for metric, value in given["expected"].items():
        assert got[metric] == pytest.approx(value, abs=given.get("tolerance", 1e-8)), metric
    assert any("protocol" in note for note in run.results["notes"]), "the rows are fewer than the protocol states"


@pytest.mark.parametrize("name", [name for name in NAMES if "answer" in cases_of(name)["rows"][0]])
def test_each_answer_alone_has_the_official_score(name: str) -> None:
    given = cases_of(name)
    code = code_of(given["folder"])
    for case in given["rows"]:
        if "reply" in case:
            continue
        value = code.process_results(case["row"], [case["answer"]])[given["metric"]]
        assert (value["score"] if isinstance(value, dict) else value) == case["score"], case


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_states_where_it_was_read(name: str, catalog: Catalog) -> None:
    protocol = select([cases_of(name)["task"].partition("@")[0]], catalog).tasks[0].protocol
    assert protocol is not None
    for source in protocol.source:
        repository, _, rest = source.partition("@")
        commit, _, path = rest.partition(":")
        assert repository.count("/") == 1
        assert len(commit) == 40
        assert path
    for fact in ("version", "source", "parser", "judge", "shown", "token_limit", "licence", "reference"):
        assert getattr(protocol, fact), f"{fact} is 'unknown' where it was not read"
    assert isinstance(protocol.expected_rows, int)
    assert not getattr(protocol.reference, "reproduced", False), "no run gave the published number"


@pytest.mark.parametrize("name", NAMES)
def test_a_task_shows_what_its_protocol_states(name: str, catalog: Catalog) -> None:
    spec = select([cases_of(name)["task"]], catalog).tasks[0]
    assert spec.protocol is not None
    shown = spec.protocol.shown
    stated: dict[str, dict[str, object]] = {}
    if frames := re.search(r"(\d+) frames at int\(i \* n / (\d+)\)", shown):
        assert int(frames[2]) == int(frames[1]) + 1
        stated["video"] = {"rule": "inner", "frames": int(frames[1])}
    if " as PNG" in shown:
        stated["image"] = {"format": "png"}
    assert not re.search(r"as JPEG(?!, which this task does not)", shown), "no rule for video has a format"
    media = {kind: spec.config.get(kind) for kind in ("video", "image", "audio")}
    assert read_showing(media, spec.name).stated() == stated
