"""lm-eval (EleutherAI's lm-evaluation-harness): its task files, and its logs, read and written.

The index of Polymeter's task YAML lists its task files too, as a dialect; ``tasks`` reads them.
"""

from polymeter.core.names.registry import Target
from polymeter.core.names.systems import Command, ImportRoot, Installed, Scripts, System
from polymeter.core.names.unsupported import UnsupportedFile

_HERE = "polymeter.interop.lm_eval"

SYSTEM = System(
    name="lm_eval",
    title="lm-eval",
    summary="task folders, LM classes and logs of lm-eval (lm-evaluation-harness)",
    formats={"lm_eval": Target(f"{_HERE}.tasks:FORMAT", "polymeter", summary="YAML tasks of lm-eval")},
    dialects=(f"{_HERE}.tasks.dialect:DIALECT",),
    models={
        "lm": Target(
            f"{_HERE}.models:LmModel",
            "polymeter",
            "",
            "A model written for lm-eval: a subclass of LM in a file or package",
            ("text", "image", "audio"),
            ("generate", "loglikelihood"),
            read_args=f"{_HERE}.models.arguments:simple_parse_args_string",
        ),
    },
    command=Command(
        "lm-eval",
        "Run lm-eval's command line: run (or options alone), ls, validate.",
        f"{_HERE}.command:run_command",
        modules={"lm_eval": ()},
        python_options={"--model-path": "--model_path", "--include-path": "--include_path"},
    ),
    scripts=Scripts(wrappers=f"{_HERE}.command:load_wrappers", wrapper_signs=("lm_eval.api", "TemplateLM")),
    import_roots={
        "lm_eval": ImportRoot(
            aliases=f"{_HERE}.shim.aliases:LM_EVAL", refused=f"{_HERE}.shim.refused:LM_EVAL", otherwise="lmms_eval"
        )
    },
    trees={"lm_eval.tasks.": ("_factory", "_index", "_yaml_loader", "manager")},
    absent={
        "tasks.": "If another task folder has it, put the two folders side by side, as in lm-eval, or name it with "
        "--include-path."
    },
    logs=f"{_HERE}.logs:READER",
    exports={
        "lm-eval": Target(
            f"{_HERE}.exports:write_export",
            "polymeter",
            summary="lm-eval 0.4: results_*.json, samples_TASK_*.jsonl",
        )
    },
    unsupported=(
        UnsupportedFile(
            "a task of lm-eval before 0.4",
            "lm_eval.base",
            (r"^\s*(?:from lm_eval\.base import|import lm_eval\.base\b)", r"^class \w+\("),
            "Tasks of lm-eval 0.4 are run: YAML, and classes that a YAML names.",
        ),
        UnsupportedFile(
            "a class for a task of lm-eval without the YAML that names it",
            "lm_eval.api",
            (r"^\s*(?:from|import) lm_eval\.api\b", r"^\s*class \w+\(\s*(?:\w+\.)*\w*Task\s*[,)]"),
            "Write that YAML beside it: 'task: NAME' and 'class: !function FILE.CLASS'.",
            only_named=True,
        ),
    ),
    installed=Installed(
        "lm_eval",
        "tasks",
        "task_yaml",
        dialect="lm_eval",
        clone="https://github.com/EleutherAI/lm-evaluation-harness lm-evaluation-harness/lm_eval/tasks",
    ),
    version="0.4.13",
    differences=f"{_HERE}.differences:DIFFERENCES",
)
