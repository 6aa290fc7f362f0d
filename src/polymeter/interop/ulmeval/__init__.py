"""ULMEvalKit, with VLMEvalKit where the two agree: dataset classes, model wrappers, imports and command lines."""

from polymeter.core.registry import Target
from polymeter.core.systems import System

_HERE = "polymeter.interop.ulmeval"
_ULMEVAL, _VLMEVAL = f"{_HERE}.shim.ulmeval", f"{_HERE}.shim.vlmeval"

SYSTEM = System(
    name="ulmeval",
    title="ULMEvalKit",
    summary="dataset classes, model wrappers and the command lines of ULMEvalKit",
    formats={"dataset_class": Target(f"{_HERE}.tasks:FORMAT", "polymeter", summary="dataset classes of ULMEvalKit")},
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
    import_roots={"ulmeval": (_ULMEVAL,), "vlmeval": (_VLMEVAL, _ULMEVAL)},
    kits={"ulmeval": ("dataset", "ulm", "api"), "vlmeval": ("dataset", "vlm", "api")},
    command=f"{_HERE}.command:ulmeval",
    command_name="ulmeval",
)
