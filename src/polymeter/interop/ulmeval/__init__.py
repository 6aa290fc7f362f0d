"""ULMEvalKit, with VLMEvalKit where the two agree: dataset classes, model wrappers, imports and command lines."""

from polymeter.core.registry import Target
from polymeter.core.systems import ImportRoot, System

_HERE = "polymeter.interop.ulmeval"
_SHIM = f"{_HERE}.shim"
_NOT_OURS = "Benchmarks and wrappers of other people do not come with Polymeter: put their files side by side."

SYSTEM = System(
    name="ulmeval",
    title="ULMEvalKit",
    summary="dataset classes, model wrappers and the command lines of ULMEvalKit",
    formats={
        "tsv": Target(
            "polymeter.formats.table:FORMAT", "polymeter", summary="dataset classes of ULMEvalKit, and TSV files"
        )
    },
    models={
        "ulm": Target(
            f"{_HERE}.models:ulm_model",
            "polymeter",
            "",
            "A model wrapper written for ULMEvalKit (generate_inner) in a file, or one of that tool's models by name",
            ("text", "image"),
            ("generate", "generate_image"),
        ),
    },
    import_roots={
        "ulmeval": ImportRoot(aliases=f"{_SHIM}.aliases:ULMEVAL", refused=f"{_SHIM}.refused:ULMEVAL"),
        "vlmeval": ImportRoot(
            aliases=f"{_SHIM}.aliases:VLMEVAL",
            refused=f"{_SHIM}.refused:VLMEVAL",
            otherwise="ulmeval",
            title="VLMEvalKit",
        ),
    },
    kits={"ulmeval": ("dataset", "ulm", "api"), "vlmeval": ("dataset", "vlm", "api")},
    absent={"dataset.": _NOT_OURS, "ulm.": _NOT_OURS, "vlm.": _NOT_OURS},
    command=f"{_HERE}.command:ulmeval",
    command_name="ulmeval",
)
