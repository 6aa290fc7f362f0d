"""Files of EvalScope 1.x's adapters, read and checked without running them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polymeter.catalog.listing import check_path
from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Root
from polymeter.interop.evalscope.v1.tasks import index as index_1x
from polymeter.interop.evalscope.v1.tasks.reading import read_file
from tests.helpers.adapters_1x import HEAD, write_adapter

RUNS = 'raise SystemExit("this file has been run")\n'


def written(folder: Path, text: str, name: str = "made_adapter.py") -> Path:
    path = folder / name
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def problems(path: Path) -> list[str]:
    return [problem.message for problem in check_path(path)]


def test_what_is_literal_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        f"""{RUNS}
from evalscope.constants import Tags
from evalscope.utils.multi_choices import MultipleChoiceTemplate
HEADING = '''
Answer.
'''.lstrip()
METRICS = [{{'acc': {{}}}}]
META = BenchmarkMeta('geo', 'org/geo', tags=[Tags.QA], prompt_template=HEADING + '{{question}}', metric_list=METRICS)


@register_benchmark(META)
class Geo(DefaultDataAdapter):
    pass


@register_benchmark(BenchmarkMeta(name='mcq', dataset_id=make(), prompt_template=MultipleChoiceTemplate.SINGLE_ANSWER))
class Mcq(DefaultDataAdapter):
    pass
""",
    )
    geo, mcq = read_file(path).registrations
    assert dict(geo.values) == {
        "name": "geo",
        "dataset_id": "org/geo",
        "tags": ["QA"],
        "prompt_template": "Answer.\n{question}",
        "metric_list": [{"acc": {}}],
    }
    assert geo.adapter is not None
    assert geo.adapter.name == "Geo"
    assert (mcq.name, mcq.values["dataset_id"], mcq.written["dataset_id"]) == ("mcq", "?", "make()")
    assert "one of {letters}" in mcq.values["prompt_template"]


def test_benchmarks_are_listed_and_described_without_running(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, pretty_name="Capitals", tags=["Geo"], description="Capital cities.", file="any.py")
    path.write_text(path.read_text() + RUNS)
    catalog = index_1x.index([Root(tmp_path)])
    (entry,) = catalog
    assert (entry.name, entry.alias, entry.tags, entry.format) == ("capitals", "Capitals", ("Geo",), "adapter_1x")
    described = {key: value for key, value, _ in index_1x.describe(entry)}
    assert described["metric_list"] == ["exact_match"]
    assert index_1x.load(entry, catalog).tasks[0].source_hash
    assert not index_1x.index([Root(tmp_path, is_user=False)]).entries, "elsewhere only *_adapter.py counts"


@pytest.mark.parametrize("base", ["AgentAdapter", "AgentLoopAdapter", "BrowserGymAdapter"])
def test_files_for_agents_are_named_with_what_is_missing(base: str, tmp_path: Path) -> None:
    path = write_adapter(tmp_path, base=base)
    (problem,) = index_1x.index([Root(tmp_path)]).problems
    assert (problem.file, problem.names) == (path, ("capitals",))
    assert problem.message.startswith(f"This is written for EvalScope 1.x's agents: its {base} ")
    assert "does not run the loops of EvalScope's agents" in problem.message
    assert problems(path) == [problem.message]


def test_files_that_check_one_answers_calls_are_no_agents(tmp_path: Path) -> None:
    catalog = index_1x.index([Root(write_adapter(tmp_path, base="FunctionCallAdapter"))])
    assert not catalog.problems
    assert catalog.entries.keys() == {"capitals"}


def test_a_collection_is_named_as_such(tmp_path: Path) -> None:
    (message,) = problems(write_adapter(tmp_path, name="data_collection"))
    assert message.startswith("This name belongs to Polymeter's own benchmark")


def test_agents_are_known_by_their_imports(tmp_path: Path) -> None:
    path = write_adapter(tmp_path)
    path.write_text("from evalscope.agent.tools.bash import BASH_TOOL\n" + path.read_text())
    (problem,) = index_1x.index([Root(tmp_path)]).problems
    assert "it uses evalscope.agent.tools.bash" in problem.message


def test_code_of_models_is_known_by_the_sandbox(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, base="CodeExecutionSandboxMixin, DefaultDataAdapter")
    catalog = index_1x.index([Root(path)])
    assert index_1x.load(catalog.entries["capitals"], catalog).tasks[0].runs_generated_code


def test_a_name_twice_in_a_file(tmp_path: Path) -> None:
    path = write_adapter(tmp_path)
    text = path.read_text()
    path.write_text(text + "\n\n" + text.removeprefix(HEAD))
    catalog = index_1x.index([Root(path)])
    with pytest.raises(PlanError, match="registers 'capitals' 2 times"):
        index_1x.load(catalog.entries["capitals"], catalog)
    assert "2 times" in problems(path)[0]


def test_a_name_in_two_files(tmp_path: Path) -> None:
    write_adapter(tmp_path, file="one.py")
    write_adapter(tmp_path, file="two.py")
    assert [file.name for file in index_1x.index([Root(tmp_path)]).clashes["capitals"]] == ["one.py", "two.py"]


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"metrik_list": []}, "BenchmarkMeta does not take 'metrik_list'. Did you mean 'metric_list'?"),
        ({"metric_list": ["exact_mach"]}, "There is no metric 'exact_mach'. Did you mean 'exact_match'?"),
        ({"metric_list": ["exact_match", "wer"]}, "2 metrics grade, and none is primary"),
        ({"primary_metric": "exact"}, "primary_metric 'exact' is not in metric_list"),
        ({"few_shot_num": 3}, "few_shot_num is 3, and the registration names no train_split"),
        ({"few_shot_num": -1}, "few_shot_num must be 0 or more"),
        ({"eval_split": None}, "The registration names no eval_split."),
        ({"evaluation_version": "1"}, "evaluation_version must be like 'v1.0'"),
    ],
)
def test_faults_are_found_without_running(meta: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_adapter(tmp_path, **meta)
    path.write_text(path.read_text() + RUNS)
    assert any(message in one for one in problems(path)), problems(path)


def test_a_sound_file_has_no_problems(tmp_path: Path) -> None:
    assert problems(write_adapter(tmp_path)) == []
