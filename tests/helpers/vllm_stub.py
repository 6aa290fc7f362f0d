"""A program with vLLM's command line and its endpoints, and a toy model that adds numbers.

``vllm serve MODEL --host H --port P --served-model-name NAME …`` as its help (0.30) describes it: ``/health`` is there
when the model is, ``/v1/models`` lists it, chats take ``prompt_logprobs`` and ``structured_outputs``, completions
``echo``; an unknown option ends it with argparse's message, ``--version`` prints a version. What goes wrong is said in
``VLLM_STUB``, separated by commas:

``die-after:N``       ends without a word after N chats
``die-once:FILE``     the same after 5, if it is the first one that makes the file
``never-healthy``     loads for ever
``error``             cannot load, says why, and ends
``port-taken:FILE``   says that its port is taken, if it is the first one that makes the file
``refuses-on:GPU``    is ready, and then knows no model, if it sees this GPU
``early-error``       says why it cannot load, prints many lines, and ends
``deaf``              does not end when it is asked to
``child:FILE``        starts a process of its own, and writes its id
``pid:FILE``          appends its own id and the GPUs that it sees
``asked:FILE``        appends how many answers each chat is to give
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

VERSION = "0.30.0"
ROOT = Path(__file__).parents[2]
_TOKEN = re.compile(r" ?\w+|\s|[^\w\s]")


def install(folder: Path, name: str = "vllm") -> Path:
    """Put the program into a folder, which belongs on the search path."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    lines = [
        f"#!{sys.executable}",
        "import sys",
        f"sys.path.insert(0, {str(ROOT)!r})",
        "from tests.helpers.vllm_stub import main",
        "main()",
    ]
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def answer(text: str) -> str:
    """What the toy model says: the sum that the last two numbers of a text make."""
    numbers = re.findall(r"\d+", text)
    return str(int(numbers[-2]) + int(numbers[-1])) if len(numbers) > 1 else "ok"


def logprob_of(question: str, token: str) -> float:
    """What it thinks of a token of an answer."""
    return -0.25 if token.strip() == answer(question) else -4.0 - len(token) / 8


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="vllm")
    parser.add_argument("-v", "--version", action="version", version=VERSION)
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve")
    serve.add_argument("model_tag")
    serve.add_argument("--host", default="0.0.0.0")
    serve.add_argument("--port", type=int, default=8000)
    serve.add_argument("--served-model-name")
    serve.add_argument("--dtype", choices=["auto", "half", "float16", "bfloat16", "float", "float32"], default="auto")
    serve.add_argument("--max-model-len")
    serve.add_argument("--generation-config", default="auto")
    serve.add_argument("--quantization", "-q")
    serve.add_argument("--gpu-memory-utilization", type=float, default=0.9)
    serve.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    serve.add_argument("--disable-log-requests", action="store_true")
    run(parser.parse_args())


def run(arguments: argparse.Namespace) -> None:
    """Serve, as the arguments and ``VLLM_STUB`` say."""
    faults = dict(part.partition(":")[::2] for part in os.environ.get("VLLM_STUB", "").split(",") if part)
    if "deaf" in faults:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in faults:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(faults["child"]).write_text(str(child.pid), encoding="utf-8")
    if "pid" in faults:
        with Path(faults["pid"]).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES', '-')}\n")
    print(f"INFO vLLM API server version {VERSION}", flush=True)
    print(f"INFO Loading weights of {arguments.model_tag}", flush=True)
    if "error" in faults:
        print("ERROR \x1b[31mEngineCore failed to start.\x1b[0m", flush=True)
        print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.", flush=True)
        sys.exit(1)
    if "early-error" in faults:
        print("(EngineCore pid=7) ValueError: The weights are of another model.", flush=True)
        print("\n".join(f"(APIServer pid=6)   frame {number}" for number in range(40)), flush=True)
        print("RuntimeError: Engine core initialization failed. See root cause above.", flush=True)
        sys.exit(1)
    if "never-healthy" in faults:
        while True:
            time.sleep(60)
    if "port-taken" in faults and is_first(faults["port-taken"]):
        print("OSError: [Errno 98] Address already in use", flush=True)
        sys.exit(1)
    serve(arguments, faults)


def is_first(file: str) -> bool:
    """Whether nobody has made a file before."""
    try:
        Path(file).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def serve(arguments: argparse.Namespace, faults: dict[str, str]) -> None:
    """Answer until the end."""
    name = arguments.served_model_name or arguments.model_tag
    counted = threading.Lock()
    n_chats = 0
    is_dying_once = "die-once" in faults and is_first(faults["die-once"])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/health":
                self.say(200, b"")
            elif self.path == "/v1/models":
                self.say(200, {"object": "list", "data": [{"id": name, "object": "model"}]})
            else:
                self.say(404, {"detail": "Not Found"})

        def do_POST(self) -> None:
            nonlocal n_chats
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            if body.get("model") != name:
                self.say(404, {"error": {"message": f"The model `{body.get('model')}` does not exist.", "code": 404}})
                return
            if os.environ.get("CUDA_VISIBLE_DEVICES", "") == faults.get("refuses-on"):
                print("ERROR This one refuses.", flush=True)
                self.say(404, {"error": {"message": f"The model `{name}` does not exist.", "code": 404}})
                return
            with counted:
                n_chats += 1
                most = int(faults.get("die-after", 0)) or (5 if is_dying_once else 0)
                if most and n_chats > most:
                    print("ERROR worker died: CUDA error: an illegal memory access was encountered", flush=True)
                    os._exit(3)
            if "asked" in faults:
                with counted, Path(faults["asked"]).open("a") as file:
                    file.write(f"{body.get('n', 1)}\n")
            self.say(200, chat(body) if self.path == "/v1/chat/completions" else completion(body))

        def say(self, status: int, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            return None

    server = ThreadingHTTPServer((arguments.host, arguments.port), Handler)
    server.daemon_threads = True
    print("INFO Application startup complete.", flush=True)
    server.serve_forever(poll_interval=0.01)


def chat(body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a chat."""
    texts = [text_of(message["content"]) for message in body["messages"]]
    is_begun = body["messages"][-1]["role"] == "assistant"
    question = texts[-2 if is_begun else -1]
    prompt = "".join(f"<{message['role']}>{text}" for message, text in zip(body["messages"], texts, strict=True))
    tokens = _TOKEN.findall(prompt)
    listed = [None, *({str(n): entry(question, token)} for n, token in enumerate(tokens[1:], 1))]
    said = guided(body, answer(question))
    return {
        "object": "chat.completion",
        "choices": [
            {"index": n, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
            for n in range(body.get("n", 1))
        ],
        "prompt_logprobs": listed if body.get("prompt_logprobs") else None,
        "usage": {"prompt_tokens": len(tokens), "completion_tokens": len(_TOKEN.findall(said))},
    }


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """The continuation of a text."""
    tokens = _TOKEN.findall(body["prompt"])
    said = answer(body["prompt"])
    logprobs = None
    if body.get("echo"):
        logprobs = {
            "tokens": [*tokens, "!"],
            "token_logprobs": [None, *(logprob_of(body["prompt"], token) for token in tokens[1:]), -0.1],
            "top_logprobs": [None] * (len(tokens) + 1),
            "text_offset": [],
        }
    return {
        "object": "text_completion",
        "choices": [{"index": 0, "finish_reason": "length", "text": said, "logprobs": logprobs}],
        "usage": {"prompt_tokens": len(tokens), "completion_tokens": 1},
    }


def entry(question: str, token: str) -> dict[str, Any]:
    """A position of vLLM's ``prompt_logprobs``."""
    return {"logprob": logprob_of(question, token), "rank": 1, "decoded_token": token}


def guided(body: dict[str, Any], said: str) -> str:
    """An answer, held to the choices of a request."""
    choices = (body.get("structured_outputs") or {}).get("choice")
    return said if not choices or said in choices else str(choices[0])


def text_of(content: Any) -> str:
    """The text of a message."""
    return content if isinstance(content, str) else " ".join(part.get("text", "<image>") for part in content)


if __name__ == "__main__":
    main()
