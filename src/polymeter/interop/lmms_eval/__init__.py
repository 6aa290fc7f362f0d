"""lmms-eval: tasks that are Python classes, ``lmms`` model wrappers, ``lmms_eval.…`` imports, and its command line.

Its task YAML is Polymeter's own format (``polymeter.tasks.yaml``); ``tasks`` holds what goes beyond it.
"""

from polymeter.core.names.registry import Target
from polymeter.core.names.systems import Command, ImportRoot, Installed, Scripts, System

_HERE = "polymeter.interop.lmms_eval"
_SHIM = f"{_HERE}.shim"

SYSTEM = System(
    name="lmms_eval",
    title="lmms-eval",
    summary="task folders, lmms wrappers and the command line of lmms-eval",
    models={
        "lmms": Target(
            f"{_HERE}.models:LmmsModel",
            "polymeter",
            "",
            "A model wrapper written for lmms-eval: a subclass of lmms in a file or package",
            ("text", "image", "audio", "video"),
            ("generate", "loglikelihood"),
            read_args=f"{_HERE}.models.arguments:simple_parse_args_string",
        ),
    },
    import_roots={
        "lmms_eval": ImportRoot(aliases=f"{_SHIM}.aliases:LMMS_EVAL", refused=f"{_SHIM}.refused:LMMS_EVAL"),
    },
    trees={"lmms_eval.tasks.": (), "lmms_eval.models.": ()},
    absent={
        "tasks.": "If another task folder has it, put the two folders side by side, as in lmms-eval, or name it with "
        "--include-path.",
        "models.simple.": "lmms-eval's own wrappers do not come with Polymeter: put the file into simple/ or chat/, "
        "side by side.",
        "models.chat.": "lmms-eval's own wrappers do not come with Polymeter: put the file into simple/ or chat/, "
        "side by side.",
    },
    command=Command(
        "lmms-eval",
        "Run lmms-eval's command line: eval (or options alone), tasks, models, power, version.",
        f"{_HERE}.command:run_command",
        modules={"lmms_eval": ()},
        python_options={"--model-path": "--model_path", "--include-path": "--include_path"},
    ),
    scripts=Scripts(wrappers=f"{_HERE}.command:load_wrappers"),
    extensions={
        "task_yaml.class_task": f"{_HERE}.tasks.class_task:class_task",
        "task_yaml.code_needs": f"{_HERE}.code_needs:check_code_needs",
        "task_yaml.judge_use": f"{_HERE}.code_needs:judge_use",
    },
    exports={
        "lmms-eval": Target(
            f"{_HERE}.exports:write_export", "polymeter", summary="lmms-eval 0.7: *_results.json, *_samples_TASK.jsonl"
        )
    },
    installed=Installed(
        "lmms_eval",
        "tasks",
        "task_yaml",
        clone="https://github.com/EvolvingLMMs-Lab/lmms-eval lmms-eval/lmms_eval/tasks",
    ),
    version="0.7.2",
    differences=f"{_HERE}.differences:DIFFERENCES",
    logs=f"{_HERE}.logs:READER",
)
