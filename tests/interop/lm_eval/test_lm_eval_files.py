"""lm-eval's files and table: the numbers that it states, its hashes, and a reader of its logs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import polymeter
from polymeter.core.text.json_text import json_text
from polymeter.interop.lm_eval.files.sample_lines import file_line, indented, line_text
from polymeter.interop.lm_eval.files.table import make_table
from polymeter.interop.lm_eval.models.base import LM_MODELS
from polymeter.interop.lm_family.files.names import hash_text
from tests.cli.kit import Typing
from tests.helpers.differences import difference
from tests.interop.lm_eval.house import ROWS, results, samples, write_house

pytestmark = pytest.mark.needs_system("lm_eval")
RUN = "lm-eval --model counts-letters --model_path model.py --include_path tasks -v WARNING --log_samples"
DOCUMENT = {
    "results": {
        "a": {"name": "a", "alias": "A", "sample_len": 3, "acc,none": 0.5, "acc_stderr,none": 0.25, "f1,x": 1},
        "g": {"name": "g", "alias": "grp", "acc,none": 0.5, "acc_stderr,none": "N/A", "sample_count": {"acc,none": 3}},
        "z": {"name": "z", "alias": "zzz", "ppl,none": 12.34567, "ppl_stderr,none": "N/A"},
    },
    "groups": {"g": {"name": "g", "alias": "grp", "acc,none": 0.5, "acc_stderr,none": "N/A"}},
    "versions": {"a": 1.0, "g": 2, "z": "Yaml"},
    "n-shot": {"a": 0, "g": 0, "z": 5},
    "higher_is_better": {"a": {"acc": True, "f1": None}, "g": {"acc": True}, "z": {"ppl": False}},
    "group_subtasks": {"g": ["a"]},
}
TABLE = """\
|Tasks|Version|Filter|n-shot|Metric|   | Value |   |Stderr|
|-----|-------|------|-----:|------|---|------:|---|------|
|grp  |2      |none  |     0|acc   |↑  | 0.5000|±  |   N/A|
| - A |1      |none  |     0|acc   |↑  | 0.5000|±  |0.2500|
|     |       |x     |     0|f1    |   | 1.0000|   |      |
|zzz  |Yaml   |none  |     5|ppl   |↓  |12.3457|±  |   N/A|"""


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LM_MODELS, "_models", dict(LM_MODELS._models))
    write_house(tmp_path)
    return Typing(tmp_path, capsys)


def test_the_table_has_members_below_their_group_and_arrows() -> None:
    assert make_table(DOCUMENT) == TABLE
    assert make_table(DOCUMENT, "groups").splitlines()[2:] == [
        "|grp   |      2|none  |     0|acc   |↑  |0.5000|±  |   N/A|"
    ]
    assert make_table({**DOCUMENT, "versions": {"a": 1.0, "g": "2.0", "z": "Yaml"}}) == TABLE, "a group's is a text"


def test_a_line_says_what_was_asked_answered_and_read(typing: Typing) -> None:
    assert typing(f"{RUN} --tasks says,choice,rolls --num_fewshot 1 --output_path out").code == 0
    line = samples(typing.folder / "out", "says")[0]
    prompt = line["arguments"]["gen_args_0"]["arg_0"]
    assert prompt.endswith("\n\nSay cat")
    assert line["arguments"]["gen_args_0"]["arg_1"] == {"until": ["\n"], "max_gen_toks": 5}
    assert (line["resps"], line["filtered_resps"], line["filter"]) == ([["I say cat"]], ["cat"], "last")
    assert (line["target"], line["exact_match"], line["metrics"]) == ("cat", 1.0, ["exact_match"])
    assert line["doc_hash"] == hash_text(json.dumps(ROWS[0], indent=2, ensure_ascii=False))
    assert (line["prompt_hash"], line["target_hash"]) == (hash_text(prompt), hash_text("cat"))
    choice = samples(typing.folder / "out", "choice")[0]
    assert choice["target"] == "1", "the number that its author's doc_to_target gives"
    assert choice["arguments"]["gen_args_1"]["arg_1"] == " yes"
    assert choice["resps"] == [[["-7.0", "False"]], [["-4.0", "True"]]]
    assert choice["filtered_resps"] == [["-7.0", "False"], ["-4.0", "True"]]
    rolls = samples(typing.folder / "out", "rolls")[0]
    assert (rolls["resps"], rolls["filtered_resps"]) == ([["-3.0"]], ["-3.0"])
    assert rolls["word_perplexity"] == [-3.0, 1], "pairs stay pairs"


CLASS = """\
from lm_eval.api.instance import Instance
from lm_eval.api.metrics import f1_score, mean
from lm_eval.api.task import ConfigurableTask


class Both(ConfigurableTask):
    CONFIG = {
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "FOLDER/rows.jsonl"}},
        "test_split": "test",
        "doc_to_text": "Say {{word}}",
        "doc_to_target": "{{word}}",
    }

    def __init__(self, config=None):
        super().__init__(config={})

    def construct_requests(self, doc, ctx, metadata=None, **kwargs):
        asked = [
            ("generate_until", {"until": ["\\n"]}),
            ("generate_until", {"until": ["."], "max_gen_toks": 5}),
            ("loglikelihood", " yes"),
        ]
        return [Instance(kind, doc, (ctx, more), idx, metadata=metadata) for idx, (kind, more) in enumerate(asked)]

    def process_results(self, doc, results):
        return {"said": float(doc["word"] in results[0]), "pair": (doc["short"], int(results[2][1]))}

    def aggregation(self):
        return {"said": mean, "pair": f1_score}

    def higher_is_better(self):
        return {"said": True, "pair": True}
"""


def test_a_line_of_a_class_has_each_of_its_requests_and_values(typing: Typing) -> None:
    tasks = typing.folder / "tasks"
    (tasks / "two_kinds.yaml").write_text("task: two_kinds\nclass: !function classes.Both\n", encoding="utf-8")
    (tasks / "classes.py").write_text(CLASS.replace("FOLDER", str(tasks)), encoding="utf-8")
    done = typing(f"{RUN} --tasks two_kinds --output_path out")
    assert done.code == 0, done.said
    line = samples(typing.folder / "out", "two_kinds")[0]
    assert line["arguments"] == {
        "gen_args_0": {"arg_0": "Say cat", "arg_1": {"until": ["\n"]}},
        "gen_args_1": {"arg_0": "Say cat", "arg_1": {"until": ["."], "max_gen_toks": 5}},
        "gen_args_2": {"arg_0": "Say cat", "arg_1": " yes"},
    }
    assert line["resps"] == [["I say cat"], ["I say cat"], [["-4.0", "True"]]]
    assert line["filtered_resps"] == ["I say cat", "I say cat", ["-4.0", "True"]]
    assert (line["metrics"], line["said"], line["pair"]) == (["said", "pair"], 1.0, [1, 1])
    assert line["target"] == "cat"


def test_the_document_has_every_part(typing: Typing) -> None:
    assert typing(f"{RUN} --tasks both,rolls --output_path out/run.json").code == 0
    (file,) = (typing.folder / "out").glob("run_*.json")
    document = json.loads(file.read_text())
    assert list(document["results"]) == ["choice", "says", "rolls", "both"]
    assert document["group_subtasks"] == {"both": ["choice", "says"]}
    assert document["versions"] == {"both": "3", "choice": 2.0, "rolls": 1, "says": 1}, "a group's is a text there"
    assert document["n-shot"] == {"both": 0, "choice": 0, "rolls": 0, "says": 0}
    assert document["higher_is_better"]["both"] == {"acc": True, "acc_norm": True, "exact_match": True}
    assert document["results"]["both"]["sample_count"] == {"acc,none": 3}
    config = document["configs"]["says"]
    assert config["process_docs"].startswith("def as_they_are(dataset):\n")
    assert (config["target_delimiter"], config["repeats"], config["fewshot_config"]["sampler"]) == (" ", 1, "default")
    assert document["task_hashes"].keys() == {"choice", "says", "rolls"}
    assert document["model_source"] == "counts-letters"
    assert document["chat_template"] is None
    assert float(document["total_evaluation_time_seconds"]) >= 0


def test_errors_are_those_that_lm_eval_states(typing: Typing) -> None:
    assert typing(f"{RUN} --tasks both,rolls --output_path out").code == 0
    found = results(typing.folder / "out")["results"]
    assert found["choice"]["acc_stderr,none"] == pytest.approx((2 / 9 / 2) ** 0.5), "s / sqrt(n)"
    assert found["rolls"]["word_perplexity_stderr,none"] == "N/A"


def test_our_reader_of_its_logs_reads_them(typing: Typing) -> None:
    assert typing(f"{RUN} --tasks both --output_path out").code == 0
    (file,) = (path for path in (typing.folder / "out").rglob("results_*.json"))
    assert typing(f"import {file} --output imported").code == 0
    run = polymeter.open_run(typing.folder / "imported")
    assert run.value("says", "exact_match", filter="last") == 1.0


def test_a_task_of_another_system_is_written_too(typing: Typing) -> None:
    done = typing("lm-eval --model mock --tasks demo --limit 1 --output_path out --log_samples -v WARNING")
    assert done.code == 0, done.said
    document = results(typing.folder / "out")
    assert document["results"]["demo"]["alias"]
    for task in document["configs"]:
        (line,) = samples(typing.folder / "out", task)
        assert line["resps"] == [["mock"]]


def test_prompts_of_a_checkpoint_stand_in_its_template(typing: Typing) -> None:
    pytest.importorskip("torch")
    from tests.helpers.checkpoints import make_checkpoint

    place = make_checkpoint("llama", typing.folder / "tiny")
    done = typing(
        f"lm-eval --model hf --model_args pretrained={place},dtype=float32 --device cpu --include_path tasks "
        "--tasks says --apply_chat_template --limit 1 --output_path out --log_samples -v WARNING"
    )
    assert done.code == 0, done.said
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(place)
    turns = [{"role": "user", "content": "Say cat"}]
    prompt = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    document, line = results(typing.folder / "out"), samples(typing.folder / "out", "says")[0]
    assert line["arguments"]["gen_args_0"]["arg_0"] == prompt
    assert document["chat_template"] == tokenizer.chat_template
    assert document["chat_template_sha"] == hash_text(tokenizer.chat_template)
    assert document["tokenizer_eos_token"] == [tokenizer.eos_token, str(tokenizer.eos_token_id)]
    assert document["max_length"] == 512
    assert document["fewshot_as_multiturn"] is True


@difference("refused-system", here="", there="USER: Say cat")
def test_prompts_stand_in_a_template_that_refuses_the_system_message_as_they_were_sent(
    typing: Typing, parity: str, expected: str
) -> None:
    pytest.importorskip("torch")
    from tests.helpers.checkpoints import make_checkpoint

    place = make_checkpoint("llama", typing.folder / "tiny")
    file = place / "chat_template.jinja"
    refusal = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    file.write_text(refusal + file.read_text("utf-8"), "utf-8")
    done = typing(
        f"lm-eval --model hf --model_args pretrained={place},dtype=float32 --device cpu --include_path tasks "
        f"--tasks says --apply_chat_template --system_instruction Brief. --limit 1 --output_path out --log_samples "
        f"--parity {parity} -v WARNING"
    )
    if not expected:
        assert done.code == 1, done.said
        assert samples(typing.folder / "out", "says") == []
        return
    assert done.code == 0, done.said
    assert expected in samples(typing.folder / "out", "says")[0]["arguments"]["gen_args_0"]["arg_0"]


def test_an_answer_is_what_follows_the_end_of_thinking(typing: Typing) -> None:
    done = typing(
        "run --model mock --model-args answer=dog</reason>cat --tasks says --include-path lm-eval:tasks -q -o thought "
        "--limit 1 --dialect-option lm_eval.think_end_token=</reason>"
    )
    assert done.code == 0, done.said
    assert polymeter.open_run(typing.folder / "thought").value("says", "exact_match", filter="raw") == 1.0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(), items, max_size=3),
        max_leaves=8,
    )
)
def test_a_row_is_written_for_its_hash_as_the_encoder_of_python_indents_it(doc: Any) -> None:
    assert indented(doc) == json.dumps(doc, indent=2, ensure_ascii=False)


@pytest.mark.parametrize(
    "arguments",
    [
        [("Q: 1 \u2713 \ud800", " A"), ("Q: 1 \u2713 \ud800", " B")],
        [("Q: 1", " A"), ("Q: 2", " A")],
        [("Q", {"until": ["\n"], "top_p": math.nan}), ("Q", {"until": []})],
        [("alone",)],
        [],
    ],
)
def test_a_shared_context_is_written_as_often_as_it_is_asked(arguments: list[tuple[Any, ...]]) -> None:
    shared = arguments[0][0] if arguments else ""
    record = {
        "doc_id": 3,
        "doc": {"q": "1", "n": math.nan},
        "target": 1,
        "arguments": [tuple(shared if item == shared else item for item in each) for each in arguments],
        "resps": [[(-0.5, True)], [(-math.inf, False)]],
        "filtered_resps": [(-0.5, True), (-math.inf, False)],
        "filter": "none",
        "metrics": ["acc", "odd"],
        "doc_hash": "d",
        "prompt_hash": "p",
        "target_hash": "t",
        "acc": 1.0,
        "odd": math.nan,
    }
    assert line_text(record) == json_text(file_line(record), nan=None, is_compact=True)
