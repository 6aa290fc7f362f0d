"""The Hugging Face Hub: a folder that ``datasets`` reads, and what a server in place of the Hub is sent."""

from __future__ import annotations

import base64
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
from huggingface_hub import metadata_load
from huggingface_hub.repocard_data import model_index_to_eval_results

import polymeter
from polymeter import PlanError
from tests.helpers.seen import USED, N

TOKEN = "hf_neverinafile0123456789"


def test_the_folder_is_a_dataset(run: polymeter.RunResult, folder: Path) -> None:
    import datasets

    assert polymeter.log_run(run, "hub", folder="repo") == "repo"
    cache = str(folder / "cache")
    numbers = datasets.load_dataset("repo", "results", split="results", cache_dir=cache)
    result = run.result("seen", "answer")
    (row,) = [row for row in numbers if row["name"] == "seen/answer"]
    assert (row["value"], row["stderr"], row["n"], row["run"]) == (result.value, result.stderr, N - 1, "run")
    used = {row["name"]: row["value"] for row in numbers if row["kind"] == "usage"}
    assert used == {f"usage/model/Teller/{name}": value for name, value in USED.items()}
    samples = datasets.load_dataset("repo", "run.seen", split="samples", cache_dir=cache)
    assert [sample["images"][0].size for sample in samples] == [(8, 6 + n % 2) for n in range(N)]
    assert json.loads(Path("repo/run/results.json").read_text()) == json.loads(run.folder.results.read_text())
    assert not list(Path("repo").rglob("run.json"))


def test_a_repository_collects_runs(run: polymeter.RunResult, folder: Path) -> None:
    Path("repo").mkdir()
    Path("repo/README.md").write_text("---\nlicense: mit\nconfigs:\n- config_name: own\n---\n# Mine\n\nText.\n")
    other = folder / "other"
    other.symlink_to(run.folder.path)
    for sent in (run, run, polymeter.open_run(other), run):
        polymeter.log_run(sent, "hub", folder="repo", samples=2)
    card = metadata_load(Path("repo/README.md"))
    text = Path("repo/README.md").read_text()
    assert card is not None
    assert card["license"] == "mit"
    assert [one["config_name"] for one in card["configs"]] == ["own", "results", "run.seen"]
    assert text.count("# Mine") == text.count("<!-- polymeter run -->") == 1
    assert "seen/exact\\_match" in text


def test_the_card_of_a_model_gets_the_numbers(run: polymeter.RunResult, folder: Path) -> None:
    polymeter.log_run(run, "hub", folder="repo", repo="org/results", model="org/vlm", samples=0)
    metadata = metadata_load(Path("repo/model-card.md"))
    assert metadata is not None
    name, results = model_index_to_eval_results(metadata["model-index"])
    (found,) = [one for one in results if one.metric_name == "seen/answer"]
    result = run.result("seen", "answer")
    assert name == "vlm"
    assert (found.metric_type, found.metric_value, found.dataset_name) == ("answer", result.value, "seen")
    assert found.metric_args is not None
    assert found.metric_args["n"] == N - 1
    assert found.source_url == "https://huggingface.co/datasets/org/results"
    assert not list(Path("repo").rglob("samples"))


def test_arguments_are_checked(run: polymeter.RunResult, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(PlanError, match="needs a repository"):
        polymeter.log_run(run, "hub")
    with pytest.raises(PlanError, match="'a/b/c' is not the name of a repository"):
        polymeter.log_run(run, "hub", repo="a/b/c")
    with pytest.raises(PlanError, match=r"token .* is missing.*hf auth login"):
        polymeter.log_run(run, "hub", repo="org/results")


# --- a server in place of the Hub -------------------------------------------------------------------------------------


class Stub(BaseHTTPRequestHandler):
    """Answers what pushing a commit asks for, and keeps what was sent."""

    asked: list[tuple[str, Any]]
    files: dict[str, bytes]

    @property
    def here(self) -> str:
        return f"http://{self.headers['Host']}"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path
        if path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        if "/preupload/" in path:
            paths = [item["path"] for item in json.loads(body)["files"]]
            files = [{"path": one, "uploadMode": "regular", "shouldIgnore": False} for one in paths]
            return self.answer({"files": files})
        if "/commit/" in path:
            lines = [json.loads(line) for line in body.splitlines()]
            self.asked.append((path, lines[0]["value"]["summary"]))
            for line in lines[1:]:
                self.files[f"{path.split('/commit/')[0]}/{line['value']['path']}"] = base64.b64decode(
                    line["value"]["content"]
                )
            place = self.here + path.split("/commit/")[0].removeprefix("/api").removeprefix("/models")
            where = {"commitUrl": f"{place}/commit/{'1' * 40}", "pullRequestUrl": f"{place}/discussions/1"}
            return self.answer({**where, "commitOid": "1" * 40})
        self.asked.append((path, json.loads(body or b"{}")))
        self.answer({"url": f"{self.here}/datasets/org/results", "id": "org/results", "name": "org/results"})

    def do_GET(self) -> None:
        self.missing()

    do_HEAD = do_GET

    def missing(self) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[tuple[str, type[Stub]]]:
    class Own(Stub):
        asked: list[tuple[str, Any]] = []  # noqa: RUF012
        files: dict[str, bytes] = {}  # noqa: RUF012

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", Own
    server.shutdown()
    server.server_close()
    thread.join()


def typed(words: list[str], endpoint: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: huggingface_hub reads the address when it is imported."""
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_TOKEN": TOKEN, "HF_HOME": str(folder / "hf")}
    environment.pop("HF_HUB_OFFLINE", None)
    command = [sys.executable, "-m", "polymeter", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, timeout=100)


def test_what_is_pushed(run: polymeter.RunResult, folder: Path, hub: tuple[str, type[Stub]]) -> None:
    endpoint, stub = hub
    words = ["log", str(run.folder.path), "--to", "hub:repo=org/results,model=org/vlm,samples=3"]
    done = typed(words, endpoint, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"logged   hub, {endpoint}/datasets/org/results\n"
    (made,) = [body for path, body in stub.asked if path == "/api/repos/create"]
    assert (made["name"], made["organization"], made["type"]) == ("results", "org", "dataset")
    assert made.get("visibility", made.get("private")) in ("private", True)
    dataset = {path.removeprefix("/api/datasets/org/results/") for path in stub.files if "/datasets/" in path}
    assert dataset == {"README.md", "run/results.json", "run/numbers.parquet", "run/samples/seen.parquet"}
    (proposed,) = [path for path, _ in stub.asked if path.startswith("/api/models/org/vlm/commit/main")]
    assert proposed.endswith("?create_pr=1")
    assert b"seen/answer" in stub.files["/api/models/org/vlm/README.md"]
    assert not [path for path, content in stub.files.items() if TOKEN.encode() in content]


def test_a_hub_that_is_away_harms_nothing(run: polymeter.RunResult, folder: Path) -> None:
    words = ["log", str(run.folder.path), "--to", "hub:repo=org/results"]
    done = typed(words, "http://127.0.0.1:9", folder)
    assert done.returncode == 1
    assert "Not logged to hub: Sending the run to 'hub' raised" in done.stderr
    assert f"polymeter log {run.folder.path} --to hub:repo=org/results" in done.stderr
    assert TOKEN not in done.stdout + done.stderr
    assert polymeter.open_run(run.folder.path).is_complete
