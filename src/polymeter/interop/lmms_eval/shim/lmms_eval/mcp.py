"""``lmms_eval.mcp``: tools behind the Model Context Protocol. Wrappers can import it, but no tool is run."""

from __future__ import annotations

from typing import Any

from polymeter.core.errors import PlanError


class MCPClient:
    """A client of a tool server.

    Raises:
        PlanError: always: a run of a model that acts on its own cannot be resumed or replayed.
    """

    def __init__(self, server_path: str, timeout: Any = None) -> None:
        raise PlanError(
            f"Tools of an MCP server ({server_path!r}) are not run for a wrapper.",
            where="mcp_server_path",
            hint="Leave the argument out, or give your wrapper its own client.",
        )
