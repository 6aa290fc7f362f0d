"""A model behind servers that the run starts.

The constructor checks everything that can be checked without starting anything: the program, its version, the
arguments, the file of weights, the GPUs. ``load`` starts the servers, all at the same time, and waits until each serves
the model. Each server is then an instance of the model, which the engine uses like any other endpoint.

A server that dies in the middle of a run is not started again. The cause (memory, a driver, one request) usually
persists, a restart takes minutes of silence, and a run that ends now reports why. The other servers take its requests,
and ``resume`` starts all of them again.
"""

from __future__ import annotations

import asyncio
import inspect
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from polymeter.core.content import Media
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.identity import fingerprint
from polymeter.core.machine.gpus import VISIBLE, gpu_names, share_out, visible_gpus
from polymeter.core.model import AsyncModel
from polymeter.core.request import Generate, Parameters, Request, Response
from polymeter.core.text.secrets import hide_secrets
from polymeter.models.hf.digest import checkpoint_digest, file_digest
from polymeter.models.openai import OpenAIModel
from polymeter.models.served.arguments import read_arguments
from polymeter.models.served.guided import GUIDED
from polymeter.models.served.kinds import HOST, LLAMACPP, SGLANG, TRANSFORMERS, VLLM, ServerKind
from polymeter.models.served.process import ServerProcess
from polymeter.models.served.programs import find_program, versions_of
from polymeter.models.served.starting import Servers, failure, interrupted, told
from polymeter.models.video_parts import ALL_WAYS

START_TIMEOUT_S = 1800.0
"""The time limit for servers to be ready, in seconds, unless the user sets another: large weights come over a network.
"""

_LOOK_S = 0.2
_NOT_SETTINGS = frozenset(
    {"self", "name", "base_url", "api_key_env", "headers", "organization", "azure_endpoint", "api_version"}
)
_NO_KEY = "POLYMETER_STARTED_SERVERS_NEED_NO_KEY"
"""The environment variable of the key: a key for OpenAI is not sent to a server that was started here."""
_ALWAYS = ("do_sample", "extra_body")
"""Settings that are sent under other names, or as their fields."""
_NOT_TAKEN = "the server has no such setting"


class ServedModel(AsyncModel):
    """A model that a server of a run's own serves.

    Args:
        name: Hub id or folder of the model; of llama.cpp a GGUF file.
        server_args: Arguments for the server, written as in its command line.
        executable: The server's program, or for SGLang the Python that has it; default: the one of this environment,
            else the first on the search path.
        start_timeout_s: The time limit for servers to be ready, in seconds.
        replicas: How many servers to start, or ``auto``: as many as the GPUs allow.
        gpus_per_replica: GPUs for each; default: as many as its arguments ask for. Below 1 several share one.
        **settings: The settings of ``openai`` for requests: ``api``, ``max_image_side``, ``logprobs``, ….

    Raises:
        PlanError: if an argument is unknown or reserved, the program or the file is missing, or there are too few GPUs.
    """

    kind: ClassVar[ServerKind]

    def __init__(
        self,
        name: str,
        server_args: str | Sequence[str] = "",
        executable: str = "",
        start_timeout_s: float = START_TIMEOUT_S,
        replicas: int | Literal["auto"] = 1,
        gpus_per_replica: float | None = None,
        **settings: Any,
    ) -> None:
        self._name = str(name)
        self._arguments = read_arguments(self.kind, server_args)
        self._start_timeout_s = _positive(start_timeout_s)
        self._check_settings(settings)
        if self.kind.is_file and not Path(self._name).is_file():
            raise PlanError(f"The file {self._name!r} does not exist.", where=f"--model {self.kind.backend}:FILE")
        self._program = find_program(self.kind, str(executable))
        self._settings = {"logprobs": self.kind.logprobs, **settings}
        self._model = self._client_at("http://127.0.0.1:1/v1")
        self.traits = replace(self._model.traits, family=self.kind.backend)
        self._gpus: list[list[str] | None] = []
        self.plan_replicas(replicas, gpus_per_replica)
        self._servers: Servers | None = None
        self._shown_gpus: list[list[str]] = []
        self._instances: tuple[AsyncModel, ...] = ()
        self._is_interrupted = threading.Event()

    def plan_replicas(self, n: int | Literal["auto"], gpus_per_replica: float | None) -> None:
        """Note how many servers ``load`` is to start.

        Raises:
            PlanError: if the number is not valid, or the machine has too few GPUs.
        """
        if n != "auto" and (type(n) is not int or n < 1):
            what = f"The number of servers must be a whole number from 1, or auto, not {n!r}."
            raise PlanError(what, where="--replicas")
        if n == 1 and gpus_per_replica is None:
            self._gpus = [None]  # it sees what this process sees
        elif gpus_per_replica == 0:
            self._gpus = [[] for _ in range(1 if n == "auto" else n)]
        else:
            gpus = visible_gpus()
            each = gpus_per_replica if gpus_per_replica is not None else float(self._arguments.n_gpus(self.kind))
            shared = share_out(gpus, n, each)
            self._gpus = [*shared] if gpus else [None] * len(shared)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The weights (a folder or file by content), the server with its version, its arguments but for those that only
        distribute or log its work, and the settings of requests. Ports and replicas are not part of it.
        """
        of_requests = {name: value for name, value in self._model.identity.items() if name not in ("backend", "name")}
        return {
            "backend": self.kind.backend,
            "weights": _content(self._name) or self._name,
            "packages": self._versions,
            "server_args": self._arguments.identity(self.kind),
            **of_requests,
        }

    @property
    def joins_repeats(self) -> bool:
        """True if the user or the matched system requests it."""
        return self._model.joins_repeats or self.parity.on("answers-at-once")

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    @property
    def may_move(self) -> bool:
        """True for an id of a hub, which may hold other weights later."""
        return bool(self.identity["weights"] == self._name)

    @property
    def sends_stops(self) -> bool | None:
        """True if stop strings are sent with chat requests; decided when servers have started."""
        return self._model.sends_stops

    @sends_stops.setter
    def sends_stops(self, value: bool | None) -> None:
        self._model.sends_stops = value

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Settings that endpoints ignore, and those that this server has no name for."""
        found = dict(self._model.ignores(parameters))
        if isinstance(parameters, Generate):
            unknown = (name for name in parameters.extra if not self._takes(name) and name not in found)
            found |= dict.fromkeys(unknown, _NOT_TAKEN)
        return found

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """Every way: a video with a rule is sent as frames."""
        return ALL_WAYS

    def known_settings(self) -> frozenset[str]:
        """The names that endpoints have, as far as this server knows them."""
        return frozenset(name for name in self._model.known_settings() if self._takes(name))

    def decodes(self, medium: Media) -> bool:
        """Media that its requests do not hold unchanged."""
        return self._model.decodes(medium)

    def load(self) -> None:
        """Start the servers and wait until they serve the model.

        Raises:
            ModelError: if one cannot be started, ends, or is not ready in time; the message contains the end of its
                log. No server keeps running then.
        """
        servers = self._servers = Servers(
            self.kind.title,
            lambda port: [
                *self._program.words,
                *self.kind.command(self._name, port, self._served_name),
                *self._arguments.words,
            ],
            [{} if gpus is None else {VISIBLE: ",".join(gpus)} for gpus in self._gpus],
            self._served_name if self.kind.is_name_free else "",
            self._log_folder() / f"{self.kind.backend}-{self._digest}",
        )
        tell = self.surroundings.tell if self.surroundings else _tell_nobody
        try:
            servers.start(self._start_timeout_s, tell, self._is_interrupted)
            decided = self._model.sends_stops
            self._model = self._client_at(*(f"http://{HOST}:{one.port}/v1" for one in servers.all))
            self._model.sends_stops, self._model.reasoning_tags = decided, self.reasoning_tags
            for one in self._model.instances:
                one.reasoning_tags = self.reasoning_tags
            self._shown_gpus = [gpu_names(visible_gpus() if gpus is None else gpus) for gpus in self._gpus]
            asyncio.run(self._ask_once(servers.all))
        except BaseException:
            servers.stop()
            raise
        finally:
            tell("")
        self._instances = tuple(
            _Instance(one, server, f"{self._served_name} in server {number} of {len(servers.all)}")
            for number, (one, server) in enumerate(zip(self._model.instances, servers.all, strict=True), 1)
        )

    def interrupt(self) -> None:
        """Have ``load`` end soon."""
        self._is_interrupted.set()

    def close(self) -> None:
        """Stop the servers."""
        self._is_interrupted.set()
        if self._servers is not None:
            self._servers.stop()

    @property
    def instances(self) -> Sequence[AsyncModel]:
        """One for each server; none before they are started."""
        return self._instances

    @property
    def record(self) -> Mapping[str, Any]:
        """Program, versions, whole command line, GPUs and log of every server that was started."""
        servers = [
            {
                "program": self.kind.title,
                "versions": [f"{name} {version}" for name, version in self._versions.items()],
                "command": hide_secrets(" ".join(server.command)),
                "gpus": gpus,
                "log": self._shown_log(server.log),
            }
            for server, gpus in zip(self._servers.all if self._servers else (), self._shown_gpus, strict=False)
        ]
        return {"servers": servers} if servers else {}

    def prepare(self, request: Request) -> Any:
        """Write the request to an endpoint, with the server's own names for its settings.

        Raises:
            PolymeterError: as for any endpoint.
        """
        return self._model.prepare(self._adapted(request))

    async def respond(self, request: Request) -> Response:
        """Answer one request with the first server."""
        return await self._model.respond(self._adapted(request))

    async def respond_prepared(self, request: Request, prepared: Any) -> Response:
        """Answer one request with the first server."""
        return await self._model.respond_prepared(request, prepared)

    @property
    def place(self) -> str:
        """The names of the model and its server."""
        return f"{self._served_name} in {self.kind.title}"

    async def probe(self) -> bool:
        """Request one token from the first server."""
        return await self._model.probe()

    async def aclose(self) -> None:
        """Close connections."""
        await self._model.aclose()

    @cached_property
    def _versions(self) -> dict[str, str]:
        return versions_of(self.kind, self._program)

    @property
    def _served_name(self) -> str:
        """The name that the server answers to."""
        is_path = self.kind.is_name_free and Path(self._name).exists()
        return Path(self._name).resolve().name if is_path else self._name

    def _client_at(self, *urls: str) -> OpenAIModel:
        return OpenAIModel(self._served_name, base_url=",".join(urls), api_key_env=_NO_KEY, **self._settings)

    def _check_settings(self, settings: Mapping[str, Any]) -> None:
        own = [name for name in inspect.signature(ServedModel.__init__).parameters if name not in ("self", "settings")]
        known = [name for name in inspect.signature(OpenAIModel.__init__).parameters if name not in _NOT_SETTINGS]
        for name in settings:
            if name not in known:
                hint = did_you_mean(name, [*own, *known]) or f"It accepts: {', '.join([*own[1:], *known])}."
                raise PlanError(
                    f"Model {self.kind.backend!r} has no argument {name!r}.", where="--model-args", hint=hint
                )

    async def _ask_once(self, servers: Sequence[ServerProcess]) -> None:
        """Request one token from every server, unless the start is interrupted.

        Raises:
            ModelError: if one refuses, with its log, or it was interrupted.
        """
        each = zip(self._model.instances, servers, strict=True)
        asked = asyncio.gather(*(_ask_for_one_token(client, server) for client, server in each))
        while not asked.done():
            if self._is_interrupted.is_set():
                asked.cancel()
                raise interrupted()
            await asyncio.wait([asked], timeout=_LOOK_S)
        await asked

    def _shown_log(self, log: Path) -> str:
        """A log's path inside the run folder, which may be moved."""
        return f"{log.parent.name}/{log.name}" if self.surroundings else str(log)

    def _log_folder(self) -> Path:
        return self.surroundings.log_folder if self.surroundings else Path(tempfile.mkdtemp(prefix="polymeter-server-"))

    @property
    def _digest(self) -> str:
        """Distinguishes the logs of several models of one run."""
        return fingerprint([self._name, list(self._arguments.words)])[:6]

    def _takes(self, name: str) -> bool:
        if name == GUIDED:
            return self.kind.guided is not None
        return self.kind.takes is None or name in self.kind.takes or name in _ALWAYS

    def _adapted(self, request: Request) -> Request:
        """Return a request with the server's own names of settings, and without settings that it does not know."""
        parameters = request.parameters
        if not isinstance(parameters, Generate):
            return request
        extra = {name: value for name, value in parameters.extra.items() if self._takes(name)}
        choices = extra.pop(GUIDED, None)
        if choices and self.kind.guided is not None:
            extra |= self.kind.guided([str(choice) for choice in choices], next(iter(self._versions.values()), ""))
        if extra == parameters.extra:
            return request
        return replace(request, parameters=replace(parameters, extra=extra))


class _Instance(AsyncModel):
    """The model at one of the servers."""

    def __init__(self, model: AsyncModel, server: ServerProcess, place: str) -> None:
        self.traits = model.traits
        self._model = model
        self._server = server
        self._place = place

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._model.identity

    @property
    def place(self) -> str:
        return self._place

    @property
    def is_dead(self) -> bool:
        return self._server.exit_code is not None

    @property
    def last_words(self) -> str:
        code = self._server.exit_code
        return f"{f'Its exit code was {code}. ' if code is not None else ''}{told(self._server)}"

    async def respond(self, request: Request) -> Response:
        return await self._model.respond(request)

    async def respond_prepared(self, request: Request, prepared: Any) -> Response:
        return await self._model.respond_prepared(request, prepared)

    async def respond_repeats(self, requests: Sequence[Request], prepared: Any) -> list[Response]:
        return await self._model.respond_repeats(requests, prepared)

    async def probe(self) -> bool:
        return await self._model.probe()


async def _ask_for_one_token(client: AsyncModel, server: ServerProcess) -> None:
    try:
        await client.preflight()
    except PlanError as error:
        raise failure(server, f"The server did not accept a test request: {error.what}") from error


def _positive(seconds: Any) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0:
        raise PlanError(
            f"The time limit for starting a server must be above 0, not {seconds!r}.", where="--server-timeout"
        )
    return float(seconds)


def _tell_nobody(text: str) -> None:
    return None


def _content(name: str) -> str:
    """The digest of local weights; empty for a hub id."""
    path = Path(name)
    if path.is_dir():
        return checkpoint_digest(path)
    return file_digest(path) if path.is_file() else ""


class VllmModel(ServedModel):
    """A model in vLLM: ``vllm serve NAME``."""

    kind = VLLM


class SglangModel(ServedModel):
    """A model in SGLang: ``python -m sglang.launch_server --model-path NAME``."""

    kind = SGLANG


class LlamaCppModel(ServedModel):
    """A GGUF file in llama.cpp: ``llama-server --model FILE``."""

    kind = LLAMACPP


class TransformersServeModel(ServedModel):
    """A model in Transformers' own server: ``transformers serve NAME``."""

    kind = TRANSFORMERS


__all__ = ["LlamaCppModel", "ServedModel", "SglangModel", "TransformersServeModel", "VllmModel"]
