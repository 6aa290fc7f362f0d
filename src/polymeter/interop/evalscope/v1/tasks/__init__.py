"""The format of EvalScope 1.x's adapters: classes that ``@register_benchmark(BenchmarkMeta(...))`` makes known.

``reading`` and ``index`` list and describe them without running their code, ``checks`` finds faults in it. ``guest``
runs it, up to the prompts; ``compile`` makes the Task, whose parts stand in ``settings``, ``model``, ``rollout``,
``scoring`` and ``reduction``.
"""

from __future__ import annotations

from polymeter.core.format import PageKeys
from polymeter.interop.evalscope.tasks import adapter_format

__all__ = ["FORMAT"]

_PAGE_KEYS = PageKeys(
    title=("pretty_name",),
    default_output="generation",
    outputs=("output_types",),
    settings=("extra_params", "filters", "metric_list", "aggregation"),
    prompts=("system_prompt", "few_shot_prompt_template", "prompt_template"),
    kinds={"generation": "generate", "image_generation": "generate_image"},
)
FORMAT = adapter_format(
    "adapter_1x",
    __name__,
    {"en": "data adapter of EvalScope 1.x", "zh": "EvalScope 1.x 数据适配器"},
    _PAGE_KEYS,
)
