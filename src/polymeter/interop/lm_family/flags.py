"""Flags of both command lines, in the tools' own spelling: most have underscores, a few have hyphens."""

from __future__ import annotations

from typing import Any

from polymeter.cli.foreign_flags import Fate, Flag, Kind


def flag(
    name: str,
    kind: Kind,
    default: Any,
    text: str,
    *more: str,
    fate: Fate = "done",
    hint: str = "",
    choices: tuple[str, ...] = (),
    is_ours: bool = False,
) -> Flag:
    """A flag that is found under its own name.

    Args:
        name: Its first spelling.
        kind: Its values.
        default: Its value if it is not given.
        text: What it does, or why it is noted or refused.
        *more: Its other spellings.
        fate: How it is treated.
        hint: What to do instead, for one that is refused.
        choices: The values it may have.
        is_ours: Whether it is Polymeter's, not the tool's.
    """
    key = name.lstrip("-").replace("-", "_")
    return Flag(key, kind, text, fate, default, (name, *more), choices, hint=hint, is_ours=is_ours)


def parity_flag(system: str) -> Flag:
    """``--parity``.

    Args:
        system: What to write for the system whose command line it is.
    """
    text = f"take this system's values where Polymeter differs from it on purpose: {system} for this one's"
    return flag("--parity", "text", None, text, is_ours=True)
