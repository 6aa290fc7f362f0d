"""Stand-in for ``lmms_eval.mcp``: tools behind the Model Context Protocol."""

from polymeter.compat.lmms_eval.mcp.client import MCPClient

__all__ = ["MCPClient"]
