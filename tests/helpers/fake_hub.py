"""A hub of datasets on this machine, with what ``huggingface_hub`` and ``datasets`` ask of the real one: facts of a
repository, its files at a commit, and the files themselves, whole or from a byte on.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit

Files = dict[str, bytes]


@dataclass
class Hub:
    """A running hub.

    Attributes:
        url: Its address.
        commits: By id of a dataset, its commits in order: the name of each, and all its files.
        asked: How often each path was asked for, with the method before it.
        sent_bytes: How many bytes of files were sent.
        starts: From which byte on files were sent, in order.
        cut_after: Break the connection after so many bytes of a file, once; 0: never.
        is_gated: Refuse files to those without a token.
        refused: Ids of datasets about which every question is a bad request.
        damaged: Names of files that are sent with another content of the same size.
    """

    url: str = ""
    commits: dict[str, dict[str, Files]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    sent_bytes: int = 0
    starts: list[int] = field(default_factory=list)
    cut_after: int = 0
    is_gated: bool = False
    refused: set[str] = field(default_factory=set)
    damaged: set[str] = field(default_factory=set)

    def add(self, name: str, files: Mapping[str, bytes]) -> str:
        """Add a commit to a dataset; returns its name."""
        known = self.commits.setdefault(name, {})
        commit = hashlib.sha1(f"{name}{len(known)}{sorted(files)}".encode()).hexdigest()
        known[commit] = dict(files)
        return commit

    def at(self, name: str, revision: str) -> tuple[str, Files] | None:
        """A commit of a dataset and its files."""
        commits = self.commits.get(name, {})
        commit = revision if revision in commits else list(commits)[-1] if commits and revision == "main" else ""
        return (commit, commits[commit]) if commit else None


@contextmanager
def fake_hub() -> Iterator[Hub]:
    """A hub, until the block ends."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length).decode()
            is_json = "json" in (self.headers.get("Content-Type") or "")
            asked = json.loads(body) if is_json else parse_qs(body)
            self.answer([*asked.get("paths", ())])

        def answer(self, paths: list[str] | None = None) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked[f"{self.command} {path}"] += 1
            if any(name in path for name in hub.refused):
                self.refuse("BadRequest", status=400)
            elif path.startswith("/api/datasets/"):
                self.facts(path.removeprefix("/api/datasets/"), paths)
            elif path.startswith("/datasets/") and "/resolve/" in path:
                name, _, rest = path.removeprefix("/datasets/").partition("/resolve/")
                revision, _, file = rest.partition("/")
                self.file(name, revision, file)
            else:
                self.refuse("EntryNotFound")

        def facts(self, path: str, paths: list[str] | None) -> None:
            parts = path.split("/")
            name, rest = "/".join(parts[:2]), parts[2:]
            kind, revision = (rest[0], rest[1]) if len(rest) > 1 else ("revision", "main")
            found = hub.at(name, revision)
            if found is None:
                self.refuse("RevisionNotFound" if name in hub.commits else "RepoNotFound")
                return
            commit, files = found
            if kind == "revision":
                siblings = [{"rfilename": file, "size": len(files[file])} for file in sorted(files)]
                facts = {"id": name, "sha": commit, "siblings": siblings, "tags": [], "private": False, "gated": False}
                self.send_json(facts | {"lastModified": "2026-01-01T00:00:00.000Z", "downloads": 0, "likes": 0})
            elif kind == "paths-info":
                self.send_json([entry(file, files[file]) for file in paths or () if file in files])
            elif kind == "tree":
                folder = "/".join(rest[2:])
                inside = [file for file in sorted(files) if not folder or file.startswith(f"{folder}/")]
                is_deep = "recursive=true" in self.path.lower()
                listed = [file for file in inside if is_deep or "/" not in file[len(folder) :].strip("/")]
                folders = {file[: len(folder)] + file[len(folder) :].split("/")[0] for file in inside} - set(listed)
                self.send_json(
                    [{"type": "directory", "path": one, "oid": "0" * 40, "size": 0} for one in sorted(folders)]
                    + [entry(file, files[file]) for file in listed]
                )
            else:
                self.refuse("EntryNotFound")

        def file(self, name: str, revision: str, file: str) -> None:
            found = hub.at(name, revision)
            if found is None:
                self.refuse("RevisionNotFound" if name in hub.commits else "RepoNotFound")
                return
            commit, files = found
            if file not in files:
                self.refuse("EntryNotFound", commit)
                return
            if hub.is_gated and not self.headers.get("Authorization"):
                self.refuse("GatedRepo", commit, status=403)
                return
            content = files[file]
            sent = bytes(reversed(content)) if file in hub.damaged else content
            start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
            self.send_response(206 if start else 200)
            self.send_header("X-Repo-Commit", commit)
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("Accept-Ranges", "bytes")
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            if self.command == "HEAD":
                return
            part = sent[start:]
            if hub.cut_after and len(part) > hub.cut_after:
                part, hub.cut_after = part[: hub.cut_after], 0
                self.close_connection = True
            hub.sent_bytes += len(part)
            hub.starts.append(start)
            with suppress(ConnectionError):
                self.wfile.write(part)

        def send_json(self, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def refuse(self, code: str, commit: str = "", *, status: int = 404) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            if commit:
                self.send_header("X-Repo-Commit", commit)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def entry(path: str, content: bytes) -> dict[str, object]:
    """A file as listings of the hub have it: kept as a large file, known by its SHA-256."""
    digest = hashlib.sha256(content).hexdigest()
    large = {"oid": digest, "size": len(content), "pointerSize": 134}
    return {"type": "file", "path": path, "oid": hashlib.sha1(content).hexdigest(), "size": len(content), "lfs": large}
