"""One question to each endpoint before any dataset is opened: is it there, does it take the key, does it know the
model?
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

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
    # A thread of its own: the caller may have an event loop running, as notebooks do.
    with ThreadPoolExecutor(1, thread_name_prefix="polymeter-preflight") as pool:
        asking = [pool.submit(asyncio.run, _ask(endpoint)) for endpoint in endpoints]
        import_datasets()  # needed next, and half a second long
        for asked in asking:
            with boundary(PlanError, "Asking the endpoint before the run"):
                asked.result()


async def _ask(endpoint: AsyncModel) -> None:
    try:
        await asyncio.wait_for(endpoint.preflight(), _DEADLINE_S)
    except asyncio.TimeoutError:
        raise PlanError(
            f"The endpoint did not answer one small request within {_DEADLINE_S:g} s.",
            hint="Check its address, and whether the model is still being loaded.",
        ) from None
