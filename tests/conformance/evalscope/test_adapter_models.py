"""The same benchmark on a model of this machine, an endpoint, and a wrapper written for lmms-eval, without a change."""

from pathlib import Path

import pytest

from tests.conformance.evalscope.mmlu_pro_data import rows, write
from tests.conformance.kit import evaluate, guests_of
from tests.helpers.openai_stub import OpenAIStub, chat

FOLDER = guests_of("evalscope") / "adapter_mmlu_pro"
WRAPPER = """
class Knows(lmms):
    def generate_until(self, requests):
        found = []
        for context, kwargs, doc_to_visual, doc_id, task, split in (one.args for one in requests):
            assert doc_to_visual(self.task_dict[task][split][doc_id]) == []
            assert kwargs["max_new_tokens"] == 512 and context.startswith("The following are")
            found.append(f"The answer is ({self.task_dict[task][split][doc_id]['answer']}).")
        return found

    def loglikelihood(self, requests):
        found = []
        for context, target, doc_to_visual, doc_id, task, split in (one.args for one in requests):
            is_right = target == self.task_dict[task][split][doc_id]["answer"]
            found.append((-1.0 if is_right else -5.0, is_right))
        return found

    def generate_until_multi_round(self, requests):
        raise NotImplementedError
"""


@pytest.fixture
def data(tmp_path: Path) -> dict[str, str]:
    return {"modelscope/MMLU-Pro": str(write(tmp_path / "data"))}


def mode(name: str) -> dict[str, object]:
    return {"adapter": {"dataset_args": {"mmlu_pro": {"model_adapter": name}}}}


def test_an_endpoint_answers_in_text(tmp_path: Path, data: dict[str, str]) -> None:
    golds = {row["question"]: row["answer"] for row in rows("test", {"computer science": 4, "math": 3})}

    def respond(received):
        text = received.body["messages"][-1]["content"] if received.raw else ""
        text = text if isinstance(text, str) else text[0]["text"]
        return chat(f"The answer is ({golds.get(text.rpartition('Q: ')[2].partition(chr(10))[0], 'A')}).")

    with OpenAIStub(respond) as stub:
        run = evaluate(tmp_path, FOLDER, "mmlu_pro", "openai:stub", model_args={"base_url": stub.base_url}, data=data)
        settings = {
            (body.get("temperature"), body.get("max_completion_tokens", body.get("max_tokens"))) for body in stub.bodies
        }
    assert run.value("mmlu_pro", "AverageAccuracy") == 1.0
    assert (0.0, 2048) in settings, "the defaults of a service"
    assert (run.folder.artifacts / "reports/stub/mmlu_pro.json").is_file()


@pytest.mark.needs_system("lmms_eval")
@pytest.mark.parametrize("name", ["generation", "multiple_choice_logits"])
def test_a_wrapper_of_lmms_eval_sees_the_record_as_its_row(tmp_path: Path, data: dict[str, str], name: str) -> None:
    file = tmp_path / "knows.py"
    file.write_text(WRAPPER)
    run = evaluate(tmp_path, FOLDER, "mmlu_pro", "lmms", model_path=str(file), data=data, dialect_options=mode(name))
    assert run.value("mmlu_pro", "AverageAccuracy") == 1.0


@pytest.mark.parametrize("name", ["generation", "multiple_choice_logits"])
def test_a_model_of_this_machine(tmp_path: Path, data: dict[str, str], name: str) -> None:
    pytest.importorskip("torch")
    told = {"num_fewshot": 0, "limit": 1, "generation": {"max_new_tokens": 4}}
    run = evaluate(tmp_path, FOLDER, "mmlu_pro", "tiny_vlm", data=data, dialect_options=mode(name), **told)
    task = run.results["tasks"]["mmlu_pro"]
    assert (task["n_samples"], task["n_scored"]) == (2, 2)
