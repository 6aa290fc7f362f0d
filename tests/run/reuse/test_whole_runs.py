"""A run over finished runs of the same plan asks nothing, and gives the same bytes but for their origin."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

import polymeter
from polymeter.cli.main import main
from polymeter.core.content import Image, Text
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.request import (
    ChoiceLogprob,
    Generate,
    GenerateImage,
    Loglikelihood,
    Message,
    Origin,
    Output,
    OwnPrompt,
    Request,
    Response,
    Usage,
)
from polymeter.core.task import Rollout, RolloutSteps, Sample, Score
from polymeter.models.mock import MockBatch, MockEndpoint
from polymeter.models.openai import OpenAIModel
from polymeter.report.content.chat import _facts
from polymeter.report.run.usage_table import usage_table
from polymeter.store.reading.reused import REUSED
from tests.helpers.judged import judged_folder
from tests.helpers.openai_stub import OpenAIStub, Received, chat
from tests.helpers.reused import assert_same_but_origin, counts
from tests.helpers.tasks import ListTask, ask, docs, run_tasks


class Counting:
    """Computes answers, and counts them."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, request: Request) -> Response:
        self.n += 1
        usage = Usage(7, 3)
        match request.parameters:
            case Loglikelihood(continuations=texts):
                scores = tuple(ChoiceLogprob(-float(len(text)) - self.n / 1000, False, 1) for text in texts)
                return Response((Output(logprobs=scores, usage=usage),), latency_ms=1.5)
            case GenerateImage(seed=seed):
                colour = ((seed or 0) % 256, self.n % 256, 7)
                return Response((Output(images=(pil.new("RGB", (8, 8), colour),), usage=usage),), latency_ms=1.5)
        return Response((Output(text=f"answer {self.n}", finish_reason="stop", usage=usage),), latency_ms=1.5)


def model_of(count: Counting, *, is_endpoint: bool = False, reads_rows: bool = False, name: str = "m") -> Any:
    make = MockEndpoint if is_endpoint else MockBatch
    return make(count, identity={"backend": "mock", "name": name}, reads_rows=reads_rows)


def _texts(sample: Sample) -> RolloutSteps:
    yield ask(f'{sample.doc["question"]} ünï\n"quoted"', sample)


def _images(sample: Sample) -> RolloutSteps:
    image = pil.new("RGB", (300, 200), (sample.index * 20, 3, 4))
    yield ask("what colour?", sample, image=Image(image, key=f"{'0' * 32}:{sample.index}:image"))


def _rounds(sample: Sample) -> RolloutSteps:
    first = yield ask(sample.doc["question"], sample)
    second = yield ask(f"{first.text} and then?", sample)
    return [first.text, second.text]


def _repeats(sample: Sample) -> RolloutSteps:
    yield tuple(ask("again", sample, temperature=0.7, seed=n + 10 * sample.index, repeat=n) for n in range(3))


def _equal_repeats(sample: Sample) -> RolloutSteps:
    yield tuple(ask("again", sample, temperature=0.0, repeat=n) for n in range(3))


def _loglikelihood(sample: Sample) -> RolloutSteps:
    origin = Origin(sample.task, sample.id, "test", sample.index)
    yield Request((Message("user", (Text(sample.doc["question"]),)),), Loglikelihood(("yes", "no!")), origin)


def _drawn(sample: Sample) -> RolloutSteps:
    origin = Origin(sample.task, sample.id, "test", sample.index)
    yield tuple(
        Request((Message("user", (Text("draw"),)),), GenerateImage((8, 8), sample.index * 9 + n, n), origin)
        for n in range(2)
    )


def _length(sample: Sample, played: Rollout, asker: Any) -> Score:
    return Score({("n", "none"): float(sum(len(str(o.text)) for r in played.responses for o in r.outputs))})


PLAYS = {
    "texts": _texts,
    "images": _images,
    "rounds": _rounds,
    "repeats": _repeats,
    "equal repeats": _equal_repeats,
    "loglikelihood": _loglikelihood,
    "image generation": _drawn,
}


@pytest.mark.parametrize("is_endpoint", [False, True])
@pytest.mark.parametrize("reads_rows", [False, True])
@pytest.mark.parametrize("kind", PLAYS)
def test_a_run_over_a_finished_run_asks_nothing(tmp_path: Path, kind: str, reads_rows: bool, is_endpoint: bool) -> None:
    task = ListTask(docs(6), play=PLAYS[kind], score=_length)
    first, second, third = Counting(), Counting(), Counting()
    run_tasks([task], model_of(first, is_endpoint=is_endpoint, reads_rows=reads_rows), tmp_path / "a")
    again = model_of(second, is_endpoint=is_endpoint, reads_rows=reads_rows)
    outcome = run_tasks([task], again, tmp_path / "b", reuse=(tmp_path / "a",))
    assert (first.n > 0, second.n, outcome.status) == (True, 0, "complete")
    assert counts(tmp_path / "b") == (first.n, {})
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")
    (usage,) = outcome.results["usage_by_role"]["model"].values()
    assert (usage["requests"], usage["input"], usage["output"]) == (0, 0, 0)
    assert (usage["reused"], usage["reused_tokens"]) == (first.n, 10 * first.n)
    # A copy of a copy names the first.
    run_tasks([task], model_of(third, reads_rows=reads_rows), tmp_path / "c", reuse=(tmp_path / "b",))
    assert third.n == 0
    assert (tmp_path / "c/samples/list.jsonl").read_bytes() == (tmp_path / "b/samples/list.jsonl").read_bytes()
    line = json.loads((tmp_path / "c/samples/list.jsonl").read_text().splitlines()[0])
    assert {exchange["response"][REUSED]["run"] for exchange in line["exchanges"]} == {"a"}


def test_verdicts_of_judges_are_reused(tmp_path: Path) -> None:
    folder = judged_folder(tmp_path / "facts", n_rows=5)
    asked: list[str] = []

    def say(request: Request) -> str:
        asked.append(request.text)
        return "A"

    def run(name: str, **options: Any) -> None:
        polymeter.evaluate(
            MockBatch(lambda request: "x", identity={"m": 1}, reads_rows=False),
            ["facts"],
            include_paths=[folder],
            roles={"judge": MockBatch(say, identity={"judge": 1}, reads_rows=False)},
            output=tmp_path / name,
            **options,
        )

    run("a")
    assert len(asked) == 5
    run("b", reuse=(tmp_path / "a",))
    assert len(asked) == 5
    assert counts(tmp_path / "b") == (10, {})
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")
    polymeter.score(
        tmp_path / "a",
        output=tmp_path / "c",
        roles={"judge": MockBatch(say, identity={"judge": 2}, reads_rows=False)},
    )
    assert len(asked) == 10
    polymeter.score(
        tmp_path / "a",
        output=tmp_path / "d",
        roles={"judge": MockBatch(say, identity={"judge": 2}, reads_rows=False)},
        reuse=(tmp_path / "c",),
    )
    assert len(asked) == 10


@pytest.mark.parametrize("tasks", [["demo_signs"], ["demo_vlm_loglikelihood"], ["demo_vlm_rounds"]])
def test_tasks_that_come_with_polymeter(tmp_path: Path, tasks: list[str]) -> None:
    args = {"mode": "echo"}
    polymeter.evaluate("mock", tasks, model_args=args, output=tmp_path / "a", limit=8)
    polymeter.evaluate("mock", tasks, model_args=args, output=tmp_path / "b", limit=8, reuse=(tmp_path / "a",))
    n_reused, asked = counts(tmp_path / "b")
    assert n_reused > 0
    assert asked == {}
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")


def test_repeats_of_a_run(tmp_path: Path) -> None:
    options: dict[str, Any] = {"limit": 4, "repeats": 3, "generation": {"temperature": 0.7}}
    polymeter.evaluate("mock", ["demo_signs"], output=tmp_path / "a", **options)
    polymeter.evaluate("mock", ["demo_signs"], output=tmp_path / "b", reuse=(tmp_path / "a",), **options)
    assert counts(tmp_path / "b") == (12, {})
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")
    polymeter.evaluate(
        "mock", ["demo_signs"], output=tmp_path / "c", reuse=(tmp_path / "a",), **options | {"repeats": 5}
    )
    assert counts(tmp_path / "c") == (12, {"no equal request was found": 8})


def test_image_generation(tmp_path: Path) -> None:
    polymeter.evaluate("shapes", ["demo_t2i", "demo_edit"], output=tmp_path / "a", limit=4)
    polymeter.evaluate("shapes", ["demo_t2i", "demo_edit"], output=tmp_path / "b", limit=4, reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b")[1] == {}
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")
    images = {path.name: path.read_bytes() for path in (tmp_path / "a/media").rglob("*.*")}
    assert {path.name: path.read_bytes() for path in (tmp_path / "b/media").rglob("*.*")} == images


@pytest.mark.parametrize("fingerprint", ["fp_1", None])
def test_an_endpoint(tmp_path: Path, fingerprint: str | None) -> None:
    def answer(received: Received) -> dict[str, Any]:
        return {**chat("STOP"), "model": "m", **({"system_fingerprint": fingerprint} if fingerprint else {})}

    with OpenAIStub(answer) as stub:
        options: dict[str, Any] = {"model_args": {"base_url": stub.base_url}, "limit": 5}
        more = {} if fingerprint else {"reuse_days": 1.0}
        polymeter.evaluate("openai:m", ["demo_signs"], output=tmp_path / "a", **options)
        n_before = len(stub.received)
        polymeter.evaluate(
            "openai:m", ["demo_signs"], output=tmp_path / "b", reuse=(tmp_path / "a",), **options, **more
        )
        assert len(stub.received) - n_before == 1, "the question whether it is there, and what it serves"
    assert counts(tmp_path / "b") == (5, {})
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")


def test_what_is_made_of_a_run_reuses_nothing_by_itself(tmp_path: Path) -> None:
    """A run that is resumed keeps the runs that it named; one that is scored or run again does not."""
    first = ["mock", ["demo_signs"]]
    polymeter.evaluate(*first, output=tmp_path / "a", limit=3)
    polymeter.evaluate(*first, output=tmp_path / "b", limit=3, reuse=(tmp_path / "a",))
    polymeter.score(tmp_path / "b", output=tmp_path / "c")
    assert "reuse" not in json.loads((tmp_path / "c/run.json").read_text())
    again = polymeter.rerun(tmp_path / "b", output=tmp_path / "d")
    (usage,) = again.result.results["usage_by_role"]["model"].values()
    assert usage["requests"] == 3
    shutil.rmtree(tmp_path / "a")
    manifest = json.loads((tmp_path / "b/run.json").read_text())
    (tmp_path / "b/run.json").write_text(json.dumps({**manifest, "status": "stopped"}))
    with pytest.raises(polymeter.PlanError, match=re.escape(str(tmp_path / "a"))):
        polymeter.resume(tmp_path / "b")
    polymeter.resume(tmp_path / "b", reuse=("none",))


def test_a_model_on_this_machine_is_not_loaded(tmp_path: Path) -> None:
    class Loads(MockBatch):
        n_loaded = 0

        def load(self) -> None:
            type(self).n_loaded += 1

    assert issubclass(Loads, BatchModel)
    task = ListTask(docs(3))
    for name, runs in (("a", ()), ("b", (tmp_path / "a",))):
        model = Loads(lambda request: "x", identity={"m": 1}, reads_rows=False)
        run_tasks([task], model, tmp_path / name, reuse=runs)
    assert Loads.n_loaded == 1


def test_another_task_may_reuse_the_same_request(tmp_path: Path) -> None:
    count = Counting()
    run_tasks([ListTask(docs(4))], model_of(count), tmp_path / "a")
    shuffled = ListTask([*reversed(docs(4))], name="other", source="v2")
    run_tasks([shuffled], model_of(count), tmp_path / "b", reuse=(tmp_path / "a",))
    assert (count.n, counts(tmp_path / "b")) == (4, (4, {}))
    assert isinstance(shuffled.as_task().parameters[0], Generate)


def test_a_wrapper_reuses_answers_for_the_same_row_alone(tmp_path: Path) -> None:
    count = Counting()
    run_tasks([ListTask(docs(4))], model_of(count, reads_rows=True), tmp_path / "a")
    for name, task in (("b", ListTask(docs(4), name="other")), ("c", ListTask(docs(4), source="v2"))):
        before = count.n
        run_tasks([task], model_of(count, reads_rows=True), tmp_path / name, reuse=(tmp_path / "a",))
        assert (count.n - before, counts(tmp_path / name)[0]) == (4, 0)


@pytest.mark.parametrize("tasks", [["demo_video"], ["demo_audio"]])
def test_what_was_shown_is_taken_over(tmp_path: Path, tasks: list[str]) -> None:
    """The records of frames and sounds, strips and clips belong to the answers."""
    with OpenAIStub(lambda received: chat("A")) as stub:
        options: dict[str, Any] = {"model_args": {"base_url": stub.base_url}, "limit": 3}
        polymeter.evaluate("openai:m-001", tasks, output=tmp_path / "a", **options)
        n_before = len(stub.received)
        polymeter.evaluate("openai:m-001", tasks, output=tmp_path / "b", reuse=(tmp_path / "a",), **options)
        assert len(stub.received) - n_before == 1
        assert counts(tmp_path / "b")[1] == {}
        assert_same_but_origin(tmp_path / "b", tmp_path / "a")
        media = {path.name: path.read_bytes() for path in (tmp_path / "a/media").rglob("*.*")}
        assert {path.name: path.read_bytes() for path in (tmp_path / "b/media").rglob("*.*")} == media
        more = {"video": {"frames": 2}} if tasks == ["demo_video"] else {"audio": {"rate": 8000}}
        polymeter.evaluate("openai:m-001", tasks, output=tmp_path / "c", reuse=(tmp_path / "a",), **options, **more)
    n_reused, asked = counts(tmp_path / "c")
    assert (n_reused, [*asked]) == (0, ["no equal request was found"])


class OwnPrompts(MockBatch):
    """Makes its own prompts, as wrappers do."""

    def __init__(self, level: int) -> None:
        super().__init__(lambda request: request.text, identity={"backend": "own"})
        self.traits = ModelTraits(
            family="own", requests={"generate": True}, modalities={"text": True, "image": True}, has_own_prompts=True
        )
        self.level = level

    def own_prompt(self, origin: Origin) -> tuple[Message, ...]:
        image = pil.new("RGB", (4, 4), (origin.index, self.level if origin.index == 1 else 0, 0))
        return (Message("user", (Image(image), Text(f"mine {origin.index}"))),)


def test_a_models_own_prompt_is_made_anew_and_decides(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        origin = Origin(sample.task, sample.id, "test", sample.index)
        prompt = yield OwnPrompt(origin)
        assert prompt.messages is not None
        yield Request(prompt.messages, Generate(temperature=0.0), origin)

    task = ListTask(docs(3), play=play)
    run_tasks([task], OwnPrompts(0), tmp_path / "a")
    run_tasks([task], OwnPrompts(0), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (3, {})
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")
    run_tasks([task], OwnPrompts(1), tmp_path / "c", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "c") == (2, {"no equal request was found": 1})


def _drawn_several_times(sample: Sample) -> RolloutSteps:
    image = Image(pil.new("RGB", (9, 9), (sample.index, 0, 0)))
    message = Message("user", (image, Text("again")))
    origin = Origin(sample.task, sample.id, "test", sample.index)
    seeds = (10 * sample.index + n for n in range(3))
    yield tuple(
        Request((message,), Generate(temperature=0.7, seed=seed, repeat=n), origin) for n, seed in enumerate(seeds)
    )


def test_answers_that_came_in_one_call(tmp_path: Path) -> None:
    def answer(received: Received) -> dict[str, Any]:
        return {**chat("A", n=received.body.get("n", 1)), "model": "m-001"}

    with OpenAIStub(answer) as stub:
        task = ListTask(docs(3), play=_drawn_several_times, score=_length)
        run_tasks([task], OpenAIModel("m-001", base_url=stub.base_url, join_repeats=True), tmp_path / "a")
        assert [body.get("n") for body in stub.bodies].count(3) == 3
        n_before = len(stub.received)
        again = OpenAIModel("m-001", base_url=stub.base_url, join_repeats=True)
        run_tasks([task], again, tmp_path / "b", reuse=(tmp_path / "a",))
        assert len(stub.received) == n_before
    assert counts(tmp_path / "b") == (9, {})
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")


def test_repeats_of_a_run_at_an_endpoint(tmp_path: Path) -> None:
    def answer(received: Received) -> dict[str, Any]:
        return {**chat("A", n=received.body.get("n", 1)), "model": "m-001"}

    with OpenAIStub(answer) as stub:
        options: dict[str, Any] = {
            "model_args": {"base_url": stub.base_url, "join_repeats": True},
            "limit": 3,
            "repeats": 4,
            "generation": {"temperature": 0.7},
        }
        polymeter.evaluate("openai:m-001", ["demo_signs"], output=tmp_path / "a", **options)
        n_before = len(stub.received)
        polymeter.evaluate("openai:m-001", ["demo_signs"], output=tmp_path / "b", reuse=(tmp_path / "a",), **options)
        assert len(stub.received) - n_before == 1
    assert counts(tmp_path / "b") == (12, {})
    assert_same_but_origin(tmp_path / "b", tmp_path / "a")


def test_previews_are_not_kept_where_none_are_wanted(tmp_path: Path) -> None:
    polymeter.evaluate("mock", ["demo_signs"], output=tmp_path / "a", limit=3)
    polymeter.evaluate("mock", ["demo_signs"], output=tmp_path / "b", limit=3, media="none", reuse=(tmp_path / "a",))
    assert not [*(tmp_path / "b").rglob("*.jpg")]
    samples = (tmp_path / "b/samples/demo_signs.jsonl").read_text()
    assert '"width":360' in samples
    assert '"file":' not in samples


def test_the_origin_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    polymeter.evaluate("mock", ["demo_signs"], output=tmp_path / "a", limit=2)
    polymeter.evaluate("mock", ["demo_signs"], output=tmp_path / "b", limit=2, reuse=(tmp_path / "a",))
    day = json.loads((tmp_path / "a/run.json").read_text())["started"][:10]
    part = json.loads((tmp_path / "a/run.json").read_text())["sessions"][0]["id"]
    told = f"reused from a, part {part} of {day}, sample 1 of demo_signs"
    assert main(["show", str(tmp_path / "b"), "--sample", "1"]) == 0
    assert f"→ {told}" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "a"), "--sample", "1"]) == 0
    assert "reused" not in capsys.readouterr().out
    sample = json.loads((tmp_path / "b/samples/demo_signs.jsonl").read_text().splitlines()[1])
    assert told in _facts(sample["exchanges"][0])
    results = json.loads((tmp_path / "b/results.json").read_text())
    assert "2 answers taken from other runs (a) and not asked for." in results["notes"]
    table = usage_table(json.loads((tmp_path / "b/run.json").read_text()), results)
    assert table is not None
    assert dict(zip(table.headings, table.rows[0][2], strict=True))["Answers of other runs"] == "2"


def test_a_missing_folder_names_the_option_and_how_several_are_given(tmp_path: Path) -> None:
    with pytest.raises(polymeter.PlanError, match="does not exist") as refused:
        polymeter.evaluate("mock", ["demo"], output=tmp_path / "b", limit=2, reuse=(tmp_path / "a,c",))
    assert refused.value.where == "--reuse"
    assert "For several, give --reuse several times." in str(refused.value.hint)
    assert not (tmp_path / "b").exists()
