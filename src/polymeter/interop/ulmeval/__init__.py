"""ULMEvalKit, with VLMEvalKit where the two agree: dataset classes, model wrappers, imports and command lines."""

from polymeter.core.names.registry import Target
from polymeter.core.names.systems import Command, ImportRoot, Scripts, Starter, System
from polymeter.core.names.unsupported import UnsupportedFile

_HERE = "polymeter.interop.ulmeval"
_SHIM = f"{_HERE}.shim"
_DATASETS = ("text_base", "image_base", "utils", "utils.judge_util")
_NOT_OURS = "ULMEvalKit's benchmarks and wrappers do not come with Polymeter: put their files side by side."

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
            "A model wrapper written for ULMEvalKit (generate_inner) in a file, or one of ULMEvalKit's models by name",
            ("text", "image"),
            ("generate", "generate_image"),
            names=f"{_HERE}.models.zoo:listed_names",
        ),
        "vlm": Target(
            f"{_HERE}.models.vlmevalkit:vlm_model",
            "polymeter",
            "",
            "A model wrapper of VLMEvalKit in a checkout or a file, or one of VLMEvalKit's models by name",
            ("text", "image", "video"),
            ("generate",),
            names=f"{_HERE}.models.vlmevalkit:listed_names",
        ),
    },
    import_roots={
        "ulmeval": ImportRoot(aliases=f"{_SHIM}.aliases:ULMEVAL", refused=f"{_SHIM}.refused:ULMEVAL"),
        "vlmeval": ImportRoot(
            aliases=f"{_SHIM}.aliases:VLMEVAL",
            otherwise="ulmeval",
            title="VLMEvalKit",
        ),
    },
    trees={
        "ulmeval.dataset.": _DATASETS,
        "ulmeval.ulm.": ("base",),
        "ulmeval.api.": ("base", "gpt"),
        "vlmeval.dataset.": _DATASETS,
        "vlmeval.vlm.": ("base",),
        "vlmeval.api.": ("base", "gpt"),
    },
    checkouts={"ulmeval": "smp", "vlmeval": "smp"},
    absent={"dataset.": _NOT_OURS, "ulm.": _NOT_OURS, "vlm.": _NOT_OURS},
    command=Command(
        "ulmeval",
        "Run ULMEvalKit's command line: run, evaluate, dlist, mlist.",
        f"{_HERE}.command:run_command",
        modules={"ulmeval": ("run",), "ulmeval.run": ("run",), "ulmeval.evaluate": ("evaluate",)},
        python_options={"--model-path": "--model-path"},
        scripts=("run.py", "evaluate.py"),
    ),
    more_commands=(
        Command(
            "vlmeval",
            "Run VLMEvalKit's command line: run, eval, dlist, mlist, missing, scan, circular.",
            f"{_HERE}.vlmevalkit.command:run_command",
            modules={"vlmeval": ("run",), "vlmeval.run": ("run",), "vlmeval.tools": ()},
            python_options={"--model-path": "--model-path"},
            scripts=("run.py",),
        ),
    ),
    scripts=Scripts(
        context=f"{_HERE}.command:script_context",
        wrappers=f"{_HERE}.guest_files:load_wrappers",
        wrapper_signs=(
            "ulmeval",
            "vlmeval",
            "supported_ULM",
            "supported_VLM",
            "generate_inner",
            "batch_generation_inner",
        ),
    ),
    exports={
        "vlmevalkit": Target(
            f"{_HERE}.exports:write_export",
            "polymeter",
            "excel",
            "VLMEvalKit: MODEL_DATASET.xlsx, with what each sample scored, and its _acc.csv",
        )
    },
    unsupported=(
        UnsupportedFile(
            "a benchmark of VLMEvalKit before 0.2",
            "TSVDataset",
            (r"^\s*from vlmeval\.utils(?:\.\w+)? import .*\bTSVDataset\b|\(TSVDataset\):",),
            "Dataset classes of VLMEvalKit 0.2 are run (ImageBaseDataset).",
        ),
    ),
    differences=f"{_HERE}.differences:DIFFERENCES",
    logs=f"{_HERE}.logs:READER",
    starters={
        "dataset-class": Starter(
            "a dataset class of ULMEvalKit: code over a table",
            f"{_HERE}:starters/dataset_class",
            ("check {folder}/{name}.py", "run --model shapes --tasks {folder}/{name}.py"),
        )
    },
)
