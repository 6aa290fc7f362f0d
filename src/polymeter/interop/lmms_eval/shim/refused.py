"""Names of lmms-eval that can be imported but not used, and what to do instead; functions are written with ``()``."""

from __future__ import annotations

from collections.abc import Mapping

_JOURNAL = "Every answer is in the run's journal: run the same command with --use_cache, or 'polymeter resume'."
_REQUESTS = "Requests are made anew from the data in each run, so none are cached."
_SERVER = "Polymeter has no evaluation server: call polymeter.evaluate() or simple_evaluate() from your own."
_JUDGE = "Start the judge's server yourself, and name it with --judge."
_UNUSED = "lmms-eval's own filter of this name does nothing."

LMMS_EVAL: Mapping[str, str] = {
    "lmms_eval.caching.cache.delete_cache()": _REQUESTS,
    "lmms_eval.caching.cache.load_from_cache()": _REQUESTS,
    "lmms_eval.caching.cache.save_to_cache()": _REQUESTS,
    "lmms_eval.caching.response_cache.ResponseCache": _JOURNAL,
    "lmms_eval.entrypoints.AsyncEvalClient": _SERVER,
    "lmms_eval.entrypoints.EvalClient": _SERVER,
    "lmms_eval.entrypoints.JobScheduler": _SERVER,
    "lmms_eval.entrypoints.ServerArgs": _SERVER,
    "lmms_eval.entrypoints.launch_server()": _SERVER,
    "lmms_eval.entrypoints.client.AsyncEvalClient": _SERVER,
    "lmms_eval.entrypoints.client.EvalClient": _SERVER,
    "lmms_eval.entrypoints.http_server.launch_server()": _SERVER,
    "lmms_eval.entrypoints.job_scheduler.JobScheduler": _SERVER,
    "lmms_eval.entrypoints.server_args.ServerArgs": _SERVER,
    "lmms_eval.filters.decontamination.DecontaminationFilter": _UNUSED,
    "lmms_eval.launch_server.run_server()": _SERVER,
    "lmms_eval.llm_judge.launcher.get_launcher()": _JUDGE,
}
