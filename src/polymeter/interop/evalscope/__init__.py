"""EvalScope 0.17 and 1.x: data adapters, custom models, ``evalscope.…`` imports, ``run_task`` and its command line."""

from polymeter.core.names.registry import Target
from polymeter.core.names.systems import Command, ImportRoot, Installed, Scripts, Starter, System

_HERE = "polymeter.interop.evalscope"
_SHIM = f"{_HERE}.shim"

SYSTEM = System(
    name="evalscope",
    title="EvalScope",
    summary="data adapters, run_task and the command line of EvalScope 0.17 and 1.x",
    formats={
        "adapter": Target(f"{_HERE}.tasks:FORMAT", "polymeter", summary="data adapters of EvalScope 0.17"),
        "adapter_1x": Target(f"{_HERE}.v1.tasks:FORMAT", "polymeter", summary="data adapters of EvalScope 1.x"),
    },
    import_roots={
        "evalscope": ImportRoot(aliases=f"{_SHIM}.aliases:EVALSCOPE", refused=f"{_SHIM}.refused:EVALSCOPE"),
    },
    trees={"evalscope.benchmarks.": ("benchmark", "data_adapter", "filters", "utils")},
    absent={
        "backend": "EvalScope's other backends (OpenCompass, VLMEvalKit, RAGEval) do not come with Polymeter: name the "
        "benchmark itself, or write a data adapter for it.",
        "third_party": "What EvalScope carries of other projects does not come with Polymeter: put the folder beside "
        "the file that imports it and import it by a relative name, or write a data adapter.",
    },
    command=Command(
        "evalscope",
        "Run EvalScope's command line: eval, version.",
        f"{_HERE}.command:run_command",
        modules={"evalscope": ("eval",), "evalscope.run": ("eval",), "evalscope.cli.cli": ()},
    ),
    scripts=Scripts(names=f"{_HERE}.tasks.guest:supplied_names"),
    library=f"{_HERE}.library",
    exports={
        "evalscope": Target(
            f"{_HERE}.exports:write_export", "polymeter", summary="EvalScope 0.17: predictions/, reviews/, reports/"
        ),
        "evalscope-1": Target(
            f"{_HERE}.exports_1x:write_export", "polymeter", summary="EvalScope 1.x: predictions/, reviews/, reports/"
        ),
    },
    installed=Installed(
        "evalscope",
        "benchmarks",
        "adapter",
        clone="https://github.com/modelscope/evalscope evalscope/evalscope/benchmarks",
        also=("adapter_1x",),
    ),
    version="0.17.0",
    differences=f"{_HERE}.differences:DIFFERENCES",
    logs=f"{_HERE}.logs:READER",
    starters={
        "adapter": Starter(
            "a data adapter of EvalScope: a benchmark as a class",
            f"{_HERE}:starters/adapter",
            (
                "check {folder}/{name}_adapter.py",
                "run --model mock --model-args mode=gold --tasks {folder}/{name}_adapter.py",
            ),
        )
    },
)
