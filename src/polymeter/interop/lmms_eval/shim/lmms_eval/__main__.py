"""``lmms_eval.__main__``: the command line, from a script."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from polymeter.cli.main import main
from polymeter.interop.lmms_eval.flags import EVAL

__all__ = ["cli_evaluate", "parse_eval_args"]


def parse_eval_args() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """The parser, and the options of this process, those that are not given at their defaults."""
    parser = EVAL.parser()
    return parser, argparse.Namespace(**{**EVAL.defaults, **vars(parser.parse_args())})


def cli_evaluate(args: argparse.Namespace | None = None) -> None:
    """Run ``polymeter lmms-eval``, with the options of this process or with given ones.

    Raises:
        SystemExit: Something went wrong; its code shows the kind.
    """
    code = main(["lmms-eval", *(sys.argv[1:] if args is None else _words(vars(args)))])
    if code:
        raise SystemExit(code)


def _words(options: Mapping[str, Any]) -> list[str]:
    """Options as they would be typed; those at their defaults are left out."""
    words: list[str] = []
    by_key = EVAL.by_key
    for key, value in options.items():
        flag = by_key.get(key)
        if flag is None or value == flag.default or value is None:
            continue
        words.extend([flag.names[0]] if flag.kind == "switch" else [flag.names[0], str(value)])
    return words


if __name__ == "__main__":
    cli_evaluate()
