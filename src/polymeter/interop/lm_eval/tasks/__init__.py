"""lm-eval's task files: YAML like ours that means something else by it.

They are listed, loaded and checked by ``tasks.yaml``, by the choices of ``dialect``. What exceeds that is here:

- ``config`` knows the fields, ``inspection`` checks them.
- ``compile`` puts a task together: ``docs`` opens its rows, ``fields`` reads them, ``samplers`` choose examples,
  ``prompts`` writes contexts, ``instances`` makes the instances, and ``asking`` asks them.
- ``scoring``, ``chains``, ``metrics`` and ``reduction`` turn answers into results, ``groups`` results of tasks into
  results of groups. ``class_task`` reads tasks that are Python classes.
"""

from __future__ import annotations

from dataclasses import replace

from polymeter.interop.lm_eval.tasks.dialect import DIALECT
from polymeter.tasks.yaml.own import PAGE_KEYS, dialect_format

__all__ = ["FORMAT"]

_PAGE_KEYS = replace(
    PAGE_KEYS,
    settings=("dataset_kwargs", "generation_kwargs", "repeats", "filter_list", "fewshot_config", "gen_prefix"),
    prompts=("description", "doc_to_text", "doc_to_choice", "doc_to_target"),
    kinds=dict.fromkeys(("multiple_choice", "loglikelihood_rolling"), "loglikelihood"),
)
FORMAT = dialect_format(DIALECT, {"en": "lm-eval task", "zh": "lm-eval 任务"}, _PAGE_KEYS)
