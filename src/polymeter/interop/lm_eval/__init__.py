"""lm-eval (EleutherAI's lm-evaluation-harness): its logs, read and written.

Its tasks and imports are served by other systems: task YAML is Polymeter's own format, and the name ``lm_eval`` leads
to lmms-eval's shim.
"""

from polymeter.core.registry import Target
from polymeter.core.systems import Installed, System

SYSTEM = System(
    name="lm_eval",
    title="lm-eval",
    summary="logs of lm-eval (lm-evaluation-harness)",
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
