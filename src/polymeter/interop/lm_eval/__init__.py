"""lm-eval (EleutherAI's lm-evaluation-harness): its logs, read and written.

Its tasks and imports are served by other systems: task YAML is Polymeter's own format, and the name ``lm_eval`` leads
to lmms-eval's shim.
"""

from polymeter.core.registry import Target
from polymeter.core.systems import System

SYSTEM = System(
    name="lm_eval",
    title="lm-eval",
    summary="logs of lm-eval (lm-evaluation-harness)",
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
    version="0.4.13",
)
