"""Finding the answer in what a model or a judge wrote."""

from polymeter.interop.evalscope.tasks.parsers import ResponseParser, lmsys_parser, ranking_parser

__all__ = ["ResponseParser", "lmsys_parser", "ranking_parser"]
