"""Names of lm-eval that can be imported but not used, and what to do instead; functions are written with ``()``."""

from __future__ import annotations

from collections.abc import Mapping

_SERVER = "Start the server, and name it with --base-url and --model openai:NAME."
_REQUESTS = "Requests are made anew from the data in each run, so none are cached."
_INDEX = "lm_eval.tasks.TaskManager and 'polymeter tasks' list tasks; a YAML needs no code to be read."
_TRACKER = "Every run writes its own folder; --log-to sends it to a tracker."

LM_EVAL: Mapping[str, str] = {
    "lm_eval.caching.cache.delete_cache()": _REQUESTS,
    "lm_eval.caching.cache.load_from_cache()": _REQUESTS,
    "lm_eval.caching.cache.save_to_cache()": _REQUESTS,
    "lm_eval.loggers.WandbLogger": _TRACKER,
    "lm_eval.loggers.wandb_logger.WandbLogger": _TRACKER,
    "lm_eval.models.api_models.TemplateAPI": _SERVER,
    "lm_eval.tasks._factory.TaskFactory": _INDEX,
    "lm_eval.tasks._index.Entry": _INDEX,
    "lm_eval.tasks._index.Kind": _INDEX,
    "lm_eval.tasks._index.TaskIndex": _INDEX,
}
