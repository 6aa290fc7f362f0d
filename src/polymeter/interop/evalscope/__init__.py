"""EvalScope 0.17: data adapters, custom models, ``evalscope.…`` imports, ``run_task`` and its command line."""

from polymeter.core.registry import Target
from polymeter.core.systems import ImportRoot, System

_HERE = "polymeter.interop.evalscope"
_SHIM = f"{_HERE}.shim"

SYSTEM = System(
    name="evalscope",
    title="EvalScope",
    summary="data adapters, run_task and the command line of EvalScope 0.17",
    formats={"adapter": Target(f"{_HERE}.tasks:FORMAT", "polymeter", summary="data adapters of EvalScope")},
    import_roots={
        "evalscope": ImportRoot(aliases=f"{_SHIM}.aliases:EVALSCOPE", refused=f"{_SHIM}.refused:EVALSCOPE"),
    },
    trees={"evalscope.benchmarks.": ("benchmark", "data_adapter", "filters", "utils")},
    command=f"{_HERE}.command:evalscope",
    command_name="evalscope",
    library=f"{_HERE}.library",
)
