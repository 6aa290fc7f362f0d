"""Which answers are never reused, and why a request is asked after all."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

import polymeter
from polymeter.core.content import Image, Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.request import GenerateImage, Message, Output, Request, Response
from polymeter.core.task import RolloutSteps, Sample
from polymeter.models.endpoint.stated import StatedModels, is_pinned
from polymeter.models.mock import MockBatch
from polymeter.store.journal import Journal
from tests.helpers.openai_stub import OpenAIStub, Received, chat
from tests.helpers.reused import counts
from tests.helpers.tasks import ListTask, ask, docs, run_tasks

NOT_FOUND = "no equal request was found"
SAMPLED = "the answer is sampled without a seed"
MOVED = "the name may stand for another model by now (--reuse-days)"


def mock(answer: Any = "x", **identity: Any) -> MockBatch:
    compute = answer if callable(answer) else lambda request: answer
    return MockBatch(compute, identity={"backend": "mock", **identity}, reads_rows=False)


def n_asked(model: MockBatch) -> int:
    return sum(model.batches)


def test_two_models_never_share_an_answer(tmp_path: Path) -> None:
    task = ListTask(docs(3))
    run_tasks([task], mock(name="a"), tmp_path / "a")
    run_tasks([task], mock(name="b"), tmp_path / "b")
    model = mock(name="b")
    with pytest.raises(PlanError, match="its answers are of another model") as refused:
        run_tasks([task], model, tmp_path / "c", reuse=(tmp_path / "a",))
    assert refused.value.where == "--reuse"
    assert n_asked(model) == 0
    assert not (tmp_path / "c/journal.db").exists()
    run_tasks([task], model, tmp_path / "c", reuse=(tmp_path,))
    assert {json.loads(line)["exchanges"][0]["response"]["reused"]["run"] for line in lines(tmp_path / "c")} == {"b"}


def lines(run: Path) -> list[str]:
    return (run / "samples/list.jsonl").read_text().splitlines()


def test_failures_and_refusals_are_asked_again(tmp_path: Path) -> None:
    kinds = {"q0": "permanent", "q1": "refused", "q2": "transient"}

    def fails(request: Request) -> str:
        if request.text in kinds:
            raise ModelError("no", kind=kinds[request.text])  # type: ignore[arg-type]
        return "x"

    run_tasks([ListTask(docs(5))], mock(fails), tmp_path / "a", max_retries=0)
    model = mock()
    run_tasks([ListTask(docs(5))], model, tmp_path / "b", reuse=(tmp_path / "a",))
    assert n_asked(model) == 3
    assert counts(tmp_path / "b") == (2, {NOT_FOUND: 3})


@pytest.mark.parametrize("reason", ["content_filter", "abort", "error", "timeout"])
def test_an_answer_that_was_broken_off_is_asked_again(tmp_path: Path, reason: str) -> None:
    broken = mock(lambda request: Response((Output(text="half", finish_reason=reason),)))
    run_tasks([ListTask(docs(2))], broken, tmp_path / "a")
    run_tasks([ListTask(docs(2))], mock(), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (0, {"the answer was broken off or declined": 2})


def test_an_answer_at_its_limit_is_an_answer(tmp_path: Path) -> None:
    full = mock(lambda request: Response((Output(text="half", finish_reason="length"),)))
    limited = ListTask(docs(2), play=asking(max_new_tokens=4))
    run_tasks([limited], full, tmp_path / "a")
    run_tasks([limited], mock(), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (2, {})
    more = ListTask(docs(2), play=asking(max_new_tokens=5))
    run_tasks([more], mock(), tmp_path / "c", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "c") == (0, {NOT_FOUND: 2})


def asking(**settings: Any) -> Any:
    def play(sample: Sample) -> RolloutSteps:
        yield ask(sample.doc["question"], sample, **settings)

    return play


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"temperature": 0.7}, {SAMPLED: 2}),
        ({"temperature": 0.7, "seed": 3}, {}),
        ({"extra": {"do_sample": True}}, {SAMPLED: 2}),
        ({"extra": {"do_sample": True}, "seed": 3}, {}),
        ({"temperature": 0.0}, {}),
        ({"temperature": 0.7, "extra": {"do_sample": False}}, {}),
        ({}, {}),
    ],
    ids=str,
)
def test_sampled_answers_need_a_seed(tmp_path: Path, settings: dict[str, Any], expected: dict[str, int]) -> None:
    task = ListTask(docs(2), play=asking(**settings))
    run_tasks([task], mock(), tmp_path / "a")
    run_tasks([task], mock(), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (2 - sum(expected.values()), expected)


def test_without_a_word_a_provider_and_a_wrapper_may_sample(tmp_path: Path) -> None:
    for number, traits in enumerate(({"is_endpoint": True}, {"is_foreign": True})):
        model = mock()
        model.traits = ModelTraits(family="mock", requests={"generate": True}, modalities={"text": True}, **traits)
        first, second = tmp_path / f"a{number}", tmp_path / f"b{number}"
        run_tasks([ListTask(docs(2))], model, first)
        run_tasks([ListTask(docs(2))], model, second, reuse=(first,))
        assert counts(second) == (0, {SAMPLED: 2})


def test_images_without_a_seed_are_drawn_again(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        made = ask("draw", sample)
        yield Request(made.messages, GenerateImage(), made.origin)

    def draw(request: Request) -> Response:
        return Response((Output(text="here", images=(pil.new("RGB", (2, 2)),)),))

    run_tasks([ListTask(docs(1), play=play)], mock(draw), tmp_path / "a")
    run_tasks([ListTask(docs(1), play=play)], mock(draw), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (0, {SAMPLED: 1})


def test_one_pixel_asks_again(tmp_path: Path) -> None:
    def play_with(level: int) -> Any:
        def play(sample: Sample) -> RolloutSteps:
            image = pil.new("RGB", (3, 3), (sample.index, 0, 0))
            if sample.index == 1:
                image.putpixel((1, 1), (sample.index, level, 0))
            yield ask("what?", sample, image=Image(image, key=f"row {sample.index}"))

        return play

    run_tasks([ListTask(docs(3), play=play_with(0))], mock(), tmp_path / "a")
    model = mock()
    run_tasks([ListTask(docs(3), play=play_with(1))], model, tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (2, {NOT_FOUND: 1})
    assert n_asked(model) == 1


def test_an_image_at_a_url_is_asked_again(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        yield ask("what?", sample, image=Image("data:image/png;base64,AAAA", key=None) if sample.index else None)

    run_tasks([ListTask(docs(1), play=play)], mock(), tmp_path / "a")
    run_tasks([ListTask(docs(1), play=play)], mock(), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (1, {})


def test_every_second_occurrence_is_its_own(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        first = yield ask("again", sample)
        second = yield ask("again", sample)
        return [first.text, second.text]

    numbers = iter(range(9))
    run_tasks([ListTask(docs(1), play=play, score=None)], mock(lambda r: str(next(numbers))), tmp_path / "a")
    run_tasks([ListTask(docs(1), play=play, score=None)], mock(), tmp_path / "b", reuse=(tmp_path / "a",))
    exchanges = json.loads(lines(tmp_path / "b")[0])["exchanges"]
    assert [one["response"]["outputs"][0]["text"] for one in exchanges] == ["0", "1"]


class Server:
    """States what it serves."""

    def __init__(self) -> None:
        self.stated: dict[str, Any] = {}

    def __call__(self, received: Received) -> Any:
        return {**chat("STOP"), **self.stated}


@pytest.fixture
def server() -> Iterator[tuple[Server, OpenAIStub]]:
    state = Server()
    with OpenAIStub(state) as stub:
        yield state, stub


def evaluate(stub: OpenAIStub, folder: Path, model: str = "openai:m", **options: Any) -> polymeter.RunResult:
    return polymeter.evaluate(
        model, ["demo_signs"], model_args={"base_url": stub.base_url}, output=folder, limit=4, **options
    )


STATEMENTS = [
    ("m", {"model": "m", "system_fingerprint": "fp_1"}, {"model": "m", "system_fingerprint": "fp_1"}, 4),
    ("m", {"model": "m", "system_fingerprint": "fp_1"}, {"model": "m", "system_fingerprint": "fp_2"}, 0),
    ("m", {"model": "m-2026-01-02"}, {"model": "m-2026-01-02"}, 4),
    ("m", {"model": "m-2026-01-02"}, {"model": "m-2026-03-04"}, 0),
    ("m", {"model": "m-2026-01-02"}, {}, 0),
    ("m", {"model": "m"}, {"model": "m"}, 0),
    ("m", {}, {}, 0),
    ("m-2026-01-02", {}, {}, 4),
    ("m-001", {"model": "m-001"}, {"model": "m-001"}, 4),
]


@pytest.mark.parametrize(("name", "then", "now", "n"), STATEMENTS, ids=str)
def test_the_model_behind_a_name(
    tmp_path: Path, server: tuple[Server, OpenAIStub], name: str, then: Any, now: Any, n: int
) -> None:
    state, stub = server
    state.stated = then
    evaluate(stub, tmp_path / "a", f"openai:{name}")
    state.stated = now
    evaluate(stub, tmp_path / "b", f"openai:{name}", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (n, {MOVED: 4 - n} if n < 4 else {})
    evaluate(stub, tmp_path / "c", f"openai:{name}", reuse=(tmp_path / "a",), reuse_days=1)
    assert counts(tmp_path / "c") == (4, {})


def test_answers_age(tmp_path: Path, server: tuple[Server, OpenAIStub]) -> None:
    _, stub = server
    evaluate(stub, tmp_path / "a")
    with sqlite3.connect(tmp_path / "a/journal.db") as db:
        (body,) = db.execute("SELECT body FROM parts").fetchone()
        facts = {**json.loads(body), "started": "2026-11-01T00:00:00+00:00"}
        db.execute("UPDATE parts SET body=?, checksum=NULL", (json.dumps(facts),))
    evaluate(stub, tmp_path / "b", reuse=(tmp_path / "a",), reuse_days=0.5)
    assert counts(tmp_path / "b") == (0, {MOVED: 4})
    evaluate(stub, tmp_path / "c", reuse=(tmp_path / "a",), reuse_days=100_000)
    assert counts(tmp_path / "c") == (4, {})
    # What was reused is as old as its origin.
    evaluate(stub, tmp_path / "d", reuse=(tmp_path / "c",), reuse_days=0.5)
    assert counts(tmp_path / "d") == (0, {MOVED: 4})


def test_another_address_may_serve_another_model(tmp_path: Path, server: tuple[Server, OpenAIStub]) -> None:
    state, stub = server
    evaluate(stub, tmp_path / "a", "openai:m-001")
    with OpenAIStub(state) as other:
        evaluate(other, tmp_path / "b", "openai:m-001", reuse=(tmp_path / "a",), reuse_days=9)
    assert counts(tmp_path / "b") == (0, {"the answer is from another address": 4})


def test_a_server_that_states_two_versions_states_none(tmp_path: Path, server: tuple[Server, OpenAIStub]) -> None:
    state, stub = server
    state.stated = {"model": "m", "system_fingerprint": "fp_1"}
    evaluate(stub, tmp_path / "a")

    def changes(received: Received) -> Any:
        state.stated = {"model": "m", "system_fingerprint": f"fp_{len(stub.received)}"}
        return state(received)

    stub.respond = changes
    evaluate(stub, tmp_path / "b")
    stub.respond = state
    evaluate(stub, tmp_path / "c", reuse=(tmp_path / "b",))
    assert counts(tmp_path / "c")[1].get(MOVED, 0) >= 3


def test_a_filtered_answer_of_an_endpoint_is_asked_again(tmp_path: Path, server: tuple[Server, OpenAIStub]) -> None:
    state, stub = server

    def filtered(received: Received) -> Any:
        if b"image_url" not in received.raw:
            return chat("ok")
        answer = chat("half")
        answer["choices"][0]["finish_reason"] = "content_filter"
        return answer

    stub.respond = filtered
    evaluate(stub, tmp_path / "a", "openai:m-001")
    stub.respond = state
    with pytest.raises(PlanError, match="it has no answers"):
        evaluate(stub, tmp_path / "b", "openai:m-001", reuse=(tmp_path / "a",))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4o-2024-08-06", True),
        ("gpt-4-0613", True),
        ("claude-3-5-sonnet-20241022", True),
        ("gemini-2.0-flash-001", True),
        ("claude-3-7-sonnet@20250219", True),
        ("gpt-4o", False),
        ("gpt-4.1", False),
        ("claude-sonnet-4-5", False),
        ("Qwen/Qwen2.5-VL-72B-Instruct", False),
        ("model-4096", False),
        ("llama-405", False),
        ("chatgpt-4o-latest", False),
    ],
)
def test_names_of_one_version(name: str, expected: bool) -> None:
    assert is_pinned(name) is expected


def test_statements() -> None:
    stated = StatedModels("models/gemini-pro")
    for answer in ({}, {"model": "gemini-pro"}, {"modelVersion": "models/gemini-pro"}, {"model": 3}, {"choices": []}):
        stated.note(answer)
    assert stated.found == frozenset()
    stated.note({"modelVersion": "gemini-pro-002"})
    stated.note({"model": "x", "system_fingerprint": "fp"})
    assert stated.found == {"gemini-pro-002", "x fp"}


# Bad input


def refused(tmp_path: Path, *runs: Path, match: str, **options: Any) -> PlanError:
    """The error; nothing was asked."""
    model = mock()
    with pytest.raises(PlanError, match=match) as error:
        run_tasks([ListTask(docs(3))], model, tmp_path / "new", reuse=runs, **options)
    assert n_asked(model) == 0
    assert not (tmp_path / "new/journal.db").exists()
    return error.value


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    refused(tmp_path, tmp_path / "nowhere", match="nowhere")


def test_a_folder_without_runs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refused(tmp_path, tmp_path / "empty", match="contains no run")


def test_days_without_runs(tmp_path: Path) -> None:
    refused(tmp_path, match="--reuse-days needs runs to reuse", reuse_days=3)


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    run_tasks([ListTask(docs(3))], mock(), tmp_path / "a")
    return tmp_path / "a"


def test_the_run_itself(tmp_path: Path, finished: Path) -> None:
    with pytest.raises(PlanError, match="names no run but this one"):
        run_tasks([ListTask(docs(3))], mock(), finished, reuse=(finished,))


def test_a_run_without_a_journal(tmp_path: Path, finished: Path) -> None:
    (finished / "journal.db").unlink()
    refused(tmp_path, finished, match="has no journal")


def test_a_damaged_manifest(tmp_path: Path, finished: Path) -> None:
    (finished / "run.json").write_text("{")
    refused(tmp_path, finished, match="damaged|not valid JSON")


def test_a_journal_that_is_no_database(tmp_path: Path, finished: Path) -> None:
    (finished / "journal.db").write_bytes(b"nonsense" * 1000)
    refused(tmp_path, finished, match="journal cannot be used")


def test_one_flipped_bit(tmp_path: Path, finished: Path) -> None:
    with sqlite3.connect(finished / "journal.db") as db:
        db.execute("UPDATE responses SET body=replace(body, 'x', 'y') WHERE sample=1")
    error = refused(tmp_path, finished, match="does not match its checksum")
    assert "polymeter verify" in str(error.hint)


def test_an_imported_run(tmp_path: Path, finished: Path) -> None:
    manifest = json.loads((finished / "run.json").read_text())
    (finished / "run.json").write_text(json.dumps({**manifest, "imported": {"title": "lm-eval", "version": "0.4"}}))
    refused(tmp_path, finished, match="it was imported from lm-eval 0.4")


def test_another_parity(tmp_path: Path, finished: Path) -> None:
    manifest = json.loads((finished / "run.json").read_text())
    there = {"system": "evalscope", "version": "1.0", "switched": []}
    (finished / "run.json").write_text(json.dumps({**manifest, "parity": there}))
    refused(tmp_path, finished, match="its --parity is evalscope, and that of this run is none")


def test_a_damaged_run_in_a_folder_of_runs_is_left_out(tmp_path: Path, finished: Path) -> None:
    shutil.copytree(finished, tmp_path / "broken")
    (tmp_path / "broken/journal.db").unlink()
    notes: list[str] = []

    class Notes(polymeter.core.records.progress.Silence):
        def note(self, text: str) -> None:
            notes.append(text)

    run_tasks([ListTask(docs(3))], mock(), tmp_path / "new", reuse=(tmp_path,), progress=Notes())
    assert counts(tmp_path / "new") == (3, {})
    assert [note for note in notes if "broken is left out" in note]


def test_a_missing_image_is_told_and_drawn_again(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        made = ask("draw", sample)
        yield Request(made.messages, GenerateImage(seed=sample.index), made.origin)

    def draw(request: Request) -> Response:
        assert isinstance(request.parameters, GenerateImage)
        colour = (request.parameters.seed or 0, 0, 0)
        return Response((Output(text="here", images=(pil.new("RGB", (2, 2), colour),)),))

    run_tasks([ListTask(docs(3), play=play)], mock(draw), tmp_path / "a")
    sorted((tmp_path / "a/media").rglob("*.png"))[0].unlink()
    notes: list[str] = []

    class Notes(polymeter.core.records.progress.Silence):
        def note(self, text: str) -> None:
            notes.append(text)

    model = mock(draw)
    run_tasks([ListTask(docs(3), play=play)], model, tmp_path / "b", reuse=(tmp_path / "a",), progress=Notes())
    assert counts(tmp_path / "b") == (2, {"an image of the answer is missing": 1})
    assert n_asked(model) == 1
    assert [note for note in notes if "images of 1 answer of the run a are missing" in note]


OLD = "an older version stored the answer, without proof of what was sent"


def as_of_old_version(run: Path, *, reading: int = 2, has_parts: bool = True) -> None:
    """Take the keys out of a run, as versions wrote it that had none."""
    with sqlite3.connect(run / "journal.db") as db:
        for number, body in db.execute("SELECT id, body FROM parts").fetchall():
            facts = {name: value for name, value in json.loads(body).items() if name != "answer_keys"}
            facts["rules"]["reading"] = reading
            db.execute("UPDATE parts SET body=? WHERE id=?", (json.dumps(facts), number))
        for fingerprint, sample, body in db.execute("SELECT fingerprint, sample, body FROM responses").fetchall():
            plain = {name: value for name, value in json.loads(body).items() if name != "content_key"}
            where = (json.dumps(plain), fingerprint, sample)
            db.execute("UPDATE responses SET body=?, checksum=NULL WHERE fingerprint=? AND sample=?", where)
        if not has_parts:
            db.execute("UPDATE responses SET part=NULL")


def lists_texts(sample: Sample) -> RolloutSteps:
    made = ask("q", sample)
    yield Request((Message("user", (Text("a"), Text(sample.id)), is_listed=True),), made.parameters, made.origin)


def shows(sample: Sample) -> RolloutSteps:
    yield ask("q", sample, image=Image(pil.new("RGB", (3, 3), (sample.index, 0, 0)), key=f"row {sample.index}"))


@pytest.mark.parametrize(
    ("play", "old", "expected"),
    [
        (None, {}, (3, {})),
        (None, {"reading": 1}, (0, {OLD: 3})),
        (None, {"has_parts": False}, (0, {OLD: 3})),
        (lists_texts, {}, (0, {OLD: 3})),
        (shows, {}, (0, {OLD: 3})),
    ],
    ids=["texts", "cut answers", "no parts", "listed texts", "images"],
)
def test_runs_of_old_versions_prove_what_was_sent_in_texts_alone(
    tmp_path: Path, play: Any, old: dict[str, Any], expected: Any
) -> None:
    run_tasks([ListTask(docs(3), play=play)], mock(), tmp_path / "a")
    as_of_old_version(tmp_path / "a", **old)
    run_tasks([ListTask(docs(3), play=play)], mock(), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == expected


def test_every_answer_is_found_however_many_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymeter.run.reuse.index._AT_ONCE", 3)
    run_tasks([ListTask(docs(20))], mock(), tmp_path / "a")
    run_tasks([ListTask(docs(20))], mock(), tmp_path / "b", reuse=(tmp_path / "a",))
    assert counts(tmp_path / "b") == (20, {})


def test_the_source_is_not_changed(tmp_path: Path, finished: Path) -> None:
    with sqlite3.connect(finished / "journal.db") as db:
        before = [*db.execute("SELECT * FROM responses")]
    run_tasks([ListTask(docs(3))], mock(), tmp_path / "b", reuse=(finished,))
    with sqlite3.connect(finished / "journal.db") as db:
        assert [*db.execute("SELECT * FROM responses")] == before
    journal = Journal(tmp_path / "b/journal.db")
    assert all(b'"reused":{"run":"a"' in body for *_, body in journal.all_answers())
    journal.close()
