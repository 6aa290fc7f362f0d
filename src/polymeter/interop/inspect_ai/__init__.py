"""Inspect (the UK AI Security Institute's inspect_ai): its logs, read and written.

Its tasks are Python programs, which do not run here.
"""

from polymeter.core.names.registry import Target
from polymeter.core.names.systems import System
from polymeter.core.names.unsupported import UnsupportedFile

_HERE = "polymeter.interop.inspect_ai"

SYSTEM = System(
    name="inspect_ai",
    title="Inspect",
    summary="logs of Inspect (inspect_ai)",
    logs=f"{_HERE}.logs:READER",
    exports={
        "inspect": Target(f"{_HERE}.exports:write_export", "polymeter", summary="Inspect: a .eval log for each task")
    },
    version="0.3.285",
    unsupported=(
        UnsupportedFile(
            "a task of Inspect (inspect_ai)",
            "inspect_ai",
            (r"^\s*(?:from|import) inspect_ai\b", r"^\s*@(?:\w+\.)?\w*task\b|\bTask\("),
            "Its logs can be read: polymeter import LOG.",
        ),
    ),
)
