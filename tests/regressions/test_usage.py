"""Usage is kept per role and model: what was cached, written, thought and tried in vain, and who took it."""

from __future__ import annotations

import json
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.helpers.judged import judged_folder
from tests.helpers.openai_stub import OpenAIStub, Received, Reply, chat
from tests.helpers.provider_stubs import ProviderStub, claude_says, gemini_says
from tests.helpers.provider_stubs import Reply as ProviderReply
from tests.regressions.endpoints import LIMIT_S, Ended, polymeter, run, started, task_folder

ASKED = [f"question {number}" for number in range(4)]
COUNTED = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 6},
}
SLOW_DOWN = Reply({"error": {"message": "slow down"}}, 429, {"Retry-After": "0"})


def usage_of(folder: Path) -> Any:
    """The usage in ``results.json``, which ``run.json`` has too."""
    found = json.loads((folder / "results.json").read_text()).get("usage_by_role")
    assert json.loads((folder / "run.json").read_text()).get("usage_by_role") == found
    return found


def is_sample(received: Received) -> bool:
    """Whether a request is one of the run's, and not the small one before it."""
    return "question" in str(received.body["messages"])


def _always(reply: ProviderReply, _: Any) -> ProviderReply:
    return reply


def of_openai(**counts: Any) -> dict[str, Any]:
    return {**chat("right"), "usage": counts}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A run of 12 samples with a judge at another endpoint; one request of the model got 429 first."""
    failed = threading.Event()

    def respond(received: Received) -> Any:
        if is_sample(received) and not failed.is_set():
            failed.set()
            return SLOW_DOWN
        return of_openai(**COUNTED)

    folder = tmp_path_factory.mktemp("judged")
    tasks = judged_folder(folder / "tasks")
    with (
        OpenAIStub(respond) as model,
        OpenAIStub(lambda _: {**chat("A"), "usage": {"prompt_tokens": 500, "completion_tokens": 2}}) as judge,
    ):
        options = ("--judge", "openai:j", "--judge-args", f"base_url={judge.base_url}", "--concurrency", "1")
        words = ["run", "--model", "openai:m", "--tasks", "facts", "--include-path", str(tasks)]
        output = folder / "runs" / "judged"
        ended = polymeter(*words, "--base-url", model.base_url, *options, "--output", str(output), folder=output)
    assert ended.code == 0, ended.said
    return ended


def test_a_model_and_its_judge_are_counted_apart(judged: Ended) -> None:
    of_model, of_judge = usage_of(judged.folder)["model"]["openai:m"], usage_of(judged.folder)["judge"]["openai:j"]
    assert of_model == {
        "input": 12 * 60,
        "cached_read": 12 * 40,
        "cached_write": None,
        "output": 12 * 10,
        "reasoning": 12 * 6,
        "images_sent": 0,
        "images_made": 0,
        "audio_s": 0,
        "requests": 12,
        "failed": 1,
        "unknown": {"cached_write": 12},
    }
    assert [of_judge[name] for name in ("input", "output", "requests", "failed")] == [6000, 24, 12, 0]
    assert judged.manifest["usage"] == {"input_tokens": 12 * 600, "output_tokens": 12 * 12}


def test_a_price_is_that_of_the_measured_model(judged: Ended) -> None:
    words = ("leaderboard", str(judged.folder.parent), "--x", "cost", "--price", "openai:m=1/10", "--json")
    document = json.loads(polymeter(*words, folder=judged.folder).said.partition("\n}\n")[0] + "\n}")
    expense = document["models"][0]["expense"]
    assert expense["cost"] == pytest.approx((12 * 100 * 1 + 12 * 10 * 10) / 1e6)
    assert expense["usage"]["judge"]["openai:j"]["input"] == 6000
    assert [note for note in document["notes"] if "judge openai:j: 12 requests, 6,000 tokens in, 24 out" in note]


def test_report_and_trackers_show_each_role(judged: Ended, tmp_path: Path) -> None:
    page = (judged.folder / "report.html").read_text()
    table = page.partition("Usage by role and model")[2].partition("</table>")[0]
    assert "<td>openai:j</td>" in table
    assert "6,000" in table
    assert "unknown" in table  # nobody says what was written to a cache
    ledger = tmp_path / "ledger.py"
    ledger.write_text(
        "import json, pathlib\nfrom polymeter.extend import register_tracker\n\n\n"
        "@register_tracker('ledger')\nclass Ledger:\n"
        "    def __init__(self, *, file: str) -> None:\n        self._file = pathlib.Path(file)\n\n"
        "    def send(self, run):\n"
        "        self._file.write_text(json.dumps(dict(getattr(run, 'usage', {}))))\n        return 'there'\n"
    )
    sent = tmp_path / "sent.json"
    words = ("log", str(judged.folder), "--import", str(ledger), "--to", f"ledger:file={sent}")
    assert polymeter(*words, folder=judged.folder).code == 0
    told = json.loads(sent.read_text())
    assert told["usage/model/openai:m/cached_read"] == 480
    assert told["usage/judge/openai:j/requests"] == 12
    assert "usage/judge/openai:j/cached_read" not in told


def test_scoring_again_keeps_the_totals_and_adds_none(judged: Ended, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert polymeter("score", str(judged.folder), "--output", str(again), folder=again).code == 0
    assert usage_of(again) == usage_of(judged.folder)
    assert usage_of(again) is not None
    assert polymeter("verify", str(again), folder=again).code == 0


def test_a_killed_run_keeps_what_it_has_spent(tmp_path: Path) -> None:
    tasks, output = task_folder(tmp_path / "tasks", ASKED), tmp_path / "run"
    go_on, reached, failed = threading.Event(), threading.Event(), threading.Event()

    def respond(received: Received) -> Any:
        if "question 0" in str(received.body) and not failed.is_set():
            failed.set()
            return SLOW_DOWN
        if "question 3" in str(received.body) and not go_on.is_set():
            reached.set()
            go_on.wait(LIMIT_S)
        return of_openai(**COUNTED)

    with OpenAIStub(respond) as stub:
        child = started("openai:m", tasks, output, "--base-url", stub.base_url, "--concurrency", "1")
        assert reached.wait(LIMIT_S)
        time.sleep(0.5)  # the journal is written at once, by a thread of its own
        child.kill()
        child.communicate()
        go_on.set()
        ended = polymeter("resume", str(output), folder=output)
        n_samples = sum(map(is_sample, stub.received))
    assert ended.code == 0, ended.said
    assert n_samples == 6  # one was refused, and one was on its way when the run was killed
    assert ended.manifest["usage"] == {"input_tokens": 400, "output_tokens": 40}
    of_model = usage_of(output)["model"]["openai:m"]
    assert [of_model[name] for name in ("input", "cached_read", "requests", "failed")] == [240, 160, 4, 1]


@pytest.mark.parametrize(
    ("said", "expected", "why"),
    [
        (
            [{"prompt_tokens": 9, "completion_tokens": 2}, None, {"prompt_tokens": 5}, {}],
            {"input": 14, "output": 2, "requests": 4, "unknown": {"input": 2, "output": 3}},
            "what one answer does not say is unknown and not 0: the sum says of how many",
        ),
        (
            [None] * 4,
            {"input": None, "output": None, "requests": 4, "unknown": {"input": 4, "output": 4}},
            "a server that counts nothing",
        ),
        (
            [{"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cache_write_tokens": 4}}] * 4,
            {"input": 20, "cached_write": 16, "output": 8, "requests": 4, "unknown": {}},
            "tokens that were written to a cache are dearer than others",
        ),
        (
            [{"input_tokens": 20, "output_tokens": 2, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 10}]
            * 4,
            {"input": 80, "cached_read": 280, "cached_write": 40, "output": 8},
            "by Anthropic's names the cached tokens are no part of the others",
        ),
        (
            [{"prompt_tokens": 90, "completion_tokens": 2, "cache_read_input_tokens": 70}] * 4,
            {"input": 360, "cached_read": 280, "output": 8},
            "whatever the name of these is",
        ),
        (
            [{"prompt_tokens": 20, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 70}}] * 4,
            {"input": 80, "cached_read": 280, "output": 8},
            "more than the prompt cannot be a part of it",
        ),
        (
            [
                {
                    "prompt_tokens": 90,
                    "completion_tokens": 2,
                    "prompt_tokens_details": {"cached_tokens": 70},
                    "cache_read_input_tokens": 70,
                    "cache_creation_input_tokens": 10,
                }
            ]
            * 4,
            {"input": 40, "cached_read": 280, "cached_write": 40, "output": 8},
            "a proxy with both names counts as OpenAI does",
        ),
        (
            [{"prompt_tokens": 90, "completion_tokens": 2, "prompt_cache_hit_tokens": 70}] * 4,
            {"input": 80, "cached_read": 280, "output": 8},
            "DeepSeek's are a part of the prompt",
        ),
    ],
    ids=["some", "none", "written", "anthropic", "mixed", "larger", "both", "deepseek"],
)
def test_unknown_is_no_zero(tmp_path: Path, said: list[Any], expected: dict[str, Any], why: str) -> None:
    by_question = dict(zip(ASKED, said, strict=True))

    def respond(received: Received) -> Any:
        counts = by_question.get(str(received.body["messages"][-1]["content"]))
        return {name: value for name, value in {**chat("right"), "usage": counts}.items() if value is not None}

    tasks = task_folder(tmp_path / "tasks", ASKED)
    with OpenAIStub(respond) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url)
    assert ended.code == 0, ended.said
    found = usage_of(tmp_path / "run")["model"]["openai:m"]
    found["unknown"] = {name: n for name, n in found["unknown"].items() if name in ("input", "output")}
    assert {name: found[name] for name in expected} == expected, why


def test_the_caches_of_other_providers_are_counted_alike(tmp_path: Path) -> None:
    claude = claude_says(
        "right",
        usage={
            "input_tokens": 5,
            "cache_creation_input_tokens": 7,
            "cache_read_input_tokens": 30,
            "output_tokens": 9,
            "output_tokens_details": {"thinking_tokens": 4},
        },
    )
    gemini = gemini_says(
        "right",
        usageMetadata={
            "promptTokenCount": 42,
            "cachedContentTokenCount": 30,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 4,
        },
    )
    tasks = task_folder(tmp_path / "tasks", ASKED)
    found = {}
    for model, reply, key in (("anthropic:m", claude, "ANTHROPIC_API_KEY"), ("gemini:m", gemini, "GEMINI_API_KEY")):
        output = tmp_path / key
        with ProviderStub(partial(_always, reply)) as stub:
            ended = run(model, tasks, output, "--model-args", f"base_url={stub.url}", **{key: "k"})
        assert ended.code == 0, ended.said
        own = usage_of(output)["model"][model]
        found[model] = [own[name] for name in ("input", "cached_read", "cached_write", "output", "reasoning")]
    assert found == {"anthropic:m": [20, 120, 28, 36, 16], "gemini:m": [48, 120, None, 36, 16]}


def test_repeats_of_one_call_are_counted_once(tmp_path: Path) -> None:
    def respond(received: Received) -> Any:
        n = received.body.get("n", 1)
        return {**chat("right", n=n), "usage": {"prompt_tokens": 10, "completion_tokens": 2 * n}}

    tasks = task_folder(tmp_path / "tasks", ASKED)
    (tasks / "said.yaml").write_text((tasks / "said.yaml").read_text() + "repeats: 4\n")
    arguments = ("--model-args", "join_repeats=true")
    with OpenAIStub(respond) as stub:
        ended = run("openai:m", tasks, tmp_path / "run", "--base-url", stub.base_url, *arguments)
        sizes = [body.get("n", 1) for body in stub.bodies if "question" in str(body)]
    assert ended.code == 0, ended.said
    assert sizes == [4] * 4
    own = usage_of(tmp_path / "run")["model"]["openai:m"]
    assert [own[name] for name in ("input", "output", "requests")] == [40, 32, 16]
    assert not {"input", "output"} & own["unknown"].keys()


@pytest.mark.parametrize(
    "counts", [{"usage": {"prompt_tokens": 9, "completion_tokens": 2}}, {}], ids=["told", "untold"]
)
@pytest.mark.parametrize(("is_joined", "n_sent"), [("true", 4), ("false", 12)])
def test_images_of_one_call_are_counted_once(
    tmp_path: Path, counts: dict[str, Any], is_joined: str, n_sent: int
) -> None:
    tasks = task_folder(tmp_path / "tasks", ASKED)
    Image.new("RGB", (8, 8)).save(tasks / "dot.png")
    (tasks / "shown.py").write_text(
        f"from PIL import Image\n\n\ndef shown(doc):\n    return [Image.open({str(tasks / 'dot.png')!r})]\n"
    )
    more = "doc_to_visual: !function shown.shown\nrepeats: 3\n"
    (tasks / "said.yaml").write_text((tasks / "said.yaml").read_text() + more)
    with OpenAIStub(lambda received: {**chat("right", n=received.body.get("n", 1)), **counts}) as stub:
        arguments = ("--base-url", stub.base_url, "--model-args", f"join_repeats={is_joined}")
        ended = run("openai:m", tasks, tmp_path / "run", *arguments)
        sent = [str(body).count("'image_url'}") + str(body).count("data:image") for body in stub.bodies]
    assert ended.code == 0, ended.said
    assert sum(sent) == n_sent
    own = usage_of(tmp_path / "run")["model"]["openai:m"]
    assert [own["images_sent"], own["requests"]] == [n_sent, 12]
