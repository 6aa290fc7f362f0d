"""Files over HTTP on this machine: what is asked for is counted, and any path can misbehave."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Reply:
    """What a path answers.

    Attributes:
        body: The bytes.
        status: HTTP status.
        headers: Further headers.
        promised: Content-Length, if it is to differ from what is sent; -1: none is said.
        has_ranges: Whether a part of the body can be asked for, on condition of an ``ETag`` that is among the headers.
        cut_after: Break the connection after so many bytes, if there are more; 0: never.
        refuses_head: Whether it gives files but no facts about them.
        sends: What is sent in answer to a question for a part, whatever was asked: first byte, last byte.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None
    has_ranges: bool = False
    cut_after: int = 0
    refuses_head: bool = False
    sends: tuple[int, int] | None = None


@dataclass
class Server:
    """A running server: ``replies`` may be changed at any time. ``starts`` are the bytes from which on it was asked."""

    url: str
    replies: dict[str, Reply | Callable[[], Reply]]
    asked: Counter
    starts: list[int] = field(default_factory=list)


@contextmanager
def serve(replies=None) -> Iterator[Server]:
    """Serve replies by path until the block ends."""
    server = Server("", dict(replies or {}), Counter())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked[self.path] += 1
            reply = server.replies.get(self.path, Reply(status=404))
            reply = reply() if callable(reply) else reply
            if self.command == "HEAD" and reply.refuses_head:
                reply = Reply(status=405)
            start = self.start_of(reply)
            server.starts.append(start)
            first, last = reply.sends if start and reply.sends else (start, len(reply.body) - 1)
            body = reply.body[first : last + 1]
            if start and not body:
                reply, body = Reply(status=416), b""
            self.send_response(206 if start and body else reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if start and body:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(reply.body)}")
            if reply.promised != -1:
                self.send_header("Content-Length", str(len(body) if reply.promised is None else reply.promised))
            self.end_headers()
            if self.command == "HEAD":
                return
            with suppress(ConnectionError):  # the client may have had enough
                self.wfile.write(body[: reply.cut_after or None])

        do_HEAD = do_GET

        def start_of(self, reply):
            asked, condition = self.headers.get("Range"), self.headers.get("If-Range")
            is_same = reply.sends or condition in (None, reply.headers.get("ETag"), reply.headers.get("Last-Modified"))
            return int(asked.removeprefix("bytes=").partition("-")[0]) if asked and reply.has_ranges and is_same else 0

        def log_message(self, *args):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    server.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
