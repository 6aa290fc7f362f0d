"""Judges of scripts, which run outside a run: the endpoint that the script names answers."""

from __future__ import annotations

import os

from polymeter.core.request import Request, Response
from polymeter.core.role_client import no_role_client
from polymeter.interop.ulmeval.models.native import endpoint_response
from polymeter.models.openai import OpenAIModel

_URL_VARIABLE = "OPENAI_API_BASE"


class DirectRoleClient:
    """Calls the models that wrappers name. Nothing is journaled or cached."""

    def __call__(self, role: str, request: Request) -> Response:
        """Refuse a role: a script has none.

        Raises:
            PlanError: always.
        """
        return no_role_client(role, request)

    def respond(self, model: str, api_base: str | None, request: Request) -> Response:
        """The response of a model; a request with a transient failure is repeated.

        Args:
            model: Its name at the endpoint.
            api_base: The address of an OpenAI-compatible endpoint; default: ``OPENAI_API_BASE``, else as
                ``--model openai:`` finds it. The key comes from the environment.
            request: The request.

        Raises:
            PlanError: if the address is invalid, or a key is missing.
        """
        base_url = api_base if api_base and "://" in api_base else os.environ.get(_URL_VARIABLE, "")
        return endpoint_response(OpenAIModel(model, base_url=base_url), request)
