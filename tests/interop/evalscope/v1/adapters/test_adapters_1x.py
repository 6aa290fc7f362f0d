"""Classes of adapters of EvalScope 1.x, and their mixtures. ``seen.json`` holds what EvalScope 1.14.1 gives for the
same input.
"""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from pydantic import BaseModel

from polymeter.core.errors import DataError, PlanError, UnscoredError
from polymeter.core.guest_context import guest_context_with
from polymeter.interop.evalscope.v1.adapters.agents import AgentLoopAdapter, BrowserGymAdapter
from polymeter.interop.evalscope.v1.adapters.audio import AudioLanguageAdapter
from polymeter.interop.evalscope.v1.adapters.decision import DecisionAdapter
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.adapters.function_call import FunctionCallAdapter
from polymeter.interop.evalscope.v1.adapters.image_edit import ImageEditAdapter
from polymeter.interop.evalscope.v1.adapters.multi_choice import MultiChoiceAdapter
from polymeter.interop.evalscope.v1.adapters.multi_turn import MultiTurnAdapter
from polymeter.interop.evalscope.v1.adapters.ner import NERAdapter
from polymeter.interop.evalscope.v1.adapters.sandbox import CodeExecutionSandboxMixin, DockerImageSpec
from polymeter.interop.evalscope.v1.adapters.text_to_image import Text2ImageAdapter
from polymeter.interop.evalscope.v1.adapters.vision import VisionLanguageAdapter
from polymeter.interop.evalscope.v1.constants import ScoreStatus
from polymeter.interop.evalscope.v1.judging.settings import JudgeConfig
from polymeter.interop.evalscope.v1.registration import BenchmarkMeta
from polymeter.interop.evalscope.v1.registries import METRIC_REGISTRY
from polymeter.interop.evalscope.v1.scoring.choice_templates import MultipleChoiceTemplate
from polymeter.interop.evalscope.v1.types.content import ContentImage, ContentReasoning, ContentText
from polymeter.interop.evalscope.v1.types.messages import ChatMessage, ChatMessageUser
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import SampleScore, Score
from polymeter.interop.evalscope.v1.types.state import TaskState
from polymeter.interop.evalscope.v1.types.tools import ToolCall, ToolFunction

SEEN: dict[str, Any] = json.loads((Path(__file__).parent / "seen.json").read_text("utf-8"))
IMAGES = {1: "http://x/1.png", 2: "data:image/png;base64,AA", 3: {"url": "u3", "k": 1}, 4: ""}
VIDEOS = {1: "http://x/v.mp4", 2: {"url": "z.mov", "start": 1, "end": 2.5, "fps": 3}, 3: {"format": "mp4"}}
AUDIOS = {1: "a.wav", 2: {"url": "b", "format": "mp3"}}


def _made(kind: type[Any], *, eval_type: str = "openai_api", **fields: Any) -> Any:
    meta = BenchmarkMeta(**{"name": "b", "dataset_id": "d", "metric_list": ["acc"], **fields})
    config = SimpleNamespace(judge=JudgeConfig(), repeats=1, eval_type=eval_type, limit=None, seed=42)
    return kind(benchmark_meta=meta, task_config=config)


def _state(sample: Sample, output: ModelOutput | None = None) -> TaskState:
    return TaskState(model="m", sample=sample, messages=[], output=output, completed=True)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {str(key): _plain(own) for key, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, list) else value


# --- mixtures


class SeenQuiz(VisionLanguageAdapter, MultiChoiceAdapter):
    pass


class HeardQuiz(VisionLanguageAdapter, AudioLanguageAdapter, MultiChoiceAdapter):
    pass


class SeenCode(CodeExecutionSandboxMixin, VisionLanguageAdapter):
    pass


class Talk(CodeExecutionSandboxMixin, MultiTurnAdapter):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_turns = 3

    def build_turn_prompt(self, sample: Sample, history: list[ChatMessage], turn_index: int) -> Any:
        if turn_index >= sample.metadata["turns"]:
            return None
        return f"turn {turn_index}" if turn_index % 2 == 0 else ChatMessageUser(content=f"message {turn_index}")

    def on_turn_complete(
        self, sample: Sample, turn_index: int, model_output: ModelOutput, history: list[ChatMessage]
    ) -> None:
        sample.metadata.setdefault("seen", []).append((turn_index, model_output.completion, len(history)))


def test_classes_can_be_mixed() -> None:
    for kind in (SeenQuiz, HeardQuiz, SeenCode):
        adapter = _made(kind, max_image_bytes="2kb")
        assert adapter._max_image_bytes == 2048
        assert kind(benchmark_meta=BenchmarkMeta(name="b", dataset_id="d"), task_config=None).name == "b"
    assert _made(HeardQuiz).multiple_correct is False
    assert _made(SeenCode).use_sandbox is True


def test_a_quiz_is_prompted_and_read() -> None:
    adapter = _made(SeenQuiz, prompt_template=MultipleChoiceTemplate.SINGLE_ANSWER)
    sample = Sample(input="Which?", choices=["red", "blue"], target="B")
    prompt = adapter.format_prompt_template(sample=sample)
    assert prompt.endswith("where [LETTER] is one of A,B.\n\nWhich?\n\nA) red\nB) blue")
    example = adapter.sample_to_fewshot(sample)
    assert example == "Which?\nA) red\nB) blue\nANSWER: B"
    with_examples = adapter.format_fewshot_template(fewshot=example, sample=sample)
    start = "Here are some examples of how to answer similar questions:\n\n"
    assert with_examples == f"{start}{example}\n\n{prompt}"
    assert adapter.extract_answer("I think.\nANSWER: B", _state(sample)) == "B"
    adapter.multiple_correct = True
    assert adapter.extract_answer("ANSWER: B and A", _state(sample)) == "AB"
    chinese = _made(MultiChoiceAdapter, prompt_template=MultipleChoiceTemplate.CHINESE_SINGLE_ANSWER_TEMPLATE)
    assert chinese.extract_answer("答案：（A）", _state(sample)) == "A"
    with pytest.raises(AssertionError, match=r"no \{choices\}"):
        _made(MultiChoiceAdapter, prompt_template="{question}").format_prompt_template(sample=sample)


def test_a_conversation_ends_when_there_is_nothing_to_say() -> None:
    class Model:
        name = "m"

        def generate(self, input: list[ChatMessage], tools: Any = None) -> ModelOutput:
            return ModelOutput.from_content("m", f"answer to {input[-1].text}")

    adapter = _made(Talk)
    sample = Sample(input="x", metadata={"turns": 2}, id=0)
    state = adapter.run_inference(model=Model(), sample=sample, output_dir="")
    assert [(message.role, message.text) for message in state.messages] == [
        ("user", "turn 0"),
        ("assistant", "answer to turn 0"),
        ("user", "message 1"),
        ("assistant", "answer to message 1"),
    ]
    assert sample.metadata["seen"] == [(0, "answer to turn 0", 2), (1, "answer to message 1", 4)]
    assert state.output.completion == "answer to message 1"
    many = Sample(input="x", metadata={"turns": 9}, id=1)
    assert len(adapter.run_inference(model=Model(), sample=many, output_dir="").messages) == 6
    none = adapter.run_inference(model=Model(), sample=Sample(input="x", metadata={"turns": 0}), output_dir="")
    assert (none.messages, none.output.completion) == ([], "")
    with pytest.raises(NotImplementedError, match="defines no build_turn_prompt"):
        _made(MultiTurnAdapter).run_inference(model=Model(), sample=sample, output_dir="")


# --- media


@pytest.mark.parametrize("case", SEEN["media"], ids=lambda case: case[0])
def test_placeholders_become_media(case: list[Any]) -> None:
    text, parts = case
    adapter = _made(VisionLanguageAdapter)
    if isinstance(parts, str):
        with pytest.raises(ValueError, match="has no 'url'"):
            adapter._parse_text_with_media(text, IMAGES, VIDEOS, AUDIOS)
    else:
        assert _plain(adapter._parse_text_with_media(text, IMAGES, VIDEOS, AUDIOS)) == parts


@pytest.mark.parametrize("case", SEEN["records"], ids=lambda case: f"{case[1]}-{case[2]}-{case[0]}"[:60])
def test_records_hold_media(case: list[Any]) -> None:
    record, kind, numbers, found = case
    wanted = None if numbers is None else set(numbers)
    adapter = _made(VisionLanguageAdapter)
    if isinstance(found, str):
        error = {"ValueError": ValueError, "TypeError": TypeError}[found]
        with pytest.raises(error, match=f"{kind}"):
            adapter._extract_media(record, kind, wanted)
    else:
        own = adapter._extract_media(record, kind, wanted)
        assert [_set(cell) for cell in own.values()] == [_set(cell) for cell in found.values()]
        assert [str(number) for number in own] == list(found)


def _set(cell: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if value is not None}


def _png(side: int) -> bytes:
    written = io.BytesIO()
    Image.effect_noise((side, side), 90).convert("RGB").save(written, "PNG")
    return written.getvalue()


def test_images_are_made_small_enough() -> None:
    image = _png(80)
    plain = _made(VisionLanguageAdapter)._image_bytes_to_base64(image)
    assert plain == f"data:image/png;base64,{base64.b64encode(image).decode()}"
    adapter = _made(VisionLanguageAdapter, max_image_bytes=len(image) - 1)
    small = adapter._image_bytes_to_base64(image)
    assert small.startswith("data:image/jpeg;base64,")
    assert len(base64.b64decode(small.partition(",")[2])) < len(image)
    roomy = _made(VisionLanguageAdapter, max_image_bytes="1mb")
    assert roomy._image_bytes_to_base64(image, default_format="webp").startswith("data:image/webp;")
    cell = roomy._extract_media({"image_1": {"bytes": image, "path": "a.jpg"}}, "image")[1]
    assert cell == {"format": None, "url": plain}, "the bytes count, and say what they are"
    with pytest.raises(ValueError, match="image 1 cannot be read: the bytes are no image"):
        roomy._extract_media({"image_1": {"bytes": b"RIFF\0\0\0\0WAVEfmt "}}, "image")


def test_messages_of_the_user_are_filled() -> None:
    adapter = _made(VisionLanguageAdapter)
    messages = [
        {"role": "system", "content": "<image 1>"},
        {"role": "user", "content": "see <image 1>", "name": "kept"},
        {"role": "user", "content": "<image 8>"},
        "odd",
    ]
    found = adapter._resolve_media_placeholders(messages, IMAGES)
    assert [found[0], found[2], found[3]] == [messages[0], messages[2], "odd"]
    assert found[1]["name"] == "kept"
    assert found[1]["content"] == [ContentText(text="see "), ContentImage(image="http://x/1.png")]
    assert adapter._media_placeholder_indices(messages) == {"image": {1, 8}, "video": set(), "audio": set()}
    assert adapter._resolve_media_placeholders([]) == []


# --- entities


class Entities(NERAdapter):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.entity_type_map = {"PER": "person", "ORG": "organization"}
        self.entity_descriptions = {"PER": "names", "ORG": "firms"}
        self.setup_entity_mappings()


def test_entities_are_marked_and_scored_as_there() -> None:
    adapter = _made(Entities, prompt_template="{entities}|{entity_list}|{text}")
    scores = []
    for number, (tokens, tags, target, answer, found, values) in enumerate(SEEN["ner"]):
        sample = adapter.record_to_sample(record={"tokens": tokens, "ner_tags": tags})
        assert sample.target == target
        score = adapter.match_score(
            original_prediction=answer, filtered_prediction=answer, reference="", task_state=_state(sample)
        )
        assert (score.metadata["y_pred"], score.value) == (found, pytest.approx(values))
        scores.append(SampleScore(score=score, sample_id=number))
    for number, (name, aggregation, value, count, metadata) in zip(
        adapter.aggregate_scores(sample_scores=scores), SEEN["ner_subset"], strict=True
    ):
        assert (number.metric_name, number.aggregation, number.num, number.metadata) == (
            name,
            aggregation,
            count,
            metadata,
        )
        assert number.score == pytest.approx(value, abs=1e-12)


def test_entities_are_prompted() -> None:
    adapter = _made(
        Entities, prompt_template="{entities}|{entity_list}|{text}", few_shot_prompt_template="{fewshot}|{text}"
    )
    sample = adapter.record_to_sample(record={"tokens": ["Ann", "sings"], "ner_tags": ["B-PER", "O"]})
    assert adapter.format_prompt_template(sample) == (
        "person (names), organization (firms)|<person>, <organization>|Ann sings"
    )
    example = adapter.sample_to_fewshot(sample)
    assert example == "Input:\nAnn sings\n\nOutput:\n<response><person>Ann</person> sings</response>"
    assert adapter.format_fewshot_template(fewshot=example, sample=sample) == f"{example}|Ann sings"


# --- images


@pytest.mark.parametrize("case", SEEN["images"], ids=lambda case: str(case[0]))
def test_scores_of_images_are_joined_as_there(case: list[Any]) -> None:
    metrics, primary, given, numbers = case
    adapter = _made(Text2ImageAdapter, metric_list=metrics)
    assert _plain(adapter.primary_metric) == primary
    scores = []
    for number, (category, values) in enumerate(given):
        score = Score()
        for entry, value in zip(metrics, values, strict=True):
            adapter._record_metric_result(score, entry if isinstance(entry, str) else next(iter(entry)), value)
        scores.append(SampleScore(score=score, sample_id=number, sample_metadata={"category": category}))
    found = adapter.aggregate_scores(sample_scores=scores)
    assert [[own.identity.key, own.score, own.num, own.ids] for own in found] == numbers


def test_a_drawn_image_is_stored_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Size:
        def __call__(self, image: str, text: str) -> list[float]:
            return [float(len(Path(image).read_bytes()) + len(text))]

    class Same:
        image_pair_metric = True

        def __call__(self, image: str, reference: str) -> dict[str, float]:
            return {"Overall": float(image == reference)}

    class Broken:
        def __init__(self) -> None:
            raise RuntimeError("no weights")

    for name, metric in {"size": Size, "same": Same, "broken": Broken}.items():
        monkeypatch.setitem(METRIC_REGISTRY, name, metric)
    adapter = _made(Text2ImageAdapter, metric_list=["size", {"same": {}}, "broken"])
    assert adapter.request_kind == "generate_image"
    sample = adapter.record_to_sample(record={"prompt": "a cat", "id": "c", "ref_image": "r.png"})
    sample.group_id = 7
    image = "data:image/png;base64," + base64.b64encode(b"12345").decode()
    output = ModelOutput.from_content("m", [ContentImage(image=image)])
    state = adapter._on_inference_end(SimpleNamespace(name="m"), sample, output, str(tmp_path))
    path = tmp_path / "images" / "c_7.png"
    with path.open("rb") as read_by_another_run:
        adapter._on_inference_end(SimpleNamespace(name="m"), sample, output, str(tmp_path))
        assert path.stat().st_ino != os.fstat(read_by_another_run.fileno()).st_ino, "never a half-written image"
        assert read_by_another_run.read() == path.read_bytes() == b"12345"
    score = adapter.match_score(
        original_prediction="", filtered_prediction="", reference=sample.target, task_state=state
    )
    assert (score.value, score.status) == ({"size": 10.0, "same": 0.0}, ScoreStatus.DEGRADED)
    assert score.metadata["broken"] == "error: no weights", "a metric that fails is no zero"
    assert score.prediction == str(path)
    failing = _made(Text2ImageAdapter, metric_list=["broken"])
    score = failing.match_score(original_prediction="", filtered_prediction="", reference="", task_state=state)
    assert (score.value, score.status) == ({}, ScoreStatus.EXCLUDED)
    monkeypatch.setitem(METRIC_REGISTRY, "broken", _without_weights)
    with pytest.raises(DataError, match="no weights here"):
        failing.match_score(original_prediction="", filtered_prediction="", reference="", task_state=state)
    with pytest.raises(ValueError, match="holds no image"):
        adapter._on_inference_end(
            SimpleNamespace(name="m"), sample, ModelOutput.from_content("m", "text"), str(tmp_path)
        )


def _without_weights() -> None:
    raise DataError("no weights here")


def test_edited_images_can_be_files(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    lines = tmp_path / "images.jsonl"
    lines.write_text(json.dumps({"id": 1, "image_path": "a.png"}) + "\n")
    extra = {"local_file": {"type": "str", "value": str(lines), "description": ""}}
    adapter = _made(ImageEditAdapter, extra_params=extra)
    kept = [adapter.sample_filter(Sample(input="x", metadata={"id": number})) for number in (1, 2, "")]
    assert kept == [True, False, False]
    assert adapter.get_image_path_from_id(1) == str(tmp_path / "a.png")
    lines.write_text(json.dumps({"id": 1, "image_path": "b.png"}) + "\n")
    with pytest.raises(FileNotFoundError, match="names an image that does not exist"):
        _made(ImageEditAdapter, extra_params=extra)
    lines.write_text(json.dumps({"image_path": "a.png"}) + "\n")
    with pytest.raises(ValueError, match="has no 'id'"):
        _made(ImageEditAdapter, extra_params=extra)
    assert _made(ImageEditAdapter).sample_filter(Sample(input="x"))


# --- a rule's and a judge's score


@pytest.mark.parametrize("case", SEEN["joined"], ids=range(len(SEEN["joined"])))
def test_scores_of_rule_and_judge_are_joined_as_there(case: list[Any]) -> None:
    rule, judged, instead, merged = case
    adapter = _made(DefaultDataAdapter, metric_list=["acc", {"f1": {}}])

    def shown(score: Score) -> list[Any]:
        return [score.value, score.status.value, score.main_score_name, score.metadata]

    assert shown(adapter.fallback_to_rule_score(Score(**rule), Score(**judged))) == instead
    assert shown(adapter._merge_scores(Score(**rule), Score(**judged))) == merged


# --- agents, tools, decisions


def test_agents_are_refused_with_what_is_missing() -> None:
    for kind, what in ((AgentLoopAdapter, "step after step"), (BrowserGymAdapter, "a browser's session")):
        with pytest.raises(PlanError, match=rf"'b' is written for EvalScope 1.x's agents: .*{what}.*not run the loops"):
            _made(kind)


def test_calls_of_tools_are_checked() -> None:
    adapter = _made(FunctionCallAdapter)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [{"type": "function", "function": {"name": "add", "parameters": schema}}]

    def call(name: str, **arguments: Any) -> ToolCall:
        return ToolCall(id="1", function=ToolFunction(name=name, arguments=arguments))

    assert adapter.validate_tool_call([call("add", n=1)], tools) == (True, "")
    assert adapter.validate_tool_call([], tools) == (True, "")
    wrong = adapter.validate_tool_call([call("add", n="1")], tools)
    assert wrong == (False, "Schema validation failed for tool 'add': '1' is not of type 'integer'")
    assert adapter.validate_tool_call([call("sub")], tools) == (False, "No schema found for tool 'sub'")
    thought = ModelOutput.from_content("m", [ContentReasoning(reasoning="hm")])
    assert adapter.detect_error_only_reasoning(thought)
    assert not adapter.detect_error_only_reasoning(ModelOutput.from_content("m", "said"))
    assert not adapter.detect_error_only_reasoning(ModelOutput(model="m"))


def test_decisions_are_read_and_not_asked() -> None:
    adapter = _made(DecisionAdapter)
    question = {"type": "choice", "instructions": "Which?", "criteria": {"a": "one", "b": "two"}}
    sample = adapter.record_to_sample(record={"question": question, "state": {"k": 1}, "expected": "b", "id": 3})
    assert json.loads(sample.input[0].text) == {"state": {"k": 1}, "question": question}
    assert (sample.target, sample.metadata["decision_labels"], sample.metadata["source_id"]) == ("b", ["a", "b"], 3)
    yes = {"question": {"type": "noul", "instructions": "Is it?"}, "state": "s", "expected": True}
    assert adapter.record_to_sample(record=yes).target == "yes"
    for record, why in (
        ({**yes, "expected": "maybe"}, "yes or no"),
        ({"question": question, "state": {}, "expected": "c"}, "none of its answers"),
        ({"question": {**question, "criteria": {"a": "x"}}, "state": {}, "expected": "a"}, "2 to 255 options"),
    ):
        with pytest.raises(ValueError, match=why):
            adapter.record_to_sample(record=record)
    with pytest.raises(ValueError, match="needs a service that gives a probability for every option"):
        adapter.load_dataset()
    score = adapter.calculate_metrics(task_state=_state(sample, ModelOutput.from_content("m", "b"))).score
    assert (score.value, score.status) == ({}, ScoreStatus.EXCLUDED)
    assert score.explanation == "Benchmark 'b' scores probabilities, and a text holds none."


# --- programs


class Coding(CodeExecutionSandboxMixin, DefaultDataAdapter):
    pass


class CodingInAnImage(Coding):
    def get_sandbox_image_spec(self) -> DockerImageSpec:
        return DockerImageSpec(name_prefix="own", context_dir=".", cache_key_parts=["own"])


@pytest.fixture
def allowed() -> Iterator[None]:
    with guest_context_with(allows_generated_code=True):
        yield


def test_programs_run_only_if_the_run_allows_it() -> None:
    with pytest.raises(PlanError, match="this run does not allow it"):
        _made(Coding).execute_code_in_sandbox(code="print(1)")


@pytest.mark.usefixtures("allowed")
def test_programs_run_in_walls() -> None:
    adapter = _made(Coding)
    assert adapter.ensure_sandbox_ready()
    run = adapter.execute_code_in_sandbox
    assert run(code="print('out')", timeout=2) == {
        "status": "success",
        "output": "out\n",
        "metadata": {"language": "python"},
    }
    failed = run(code="print('a')\nassert 1 == 2, 'sums'", timeout=2, language="Python")
    assert (failed["status"], failed["error"], failed["output"]) == ("error", "AssertionError: sums", "a\n")
    assert run(code=["x = 1", "assert x"], timeout=2)["status"] == "success"
    assert run(code="import sys\nprint(1)\nsys.exit(0)", timeout=2)["status"] == "success"
    assert run(code="import sys\nsys.exit(0)\nassert False", timeout=2)["status"] == "error", "it has passed nothing"
    harness = "import sys, unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual({}, 1)\n"
    harness += "made = unittest.defaultTestLoader.loadTestsFromTestCase(T)\n"
    harness += "sys.exit(0 if unittest.TextTestRunner().run(made).wasSuccessful() else 1)\n"
    statuses = [run(code=harness.format(one), timeout=5)["status"] for one in (1, 2, "sys.exit(0)")]
    assert statuses == ["success", "error", "error"], "what it writes goes to standard error"
    assert run(code="while True: pass", timeout=0.2)["status"] == "timeout"
    assert adapter.sandbox_finalize() is None


@pytest.mark.usefixtures("allowed")
def test_a_program_that_cannot_run_here_is_no_wrong_answer() -> None:
    with pytest.raises(UnscoredError, match="programs in cpp"):
        _made(Coding).execute_code_in_sandbox(code="int main() {}", language="cpp")
    missing = "import a_package_that_nobody_has"
    assert _made(Coding).execute_code_in_sandbox(code=missing, timeout=2)["status"] == "error"
    with pytest.raises(UnscoredError, match="'a_package_that_nobody_has', which the benchmark's image may have"):
        _made(CodingInAnImage).execute_code_in_sandbox(code=missing, timeout=2)
