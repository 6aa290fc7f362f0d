"""Keys reach no file and no output, whichever way they come in, and changing one asks nothing again.

Every way in carries its own canary. The endpoint is on this machine; it repeats what it is sent in its errors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

TASK = """\
task: capitals
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}, token: CANARYyaml0001}
test_split: test
doc_to_text: "What is the capital of {{country}}?"
doc_to_target: capital
generation_kwargs: {max_new_tokens: 8, temperature: 0}
metric_list: [{metric: exact_match}]
"""


class Endpoint:
    """Answers questions about France, and repeats the request with its headers in an error for every other one."""

    def __init__(self) -> None:
        self.n_answered = 0
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                said = f"refused {self.path} {dict(self.headers)!r} {self.headers} {body}"
                message = {"role": "assistant", "content": "Paris"}
                status, reply = 200, {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
                if "ping" not in body and "France" not in body and "Paris" not in body:
                    status, reply = 400, {"error": {"message": said, "code": "bad", "headers": dict(self.headers)}}
                elif "ping" not in body:
                    endpoint.n_answered += 1
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.server_port}"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "capitals.csv").write_text("country,capital\nFrance,Paris\nJapan,Tokyo\n")
    (tmp_path / "capitals.yaml").write_text(TASK)
    return tmp_path


def polymeter(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "polymeter", *words],
        cwd=folder,
        env={**os.environ, "POLYMETER_CACHE_DIR": str(folder / "cache"), "COLUMNS": "400", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def leaks(folder: Path, *ended: subprocess.CompletedProcess[str], inputs: tuple[str, ...] = ()) -> list[str]:
    """Where a canary stands in what was written (besides the test's own inputs) or printed."""
    own = {folder / name for name in ("capitals.yaml", *inputs)}
    found = [
        f"{path.relative_to(folder)}: {context(path.read_bytes())}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path not in own and b"CANARY" in path.read_bytes()
    ]
    for one in ended:
        found += [context(text.encode()) for text in (one.stdout, one.stderr) if "CANARY" in text]
    return found


def context(data: bytes) -> str:
    place = data.find(b"CANARY")
    return data[max(0, place - 80) : place + 40].decode(errors="replace")


def run_words(endpoint: Endpoint, headers: dict[str, str], *more: str, url: str = "") -> list[str]:
    arguments = f"headers={json.dumps(headers)},extra_body={json.dumps({'api_key': 'CANARYbody0001', 'n_best': 7})}"
    base = url or f"http://{endpoint.host}/v1"
    return [
        *("run", "--debug", "--model", "openai:m", "--base-url", base, "--tasks", "capitals.yaml"),
        *("--model-args", arguments, "--max-retries", "0", "--output", "out", *more),
    ]


HEADERS = {
    "Authorization": "Bearer CANARYauth0001",
    "Cookie": "session=CANARYcookie01; theme=CANARYcookie02",
    "X-Team": "CANARYteam0001",
}


def test_no_way_in_leads_out(endpoint: Endpoint, folder: Path) -> None:
    judge = f'base_url=http://{endpoint.host}/v1,api_key_env=MY_JUDGE,headers={{"X-Judge": "CANARYjudge001"}}'
    words = run_words(endpoint, HEADERS, "--judge", "openai:j", "--judge-args", judge)
    words += ["--gen-kwargs", "extra.api_key=CANARYgen00001,top_k=3"]
    secrets = {
        "OPENAI_API_KEY": "CANARYenv00001",
        "MY_JUDGE": "CANARYjudge002",
        "HTTPS_PROXY": "http://proxy:CANARYproxy001@127.0.0.1:9",
    }
    ended = polymeter(folder, *words, **secrets)
    assert ended.returncode == 1, ended.stderr
    assert "Authorization" in (folder / "out" / "run.json").read_text()  # the names stay
    assert "n_best" in (folder / "out" / "run.json").read_text()
    resumed = polymeter(folder, "resume", "out", **secrets)
    scored = polymeter(folder, "score", "out", "--output", "again", **secrets)
    assert leaks(folder, ended, resumed, scored) == []


def test_a_header_of_any_name_is_hidden_and_a_body_field_is_not(endpoint: Endpoint, folder: Path) -> None:
    ended = polymeter(folder, *run_words(endpoint, {"X-Anything": "CANARYplain01"}))
    manifest = json.loads((folder / "out" / "run.json").read_text())
    assert ended.returncode == 1
    arguments = manifest["model"]["spec"]["args"]
    assert arguments["headers"] == {"X-Anything": "***"}
    assert arguments["extra_body"] == {"api_key": "***", "n_best": 7}
    assert "X-Anything" in manifest["command"]
    assert leaks(folder, ended) == []


def test_another_key_asks_nothing_again(endpoint: Endpoint, folder: Path) -> None:
    first = polymeter(folder, *run_words(endpoint, {"Authorization": "Bearer CANARYone00001"}))
    n_asked = endpoint.n_answered
    other = run_words(endpoint, {"Authorization": "Bearer CANARYtwo00002"})
    again = polymeter(folder, *(word.replace("body0001", "body0002") for word in other))
    assert first.returncode == again.returncode == 1, again.stderr
    assert n_asked == endpoint.n_answered == 1
    assert leaks(folder, first, again) == []


def test_the_user_of_an_address_is_hidden(endpoint: Endpoint, folder: Path) -> None:
    for user in ("me:CANARYuser0001", "CANARYuser0002"):
        words = run_words(endpoint, {"X-A": "b"}, "--restart", url=f"http://{user}@{endpoint.host}/v1")
        ended = polymeter(folder, *words, OPENAI_API_KEY="")
        assert ended.returncode == 1, ended.stderr
        assert "refused" in ended.stdout + (folder / "out" / "samples" / "capitals.jsonl").read_text()
        assert leaks(folder, ended) == []


@pytest.mark.control
def test_a_key_in_the_query_of_an_address_is_hidden(endpoint: Endpoint, folder: Path) -> None:
    url = f"http://{endpoint.host}/v1?api_key=CANARYquery001"
    ended = polymeter(folder, *run_words(endpoint, {}, url=url), "--quiet")
    assert leaks(folder, ended) == []


def test_an_address_that_cannot_be_used_shows_no_key(folder: Path) -> None:
    for url in (
        "http://me:CANARYuser0001@127.0.0.1:1/v1",
        "ftp://me:CANARYuser0001@host/v1",
        "http://CANARYuser0001@ho st:x",
    ):
        ended = polymeter(
            folder, *("run", "--debug", "--model", "openai:m", "--base-url", url, "--tasks", "capitals.yaml")
        )
        assert ended.returncode == 2
        assert leaks(folder, ended) == []


def test_a_wrong_option_beside_a_key_shows_no_key(folder: Path) -> None:
    for words in (
        ["run", "--model", "openai:m", "--model-args", 'headers={"A": "CANARYhead0001"', "--tasks", "capitals.yaml"],
        ["run", "--model", "openai:m", "--model-args", "api_key=CANARYarg00001", "--tasks", "capitals.yaml"],
        ["run", "--model", "openai:m", "--api-key", "CANARYarg00001", "--tasks", "capitals.yaml"],
        ["run", "--model", "openai:m", "--api-key=CANARYarg00001", "--tasks", "capitals.yaml"],
        ["run", "--model", "openai:m", "--data", "a=https://me:CANARYdata0001@h/x.csv", "--tasks", "none"],
    ):
        ended = polymeter(folder, "--debug", *words, OPENAI_API_KEY="CANARYenv00001")
        assert ended.returncode == 2
        assert leaks(folder, ended) == []


@pytest.mark.control
@pytest.mark.needs_system("lmms_eval")
def test_a_wrapper_that_repeats_its_key_leaks_none(folder: Path) -> None:
    (folder / "wrapper.py").write_text(
        "from lmms_eval.api.model import lmms\n"
        "from lmms_eval.api.registry import register_model\n"
        "@register_model('mine')\n"
        "class Mine(lmms):\n"
        "    def __init__(self, api_key='', **kwargs):\n"
        "        super().__init__()\n"
        "        self.api_key = api_key\n"
        "    def generate_until(self, requests):\n"
        "        raise RuntimeError(f'the key {self.api_key} is refused')\n"
        "    def loglikelihood(self, requests): ...\n"
        "    def generate_until_multi_round(self, requests): ...\n"
    )
    ended = polymeter(
        folder,
        *("lmms-eval", "--model", "mine", "--model_path", "wrapper.py", "--include_path", ".", "--tasks", "capitals"),
        *("--model_args", "api_key=CANARYwrap0001,n=1", "--output_path", "out", "--log_samples", "--debug"),
    )
    assert "is refused" in "".join(path.read_text() for path in folder.rglob("run.json")) or ended.returncode
    assert leaks(folder, ended, inputs=("wrapper.py",)) == []


BODY = json.dumps({"headers": {"X-Team": "CANARYteam0001"}, "extra_body": {"api_key": "CANARYbody0001"}})


@pytest.mark.needs_system("evalscope")
def test_evalscopes_command_and_configuration_show_no_key(endpoint: Endpoint, folder: Path) -> None:
    url = f"http://{endpoint.host}/v1/chat/completions"
    judge = {"api_url": url, "api_key": "CANARYjudge001", "model_id": "j"}
    words = ["evalscope", "eval", "--model", "m", "--api-url", url, "--api-key", "CANARYflag0001", "--debug"]
    words += ["--datasets", "capitals", "--include-path", ".", "--model-args", BODY, "--judge-strategy", "llm"]
    flags = polymeter(folder, *words, "--judge-model-args", json.dumps(judge))
    config = {"model": "m", "api_url": url, "api_key": "CANARYfile0001", "datasets": ["capitals"], "debug": True}
    config |= {"model_args": json.loads(BODY), "judge_model_args": judge}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "run.py").write_text("from evalscope import run_task\nrun_task('config.json')\n")
    script = polymeter(folder, "python", "run.py", POLYMETER_INCLUDE_PATH=str(folder))
    for ended in (flags, script):
        assert "capitals" in ended.stdout + ended.stderr
    assert "refused" in "".join(path.read_text() for path in folder.rglob("samples/*.jsonl"))
    assert leaks(folder, flags, script, inputs=("config.json",)) == []


@pytest.mark.control
@pytest.mark.needs_system("ulmeval")
def test_ulmevalkits_command_and_configuration_show_no_key(endpoint: Endpoint, folder: Path) -> None:
    model = {"class": "GPT4V", "model": "openai:m", "base_url": f"http://{endpoint.host}/v1", **json.loads(BODY)}
    (folder / "config.json").write_text(json.dumps({"model": {"openai:m": {}}, "data": {"capitals": {}}}))
    (folder / "other.json").write_text(json.dumps({"model": {"mine": model}, "data": {"capitals": {}}}))
    judge = json.dumps({"key": "CANARYjudge001", "api_base": f"http://{endpoint.host}/v1"})
    environment = {"OPENAI_BASE_URL": f"http://{endpoint.host}/v1", "OPENAI_API_KEY": "CANARYenv00001"}
    more = ["--judge", "j", "--judge-args", judge, "--include-path", "."]
    ended = [
        polymeter(folder, "ulmeval", "run", "--config", name, *more, **environment)
        for name in ("config.json", "other.json")
    ]
    assert "refused" in "".join(path.read_text() for path in folder.rglob("samples/*.jsonl"))
    assert leaks(folder, *ended, inputs=("config.json", "other.json")) == []
