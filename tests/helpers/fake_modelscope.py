"""A ModelScope on this machine, with what its client asks of the real one: facts of a dataset, its files at a commit,
and the files themselves, whole or from a byte on.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import parse_qs, unquote, urlsplit

Files = dict[str, bytes]
_NEWEST = "master"


@dataclass
class ModelScope:
    """A running hub.

    Attributes:
        url: Its address.
        commits: By id of a dataset, its commits in order: the name of each, and all its files.
        asked: How often each path was asked for.
        sent: How many bytes of each file were sent.
        starts: From which byte on files were sent, in order.
        waits_after: Send no more than so many bytes of a file until told to go on; 0: all.
        may_go_on: Set when it may send the rest.
        is_private: Refuse everything.
        damaged: Names of files that are sent with another content of the same size.
    """

    url: str = ""
    commits: dict[str, dict[str, Files]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    starts: list[int] = field(default_factory=list)
    waits_after: int = 0
    may_go_on: Event = field(default_factory=Event)
    is_private: bool = False
    damaged: set[str] = field(default_factory=set)

    def go_on(self) -> None:
        """Send whole files from now on."""
        self.waits_after = 0
        self.may_go_on.set()

    def add(self, name: str, files: Mapping[str, bytes]) -> str:
        """Add a commit to a dataset; returns its name."""
        known = self.commits.setdefault(name, {})
        commit = hashlib.sha1(f"{name}{len(known)}{sorted(files)}".encode()).hexdigest()
        known[commit] = dict(files)
        return commit

    def at(self, name: str, revision: str) -> Files | None:
        """The files of a dataset at a revision."""
        commits = self.commits.get(name, {})
        return list(commits.values())[-1] if commits and revision == _NEWEST else commits.get(revision)

    def listed(self, name: str, files: Files) -> list[dict[str, object]]:
        """Files as the hub lists them: each with the commit that has last changed it."""
        found: list[dict[str, object]] = []
        for path, content in sorted(files.items()):
            history = [(number, commit) for number, (commit, had) in enumerate(self.commits[name].items(), 1)]
            since = next(item for item in history if self.commits[name][item[1]].get(path) == content)
            found.append(
                {
                    "Path": path,
                    "Name": path.rpartition("/")[2],
                    "Type": "blob",
                    "Size": len(content),
                    "Sha256": hashlib.sha256(content).hexdigest(),
                    "Revision": since[1],
                    "CommittedDate": 1_700_000_000 + since[0],
                }
            )
        return found


@contextmanager
def fake_modelscope() -> Iterator[ModelScope]:
    """A hub, until the block ends."""
    hub = ModelScope()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            path = unquote(parts.path)
            hub.asked[path] += 1
            steps = path.strip("/").split("/")  # api v1 datasets OWNER NAME [repo [tree]], or a number for the two
            if steps[3:4] and steps[3].isdecimal():
                steps[3:4] = list(hub.commits)[int(steps[3]) - 1].split("/")
            name, rest = "/".join(steps[3:5]), steps[5:]
            if hub.is_private:
                self.answer(403, {"Code": 403, "Success": False, "Message": "no access"})
                return
            files = hub.at(name, query.get("Revision", _NEWEST)) if steps[2:3] == ["datasets"] else None
            if files is None:
                self.answer(404, {"Code": 10010205001, "Success": False, "Message": "not found"})
            elif rest == ["repo", "tree"]:
                size, page = int(query.get("PageSize", 200)), int(query.get("PageNumber", 1))
                is_deep = query.get("Recursive", "True") == "True"
                some = in_folder(hub.listed(name, files), query.get("Root", "").strip("/"), is_deep=is_deep)
                some = some[(page - 1) * size : page * size]
                self.answer(200, {"Code": 200, "Success": True, "Data": {"Files": some}})
            elif rest == ["repo"] and query.get("FilePath") in files:
                self.file(query["FilePath"], files[query["FilePath"]])
            elif not rest:
                facts = {"Id": list(hub.commits).index(name) + 1, "Name": steps[4], "Type": 4}
                self.answer(200, {"Code": 200, "Success": True, "Data": facts})
            else:
                self.answer(404, {"Code": 404, "Success": False, "Message": "not found"})

        do_HEAD = do_GET

        def file(self, path: str, content: bytes) -> None:
            sent = bytes(reversed(content)) if path in hub.damaged else content
            asked = (self.headers.get("Range") or "bytes=0-").removeprefix("bytes=")
            first, _, last = asked.partition("-")
            start, stop = int(first), int(last) + 1 if last else len(content)
            self.send_response(206 if self.headers.get("Range") else 200)
            if self.headers.get("Range"):
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(content)}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(stop - start))
            self.end_headers()
            if self.command == "HEAD":
                return
            part = sent[start:stop]
            rest = b""
            if hub.waits_after:
                part, rest = part[: hub.waits_after], part[hub.waits_after :]
            hub.sent[path] += len(part)
            hub.starts.append(start)
            with suppress(ConnectionError):
                self.wfile.write(part)
                if rest:
                    self.wfile.flush()
                    hub.may_go_on.wait()
                    self.wfile.write(rest)

        def answer(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def handle(self) -> None:
            with suppress(ConnectionError):  # a client that was killed
                super().handle()

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
        hub.go_on()
        server.shutdown()
        server.server_close()
        thread.join()


def in_folder(listed: list[dict[str, object]], folder: str, *, is_deep: bool) -> list[dict[str, object]]:
    """Of a listing, the files below a folder, or what lies in it: files, and folders once each."""
    inside = [one for one in listed if not folder or str(one["Path"]).startswith(f"{folder}/")]
    if is_deep:
        return inside
    depth = folder.count("/") + 2 if folder else 1
    paths = {"/".join(str(one["Path"]).split("/")[:depth]): one for one in inside}
    return [
        one
        if one["Path"] == path
        else {"Path": path, "Name": path.rpartition("/")[2], "Type": "tree", "Size": 0, "Sha256": ""}
        for path, one in paths.items()
    ]
