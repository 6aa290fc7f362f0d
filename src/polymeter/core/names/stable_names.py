"""Names in files, digests, seeds, flags and YAML keys for which the code now uses another word.

They never change, because run folders of earlier versions are read by them. A rename in the code leaves the bytes as
they are as long as it is translated here.
"""

from __future__ import annotations

OWN_PROMPT_ROLE = "own_prompt"
"""The role under which the journal keeps a model's own prompts."""

ACT_ROLE = "act:"
"""The beginning of the role under which the journal keeps the observations of an environment; its name follows."""

TRAITS = {"requests": "asks"}
"""Fields of ``ModelTraits`` → keys in ``run.json``."""

TASK_FORMAT = "dialect"
"""The key in ``run.json`` that holds a task's format; also in ``RunOptions.dialect_options`` and in the flag
``--dialect-option``. They use the format's ``stored_name``: ``table`` and ``dataset_class``, which were one
format once, are both ``tsv``.
"""

SESSION_DISPATCHERS = "lanes"
"""The key in ``run.json`` that holds the statistics of a session's dispatchers."""
