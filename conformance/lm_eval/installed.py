"""lm-eval as installed, made to read local rows: what drivers in its environment share."""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any

from conformance import contained


def contained_manager(places: dict[str, str]) -> Any:
    """lm-eval's ``TaskManager``, in a process that opens local rows alone and reaches nothing else.

    Args:
        places: Where rows are, see `contained.open_locally`; the caller changes it.
    """
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # What tasks import that takes long: an import that a time limit breaks off leaves a package half loaded.
    import evaluate  # noqa: F401
    import lm_eval.evaluator  # before functions of datasets are replaced
    import sklearn.metrics  # noqa: F401
    import torch.distributed  # noqa: F401
    import transformers  # noqa: F401
    from lm_eval.api import task
    from lm_eval.tasks import TaskManager

    # A bar for each task would be most of the log; two processes of git for each evaluation most of its time.
    task.tqdm = lambda items, **_: items
    lm_eval.evaluator.get_git_commit_hash = str
    lm_eval.evaluator.add_env_info = lambda results: None
    contained.open_locally(places)
    contained.only_this_machine()
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(min(seconds, 0.01))
    return TaskManager()
