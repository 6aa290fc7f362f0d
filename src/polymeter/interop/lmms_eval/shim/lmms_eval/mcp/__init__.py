"""Stand-in for ``lmms_eval.mcp``: tools behind the Model Context Protocol."""

from polymeter.interop.lmms_eval.shim.lmms_eval.mcp.client import MCPClient

__all__ = ["MCPClient"]
