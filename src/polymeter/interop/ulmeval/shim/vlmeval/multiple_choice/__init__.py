"""``vlmeval.dataset.utils.multiple_choice``: which option an answer names, and accuracies."""

from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice.accuracies import (
    MMB_abbrs,
    MMT_abbrs,
    report_acc,
    report_acc_MMSci,
    report_acc_MMT,
    report_acc_MMVP,
    report_topviewrs_acc,
)
from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice.evaluation import (
    MMMU_preproc,
    eval_circular_group,
    eval_vanilla,
    mcq_circular_eval,
    mcq_vanilla_eval,
    prefetch_circular_group,
)
from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice.extraction import (
    build_choices,
    extract_answer_from_item,
    prefetch_answer,
)
from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice.judge_prompts import (
    build_prompt,
    build_prompt_blink,
    build_prompt_cn,
    build_prompt_LEGO,
    build_prompt_wemath,
)
from polymeter.interop.ulmeval.shim.vlmeval.multiple_choice.real_world import (
    extract_characters_regex,
    get_dimension_rating,
)

__all__ = [
    "MMB_abbrs",
    "MMMU_preproc",
    "MMT_abbrs",
    "build_choices",
    "build_prompt",
    "build_prompt_LEGO",
    "build_prompt_blink",
    "build_prompt_cn",
    "build_prompt_wemath",
    "eval_circular_group",
    "eval_vanilla",
    "extract_answer_from_item",
    "extract_characters_regex",
    "get_dimension_rating",
    "mcq_circular_eval",
    "mcq_vanilla_eval",
    "prefetch_answer",
    "prefetch_circular_group",
    "report_acc",
    "report_acc_MMSci",
    "report_acc_MMT",
    "report_acc_MMVP",
    "report_topviewrs_acc",
]
