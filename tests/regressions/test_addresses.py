"""What data names by URL is fetched from public addresses only, and never with credentials."""

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
task: colours
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: "Which colour?"
doc_to_target: colour
metric_list: [{metric: exact_match}]
"""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100"
    "c9fe92ef0000000049454e44ae426082"
)


class Server:
    """An image at every path, and everything that was asked for with its headers."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append((self.path, dict(self.headers)))
                self.send_response(200)
                self.send_header("Content-Type", "image/png")
                self.send_header("Set-Cookie", "a=b")
                self.send_header("Content-Length", str(len(PNG)))
                self.end_headers()
                self.wfile.write(PNG)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.server.shutdown()
    made.server.server_close()


def run(folder: Path, urls: list[str], *words: str, task: str = TASK) -> tuple[list[str], str]:
    """Run a task over images at URLs: the status of each sample, and all that was said."""
    (folder / "utils.py").write_text("def visual(doc):\n    return [doc['url']]\n")
    (folder / "rows.jsonl").write_text("".join(json.dumps({"colour": "red", "url": url}) + "\n" for url in urls))
    (folder / "colours.yaml").write_text(task)
    (folder / ".netrc").write_text("machine 127.0.0.1 login CANARY password CANARYnetrc01\n")
    (folder / ".netrc").chmod(0o600)
    environment = {**os.environ, "HOME": str(folder), "POLYMETER_CACHE_DIR": str(folder / "cache")}
    environment.pop("HF_HUB_OFFLINE", None)
    ended = subprocess.run(
        [sys.executable, "-m", "polymeter", "run", "--model", "mock", "--tasks", "colours.yaml", "-o", "out", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    samples = folder / "out" / "samples" / "colours.jsonl"
    rows = [json.loads(line) for line in samples.read_text().splitlines()] if samples.exists() else []
    return [row["status"] for row in rows], ended.stdout + ended.stderr + json.dumps(rows)


def test_private_addresses_are_refused_however_they_are_written(server: Server, tmp_path: Path) -> None:
    hosts = ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::ffff:127.0.0.1]"]
    urls = [f"http://{host}:{server.port}/{number}.png" for number, host in enumerate(hosts)]
    urls += ["http://169.254.169.254/latest/meta-data/iam.png", "http://[::1]:1/a.png", "http://10.0.0.1:1/a.png"]
    statuses, said = run(tmp_path, urls)
    assert set(statuses) == {"error"}
    assert server.asked == []
    assert "--allow-private-urls" in said


def test_the_user_may_allow_private_addresses(server: Server, tmp_path: Path) -> None:
    statuses, _ = run(tmp_path, [f"http://127.0.0.1:{server.port}/a.png"], "--allow-private-urls")
    assert statuses == ["ok"]
    assert [path for path, _ in server.asked] == ["/a.png"]


def test_no_credentials_go_along(server: Server, tmp_path: Path) -> None:
    urls = [f"http://me:pw@127.0.0.1:{server.port}/user.png"]
    urls += [f"http://127.0.0.1:{server.port}/{number}.png" for number in range(2)]
    statuses, _ = run(tmp_path, urls, "--allow-private-urls")
    assert statuses == ["error", "ok", "ok"]
    for path, headers in server.asked:
        assert "user" not in path
        assert not {name.lower() for name in headers} & {"authorization", "cookie"}


def test_a_table_at_a_private_address_is_refused_in_a_task_file(server: Server, tmp_path: Path) -> None:
    task = TASK.replace("rows.jsonl", f"http://127.0.0.1:{server.port}/rows.jsonl")
    statuses, said = run(tmp_path, [], task=task)
    assert statuses == []
    assert server.asked == []
    assert "not a public address" in said
