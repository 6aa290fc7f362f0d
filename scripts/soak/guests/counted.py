"""Writes a line for every request that a model in this process is about to get, and lets it take a little longer, so
that kills come between answers. ``--import`` loads it into a run.
"""

import os
import time

from polymeter.core.request import Request
from polymeter.run.dispatch.computing import BatchComputer
from polymeter.models.mock import MockEndpoint


def count(n_requests):
    with open(os.environ["SOAK_COUNTED"], "a") as log:
        log.write("asked\n" * n_requests)


ask_model = BatchComputer._given
ask_mock = MockEndpoint.respond


def ask_model_counted(self, requests):
    n_requests = sum(isinstance(one, Request) for one in requests)
    count(n_requests)
    time.sleep(0.01 * n_requests)
    return ask_model(self, requests)


async def ask_mock_counted(self, request):
    count(1)
    return await ask_mock(self, request)


BatchComputer._given = ask_model_counted
MockEndpoint.respond = ask_mock_counted
