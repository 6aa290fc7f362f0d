"""Judges of scripts, which no run has: the endpoint that the script names is asked."""

from __future__ import annotations

import os

from polymeter.core.request import Request, Response
from polymeter.core.role_client import no_role_client
from polymeter.interop.ulmeval.models.native import endpoint_response
from polymeter.models.openai import OpenAIModel

_URL_VARIABLE = "OPENAI_API_BASE"


class DirectAsker:
    """Asks the models that wrappers name. Nothing is journaled or cached."""

    def __call__(self, role: str, request: Request) -> Response:
        """Refuse to ask a role: a script has none.

        Raises:
            PlanError: Always.
        """
        return no_role_client(role, request)

    def ask(self, model: str, api_base: str | None, request: Request) -> Response:
        """The answer of a model, or a response that is an error; failures that may pass are tried again.

        Args:
            model: Its name at the endpoint.
            api_base: The address of an OpenAI-compatible endpoint; default: ``OPENAI_API_BASE``, else as
                ``--model openai:`` finds it. The key comes from the environment.
            request: The question.

        Raises:
            PlanError: The address is none, or a key is missing.
        """
        told = api_base if api_base and "://" in api_base else os.environ.get(_URL_VARIABLE, "")
        return endpoint_response(OpenAIModel(model, base_url=told), request)
