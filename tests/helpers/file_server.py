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
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None


@dataclass
class Server:
    """A running server: ``replies`` may be changed at any time."""

    url: str
    replies: dict[str, Reply | Callable[[], Reply]]
    asked: Counter


@contextmanager
def serve(replies=None) -> Iterator[Server]:
    """Serve replies by path until the block ends."""
    server = Server("", dict(replies or {}), Counter())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked[self.path] += 1
            reply = server.replies.get(self.path, Reply(status=404))
            reply = reply() if callable(reply) else reply
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.promised != -1:
                self.send_header("Content-Length", str(len(reply.body) if reply.promised is None else reply.promised))
            self.end_headers()
            with suppress(ConnectionError):  # the client may have had enough
                self.wfile.write(reply.body)

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
