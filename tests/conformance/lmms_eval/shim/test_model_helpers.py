"""What model files written for lmms-eval import beside its base class: media, batches, figures, switches."""

from __future__ import annotations

import base64
import importlib
import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError
from polymeter.data.media import open_image
from polymeter.guests import FunctionRef, resolve
from polymeter.interop.lmms_eval.shim.lmms_eval import concurrency as concurrency_control
from polymeter.interop.lmms_eval.shim.lmms_eval import figures as gen_metrics
from polymeter.interop.lmms_eval.shim.lmms_eval import figures as usage_metrics
from polymeter.interop.lmms_eval.shim.lmms_eval import imports, utils
from polymeter.interop.lmms_eval.shim.lmms_eval import media as load_video
from polymeter.interop.lmms_eval.shim.lmms_eval import media as media_encoder
from polymeter.interop.lmms_eval.shim.lmms_eval import wrappers as parallel
from polymeter.interop.lmms_eval.shim.lmms_eval import wrappers as progress
from polymeter.interop.lmms_eval.shim.lmms_eval.filters import parse_reasoning_model_answer
from polymeter.interop.lmms_eval.shim.lmms_eval.mcp import MCPClient
from polymeter.interop.lmms_eval.shim.lmms_eval.media import downsample_audio, split_audio
from polymeter.interop.lmms_eval.shim.lmms_eval.samplers import ContextSampler, get_sampler
from polymeter.interop.lmms_eval.shim.lmms_eval.wrappers import make_context

SURFACE = {
    "lmms_eval.imports": "optional_import require_package is_package_available MissingOptionalDependencyError",
    "lmms_eval.models": "get_model list_available_models MODEL_REGISTRY_V2 AVAILABLE_MODELS",
    "lmms_eval.models.registry_v2": "ModelManifest",
    "lmms_eval.models.chat._chat_base": "ChatMixin VIDEO_KWARGS IMAGE_KWARGS",
    "lmms_eval.models.model_utils.audio_processing": "downsample_audio split_audio",
    "lmms_eval.models.model_utils.concurrency_control": "AdaptiveConcurrencyConfig decide_next_concurrency parse_bool "
    "is_rate_limit_error make_prefix_hash extract_text_prefix_from_chat_messages",
    "lmms_eval.models.model_utils.gen_metrics": "log_metrics GenMetrics reset_logged_metrics summarize_logged_metrics",
    "lmms_eval.models.model_utils.load_video": "read_video read_video_pyav read_video_pyav_pil read_video_pyav_base64 "
    "load_video_decord",
    "lmms_eval.models.model_utils.media_encoder": "encode_image_to_base64 encode_image_to_data_url "
    "encode_image_to_bytes encode_image_to_base64_with_size_limit",
    "lmms_eval.models.model_utils.parallel": "ParallelPlan resolve_local_rank_device",
    "lmms_eval.models.model_utils.progress": "make_progress SlurmProgress",
    "lmms_eval.models.model_utils.qwen.qwen_generate_utils": "make_context",
    "lmms_eval.models.model_utils.reasoning_model_utils": "parse_reasoning_model_answer",
    "lmms_eval.models.model_utils.usage_metrics": "log_usage is_budget_exceeded get_running_totals set_budget "
    "summarize_usage_metrics reset_usage_metrics set_task_context",
    "lmms_eval.mcp": "MCPClient",
    "lmms_eval.mcp.client": "MCPClient",
    "lmms_eval.api.samplers": "ContextSampler FirstNSampler get_sampler",
    "lmms_eval.evaluator": "simple_evaluate evaluate",
    "lmms_eval.tasks": "TaskManager get_task_dict",
    "lmms_eval.loggers": "EvaluationTracker WandbLogger",
    "lmms_eval.__main__": "cli_evaluate parse_eval_args",
    "lmms_eval.utils": "Collator Grouper MultiTokenEOSCriteria pattern_match stop_sequences_criteria",
}


@pytest.mark.parametrize("module", SURFACE)
def test_a_model_file_can_import_it(module: str, tmp_path: Path) -> None:
    names = SURFACE[module].split()
    (tmp_path / "utils.py").write_text(
        f"from {module} import {', '.join(names)}\n\ndef found():\n    return [{', '.join(names)}]\n"
    )
    assert len(resolve(FunctionRef("utils", "found", tmp_path, tmp_path / "t.yaml", 1))()) == len(names)


def test_a_wrapper_s_neighbours_are_found_by_their_place_in_the_tree(tmp_path: Path) -> None:
    for name in ("simple", "chat"):
        (tmp_path / name).mkdir()
    (tmp_path / "simple" / "base.py").write_text("from lmms_eval.api.model import lmms\n\nclass Base(lmms): pass\n")
    (tmp_path / "chat" / "derived.py").write_text(
        "from lmms_eval.models.simple.base import Base\n"
        "from lmms_eval.models.chat._chat_base import ChatMixin\n\n"
        "def found():\n    return type('Derived', (ChatMixin, Base), {})\n"
    )
    derived = resolve(FunctionRef("derived", "found", tmp_path / "chat", tmp_path / "t.yaml", 1))()
    assert [cls.__name__ for cls in derived.__mro__[:4]] == ["Derived", "ChatMixin", "Base", "lmms"]


def test_packages_that_may_be_missing() -> None:
    assert imports.optional_import("math", "tau")[1]
    assert imports.optional_import("math") == (importlib.import_module("math"), True)
    assert imports.optional_import("no_such_package", "x", fallback=3) == (3, False)
    assert imports.optional_import("math", "no_such_name") == (None, False)
    assert imports.is_package_available("json")
    assert not imports.is_package_available("no_such_package.inner")
    imports.require_package("json")
    with pytest.raises(ImportError, match=r"'no_such_package', needed for videos, .* pip install no_such_package"):
        imports.require_package("no_such_package", feature="videos")
    lazy = imports.make_lazy_getattr({"tau": ("math", "tau")})
    assert lazy("tau") == importlib.import_module("math").tau
    with pytest.raises(AttributeError, match="'pi'"):
        lazy("pi")


def test_batches_by_settings_that_hold_lists() -> None:
    requests = [("c", {"until": ["a"], "n": 1}), ("b", {"n": 1, "until": ["a"]}), ("a", {"until": ["b"], "n": 1})]
    collator = utils.Collator(requests, lambda request: request[0], grouping=True)
    assert [[text for text, _ in batch] for batch in collator.get_batched(n=8)] == [["b", "c"], ["a"]]
    assert collator.get_original(["B", "C", "A"]) == ["C", "B", "A"]


def test_batches_whose_size_a_function_gives() -> None:
    collator = utils.Collator(list(range(5)), lambda item: -item)
    seen: list[tuple[int, int]] = []

    def size(place: int, items: Any) -> int:
        seen.append((place, len(items)))
        return 1 if place == 0 else 3

    assert list(collator.get_batched(batch_fn=size)) == [[4], [3, 2, 1], [0]]
    assert seen[0] == (0, 5)
    assert collator.get_original(list("edcba")) == list("abcde")


def test_all_in_one_batch_and_names_that_fit() -> None:
    assert list(utils.Collator([2, 1], lambda item: item).get_batched(n=0)) == [[1, 2]]
    assert utils.pattern_match("m*", ["mme", "mmmu", "ai2d"]) == ["mme", "mmmu"]
    assert utils.pattern_match(["ai2d", "mm?"], ["mme", "mmmu", "ai2d"]) == ["ai2d", "mme"]
    assert list(utils.create_iterator(range(10), 0, 1, limit=2, offset=3)) == [3, 4]
    with pytest.raises(ValueError, match="whole numbers"):
        utils.create_iterator([], 0, 1, limit=0.5)


def test_stopping_waits_for_every_row() -> None:
    torch = pytest.importorskip("torch")
    tokenizer = SimpleNamespace(
        encode=lambda text, add_special_tokens: [ord(letter) for letter in text],
        batch_decode=lambda rows: ["".join(chr(int(token)) for token in row) for row in rows],
    )
    criterion = utils.MultiTokenEOSCriteria("\n\n", tokenizer, 2, 2)
    rows = ["\n\na\n", "\n\nbc"]

    def step(more: str) -> bool:
        for place, letter in enumerate(more):
            rows[place] += letter
        return criterion(torch.tensor([[ord(letter) for letter in row] for row in rows]), None)

    assert [step("\n."), step("x\n"), step("xx"), step("x\n"), step("y\n")] == [False, False, False, False, True]


def test_tokens_become_rows_of_one_length() -> None:
    torch = pytest.importorskip("torch")
    rows = [torch.tensor([1, 2]), torch.tensor([[3]])]
    assert utils.pad_and_concat(3, rows).tolist() == [[1, 2, 0], [3, 0, 0]]
    assert utils.pad_and_concat(3, rows, padding_side="left").tolist() == [[0, 1, 2], [0, 0, 3]]
    assert utils.get_dtype("float16") is torch.float16
    assert utils.get_dtype("auto") == "auto"


# --- video ---


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Thirty frames at ten a second; frame ``i`` has a brightness of ``8 * i``."""
    av = pytest.importorskip("av")
    path = tmp_path_factory.mktemp("video") / "clip.mp4"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=10, options={"crf": "1"})
        stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv444p"
        for number in range(30):
            frame = av.VideoFrame.from_ndarray(np.full((32, 64, 3), 8 * number, np.uint8), format="rgb24")
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return str(path)


def numbers(frames: Any) -> list[int]:
    return [round(float(np.asarray(frame).mean()) / 8) for frame in frames]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 4, 8, 12, 16, 20, 24, 29]),
        ({"num_frm": 4}, [0, 9, 19, 29]),
        ({"num_frm": 1}, [0]),
        ({"num_frm": 1, "force_include_last_frame": True}, [29]),
        ({"num_frm": 99}, list(range(30))),
        ({"num_frm": 8, "fps": 1}, [0, 14, 29]),
        ({"num_frm": 8, "fps": 0.1}, [0]),
        ({"num_frm": 2, "backend": "torchcodec"}, [0, 29]),
    ],
)
def test_frames_of_a_video(clip: str, options: dict[str, Any], expected: list[int]) -> None:
    frames = load_video.read_video(clip, **options)
    assert (frames.dtype, frames.shape) == (np.uint8, (len(expected), 32, 64, 3))
    assert numbers(frames) == expected


def test_frames_under_their_older_names(clip: str) -> None:
    assert load_video.read_video_pyav is load_video.read_video
    assert numbers(load_video.load_video_decord([clip], 3)) == [0, 14, 29]
    many = load_video.load_video_decord(clip, 60)
    assert many.shape[0] == 60
    assert numbers(many)[:5] == [0, 0, 0, 1, 1]
    resized = load_video.read_video_pyav_pil(clip, num_frm=2, max_image_size=16)
    assert [picture.size for picture in resized] == [(16, 16), (16, 16)]
    (small,) = load_video.read_video_pyav_pil(clip, num_frm=1, max_image_size=16, resize_strategy="thumbnail")
    assert small.size == (16, 8)
    encoded = load_video.read_video_pyav_base64(clip, num_frm=2, img_format="JPEG")
    assert numbers(Image.open(io.BytesIO(base64.b64decode(text))) for text in encoded) == [0, 29]


def test_videos_that_cannot_be_read(clip: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        load_video.read_video(str(tmp_path / "no.mp4"))
    with pytest.raises(ValueError, match="rgb24"):
        load_video.read_video(clip, format="yuv420p")
    with pytest.raises(ValueError, match="Known: pyav, torchcodec, dali"):
        load_video.read_video(clip, backend="opencv")
    with pytest.raises(TypeError, match="by its path, not by a int"):
        load_video.read_video(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Known: resize, thumbnail"):
        load_video.read_video_pyav_pil(clip, resize_strategy="crop")


# --- sound ---


def test_sounds_at_another_rate_and_in_pieces() -> None:
    seconds = np.arange(16_000) / 16_000
    tone = np.sin(2 * np.pi * 440 * seconds)
    half = downsample_audio(tone, 16_000, 8_000)
    assert (half.dtype, half.shape) == (np.float32, (8_000,))
    np.testing.assert_allclose(half[100:-100], tone[::2][100:-100], atol=1e-3)
    assert downsample_audio(np.stack([tone, tone]), 16_000, 8_000).shape == (2, 8_000)
    assert [len(piece) for piece in split_audio(tone, 7_000)] == [7_000, 7_000, 2_000]


# --- images ---


def test_images_as_text(tmp_path: Path) -> None:
    picture = Image.new("RGBA", (4, 3), (255, 0, 0, 128))
    url = media_encoder.encode_image_to_data_url(picture, image_format="jpg", convert_rgb=True, quality=90)
    kind, _, text = url.partition(";base64,")
    decoded = Image.open(io.BytesIO(base64.b64decode(text)))
    assert (kind, decoded.format, decoded.size, picture.mode) == ("data:image/jpeg", "JPEG", (4, 3), "RGBA")
    assert media_encoder.encode_image_to_data_url(picture, mime_type="image/x").startswith("data:image/x;base64,")
    path = tmp_path / "a.png"
    picture.save(path)
    before = media_encoder.encode_image_to_base64(str(path))
    Image.new("L", (9, 9)).save(path)
    after = media_encoder.encode_image_to_base64(str(path))
    assert Image.open(io.BytesIO(base64.b64decode(before))).size == (4, 3)
    assert Image.open(io.BytesIO(base64.b64decode(after))).size == (9, 9)
    cache: dict[tuple[object, ...], str] = {}
    assert media_encoder.encode_image_to_base64(picture, cache=cache) == next(iter(cache.values()))
    assert media_encoder.encode_image_to_base64(picture, cache=cache) is next(iter(cache.values()))


def test_an_image_of_the_dataset_goes_out_as_it_came_in() -> None:
    buffer = io.BytesIO()
    Image.effect_noise((32, 32), 50).convert("RGB").save(buffer, "JPEG", quality=35)
    data = buffer.getvalue()
    assert media_encoder.encode_image_to_bytes(open_image(data), image_format="JPEG") == data
    limited = media_encoder.encode_image_to_base64_with_size_limit(
        open_image(data), max_size_bytes=len(data), image_format="JPEG"
    )
    assert base64.b64decode(limited) == data
    touched = open_image(data)
    assert touched is not None
    touched.putpixel((0, 0), (1, 2, 3))
    assert media_encoder.encode_image_to_bytes(touched, image_format="JPEG") != data
    assert media_encoder.encode_image_to_bytes(open_image(data))[:4] == b"\x89PNG"


def test_images_shrink_until_they_fit() -> None:
    noise = Image.effect_noise((400, 300), 80)
    text = media_encoder.encode_image_to_base64_with_size_limit(noise, max_size_bytes=60_000)
    data = base64.b64decode(text)
    assert len(data) <= 60_000
    assert Image.open(io.BytesIO(data)).size in [(225, 168), (168, 126)]
    smallest = media_encoder.encode_image_to_base64_with_size_limit(noise, max_size_bytes=1, min_side=200)
    assert Image.open(io.BytesIO(base64.b64decode(smallest))).height <= 200


# --- figures ---


@pytest.fixture
def clean_figures() -> Iterator[None]:
    gen_metrics.reset_logged_metrics()
    usage_metrics.reset_usage_metrics()
    yield
    gen_metrics.reset_logged_metrics()
    usage_metrics.reset_usage_metrics()


@pytest.mark.usefixtures("clean_figures")
def test_speeds_that_wrappers_report() -> None:
    assert gen_metrics.summarize_logged_metrics() == {}
    gen_metrics.log_metrics(total_elapsed_time=2.0, total_gen_tokens=10, avg_speed=5.0, additional_metrics={"rank": 0})
    gen_metrics.log_metrics(
        e2e_latency=3.0, total_tokens=40, avg_speed=1.0, additional_metrics={"rank": 1, "num_requests": 4}
    )
    assert len(gen_metrics.get_logged_metrics_history()) == 2
    assert gen_metrics.summarize_logged_metrics() == {
        "total_gen_tokens": 50, "total_elapsed_time": 5.0, "avg_speed": 10.0, "avg_latency": 1.25, "avg_rank": 0.5,
    }  # fmt: skip
    with gen_metrics.GenMetrics() as metrics:
        metrics.stop_timer()
        metrics.log_metric(["two words", "one"], {"batch": 2})
    assert (metrics.metrics["num_tokens"], metrics.metrics["batch"]) == (4.5, 2)
    assert gen_metrics.calculate_token_throughput(3, 0) == 0


@pytest.mark.usefixtures("clean_figures")
def test_tokens_that_wrappers_count() -> None:
    assert usage_metrics.summarize_usage_metrics() == {}
    usage_metrics.set_budget(20)
    usage_metrics.set_task_context("mme")
    usage_metrics.log_usage("m", input_tokens=10, output_tokens=5)
    assert not usage_metrics.is_budget_exceeded()
    usage_metrics.log_usage("m", task_name="ai2d", output_tokens=4, reasoning_tokens=1, source="judge")
    assert usage_metrics.is_budget_exceeded()
    total = {"input_tokens": 10, "output_tokens": 9, "reasoning_tokens": 1, "total_tokens": 20, "n_api_calls": 2}
    assert usage_metrics.get_running_totals() == total
    summary = usage_metrics.summarize_usage_metrics()
    assert summary["total"] == total
    assert {task: found["total_tokens"] for task, found in summary["by_task"].items()} == {"mme": 15, "ai2d": 5}
    assert {source: found["n_api_calls"] for source, found in summary["by_source"].items()} == {"model": 1, "judge": 1}
    usage_metrics.reset_usage_metrics()
    assert not usage_metrics.is_budget_exceeded()


def test_progress_only_counts() -> None:
    with progress.make_progress(total=3, desc="Responding") as bar:
        bar.set_description("Still responding")
        bar.set_postfix(tokens=3)
        bar.update()
        bar.update(2)
    assert (bar.n, bar.total, bar.desc) == (3, 3, "Still responding")


# --- switches ---

CALM = {"current_concurrency": 10, "total_requests": 100, "failed_requests": 0, "rate_limited_requests": 0}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 12),
        ({"latencies": [0.9]}, 10),
        ({"latencies": [1.2]}, 5),
        ({"failed_requests": 10}, 5),
        ({"failed_requests": 4}, 10),
        ({"rate_limited_requests": 1}, 10),
        ({"rate_limited_requests": 5}, 5),
        ({"current_concurrency": 15}, 16),
        ({"current_concurrency": 3, "failed_requests": 50}, 2),
        ({"total_requests": 0}, 10),
    ],
)
def test_the_pace_of_a_wrapper(change: dict[str, Any], expected: int) -> None:
    config = concurrency_control.AdaptiveConcurrencyConfig.from_raw(2, 16, 1.0, 0.2, 0.5, 0.05)
    given = {**CALM, "latencies": [0.5] * 10, **change}
    decision = concurrency_control.decide_next_concurrency(config=config, **given)
    assert decision.next_concurrency == expected


def test_words_of_endpoints() -> None:
    raw = concurrency_control.AdaptiveConcurrencyConfig.from_raw(0, -1, 0, 0, 2, 7)
    assert raw == concurrency_control.AdaptiveConcurrencyConfig(1, 1, 0.1, 0.01, 0.95, 1.0)
    assert [concurrency_control.parse_bool(value) for value in (True, "Yes", "on", 1, 0, None, "x")] == [
        True, True, True, True, False, False, False,
    ]  # fmt: skip
    assert concurrency_control.is_rate_limit_error("Error code: 429")
    assert not concurrency_control.is_rate_limit_error("bad request")
    assert concurrency_control.compute_p95(range(1, 101)) == 95
    same = [concurrency_control.make_prefix_hash(text, 3) for text in ("abcd", "abce")]
    assert same[0] == same[1]
    messages = [{"role": "system", "content": "ab"}, {"content": [{"type": "image_url"}, {"text": "cd"}, "ef"]}, 3]
    assert concurrency_control.extract_text_prefix_from_chat_messages(messages, 5) == "abcde"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>B?</think><answer> A </answer>", "A"),
        (r"so \boxed{ 12 }", "12"),
        (r"<answer>1</answer> \boxed{2}", "1"),
        ("<think>x</think> plain ", "plain"),
    ],
)
def test_answers_of_reasoning_models(text: str, answer: str) -> None:
    assert parse_reasoning_model_answer(text) == answer


def test_places_among_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert parallel.ParallelPlan.from_env() == parallel.ParallelPlan(0, 0, 1, 1)
    assert parallel.resolve_local_rank_device("cuda:3") == "cuda:3"
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "8")
    plan = parallel.ParallelPlan.from_env(tp_size=2)
    assert (plan.global_rank, plan.dp_size) == (5, 4)
    assert parallel.resolve_local_rank_device("cpu", plan) == "cpu"


class Letters:
    """A tokenizer whose tokens are letters."""

    im_start_id, im_end_id, IMAGE_ST = -1, -2, ("<img>",)

    def encode(self, text: str, allowed_special: Any = None) -> list[int]:
        return [ord(letter) for letter in text]


def shown(tokens: list[int]) -> str:
    return "".join({-1: "<|im_start|>", -2: "<|im_end|>"}.get(token) or chr(token) for token in tokens)


def test_prompts_of_the_first_qwen_vl() -> None:
    text, tokens = make_context(Letters(), "q", history=[("a", "b"), ("c", "d")], system="s")
    assert text == shown(tokens)
    assert text.split("<|im_start|>") == [
        "", "system\ns<|im_end|>\n", "user\na<|im_end|>\n", "assistant\nb<|im_end|>\n", "user\nc<|im_end|>\n",
        "assistant\nd<|im_end|>\n", "user\nq<|im_end|>\n", "assistant\n",
    ]  # fmt: skip
    shorter, _ = make_context(Letters(), "q", history=[("a", "b"), ("c", "d")], system="s", max_window_size=40)
    assert "user\nc" in shorter
    assert "user\na" not in shorter
    assert make_context(Letters(), "q", chat_format="raw") == ("q", [ord("q")])
    with pytest.raises(PlanError, match="'alpaca'"):
        make_context(Letters(), "q", chat_format="alpaca")


def test_tools_are_refused_when_they_are_wanted() -> None:
    with pytest.raises(PlanError, match="mcp_server_path"):
        MCPClient("server.py")


def test_examples_that_code_writes_itself() -> None:
    docs = [{"q": f"q{i}", "a": i % 2} for i in range(4)]
    config = SimpleNamespace(
        fewshot_split="train", test_split="test", target_delimiter=" ", fewshot_delimiter="\n", doc_to_choice=["x", "y"]
    )
    task = SimpleNamespace(
        config=config,
        doc_to_text=lambda doc: doc["q"],
        doc_to_target=lambda doc: doc["a"],
        doc_to_choice=lambda doc: ["x", "y"],
    )
    assert get_sampler("first_n")(docs, task).get_context(docs[3], 2) == "q0 x\nq1 y\n"
    config.fewshot_split = "test"
    assert get_sampler("first_n")(docs, task).get_context(docs[0], 2) == "q1 y\nq2 x\n"
    first = SimpleNamespace(sample=lambda population, n: list(population)[-n:])
    assert ContextSampler(docs, task, rnd=first).get_context(docs[3], 1) == "q2 x\n"
    with pytest.raises(ValueError, match="Known: default, first_n"):
        get_sampler("balanced")


def test_frames_are_picked_by_anybody_s_rule(clip: str) -> None:
    from polymeter.data.video import picked_frames

    seen: list[Any] = []

    def pick(times: Any, end: Fraction) -> list[int]:
        seen.append((len(times), end))
        return [5, 2, 5]

    assert numbers(picked_frames(clip, pick)) == [5, 2, 5]
    assert seen == [(30, Fraction(3))]
