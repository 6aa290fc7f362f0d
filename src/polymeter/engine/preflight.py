"""One question to each endpoint before any dataset is opened: is it there, does it take the key, does it know the
model?
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from polymeter.core.errors import PlanError, boundary
from polymeter.core.model import AsyncModel
from polymeter.core.progress import Progress
from polymeter.data.source import import_datasets
from polymeter.engine.plan import Plan

_DEADLINE_S = 60.0


def check_endpoints(plan: Plan, progress: Progress) -> None:
    """Let every endpoint of a plan show that it can be asked; each once, whatever its roles.

    Raises:
        PlanError: One cannot; it says why.
    """
    models = {id(model): model for model in (plan.model, *plan.roles.values())}
    endpoints = [model for model in models.values() if isinstance(model, AsyncModel)]
    if not endpoints:
        return
    progress.stage("asking the endpoint" if len(endpoints) == 1 else f"asking {len(endpoints)} endpoints")
    # A thread of its own: the caller may have an event loop running, as notebooks do. Nothing waits for it but the
    # lines below, so that an interrupted run does not hang with an endpoint that does.
    answers: list[Future[None]] = [Future() for _ in endpoints]
    threading.Thread(target=_ask_all, args=(endpoints, answers), name="polymeter-preflight", daemon=True).start()
    import_datasets()  # needed next, and half a second long
    for answer in answers:
        with boundary(PlanError, "Asking the endpoint before the run"):
            answer.result()


def _ask_all(endpoints: Sequence[AsyncModel], answers: Sequence[Future[None]]) -> None:
    for endpoint, answer in zip(endpoints, answers, strict=True):
        try:
            asyncio.run(_ask(endpoint))
        except BaseException as error:  # noqa: BLE001  (whatever it is, the run that waits for it has to see it)
            answer.set_exception(error)
        else:
            answer.set_result(None)


async def _ask(endpoint: AsyncModel) -> None:
    try:
        await asyncio.wait_for(endpoint.preflight(), _DEADLINE_S)
    except asyncio.TimeoutError:
        raise PlanError(
            f"The endpoint did not answer one small request within {_DEADLINE_S:g} s.",
            hint="Check its address, and whether the model is still being loaded.",
        ) from None
