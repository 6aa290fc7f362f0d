"""Stand-in for ``lmms_eval.llm_judge``: judges, asked through the run.

Whatever type of server a task names, its questions go to the model in the role *judge*: scheduled, journaled, cached
and retried like any request. A server can be made anywhere, without keys; only asking needs a judge.
"""

from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.base import AsyncServerInterface, ServerInterface
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.factory import ProviderFactory, get_server
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.protocol import Request, Response, ServerConfig
from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge.utils import JudgePromptBuilder, ResponseParser

__all__ = [
    "AsyncServerInterface",
    "JudgePromptBuilder",
    "ProviderFactory",
    "Request",
    "Response",
    "ResponseParser",
    "ServerConfig",
    "ServerInterface",
    "get_server",
]
