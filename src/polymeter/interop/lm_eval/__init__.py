"""lm-eval (EleutherAI's lm-evaluation-harness): its task files, and its logs, read and written.

The index of Polymeter's task YAML lists its task files too, as a dialect; ``tasks`` reads them.
"""

from polymeter.core.registry import Target
from polymeter.core.systems import Installed, System

SYSTEM = System(
    name="lm_eval",
    title="lm-eval",
    summary="task folders, LM classes and logs of lm-eval (lm-evaluation-harness)",
    formats={"lm_eval": Target("polymeter.interop.lm_eval.tasks:FORMAT", "polymeter", summary="YAML tasks of lm-eval")},
    extensions={"task_yaml.dialect": "polymeter.interop.lm_eval.tasks.dialect:DIALECT"},
    models={
        "lm": Target(
            "polymeter.interop.lm_eval.models:LmModel",
            "polymeter",
            "",
            "A model written for lm-eval: a subclass of LM in a file or package",
            ("text", "image", "audio"),
            ("generate", "loglikelihood"),
            read_args="polymeter.interop.lm_eval.models.arguments:simple_parse_args_string",
        ),
    },
    logs="polymeter.interop.lm_eval.logs:READER",
    exports={
        "lm-eval": Target(
            "polymeter.interop.lm_eval.exports:write_export",
            "polymeter",
            summary="lm-eval 0.4: results_*.json, samples_TASK_*.jsonl",
        )
    },
    installed=Installed(
        "lm_eval",
        "tasks",
        "task_yaml",
        clone="https://github.com/EleutherAI/lm-evaluation-harness lm-evaluation-harness/lm_eval/tasks",
    ),
    version="0.4.13",
    differences="polymeter.interop.lm_eval.differences:DIFFERENCES",
)
