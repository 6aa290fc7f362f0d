"""Names that stand in files, digests, seeds, flags and YAML keys, where the code has since found another word.

They never change: run folders of earlier versions are read by them. A new word in the code goes without a trace in the
bytes as long as it is translated here.
"""

from __future__ import annotations

OWN_PROMPT_ROLE = "own_prompt"
"""The role under which the journal keeps a model's own prompts."""

TRAITS = {"requests": "asks"}
"""Fields of ``ModelTraits`` → keys in ``run.json``."""

TASK_FORMAT = "dialect"
"""The key in ``run.json`` under which a task's format stands; also in ``RunOptions.dialect_options`` and in the flag
``--dialect-option``. The format stands there by its ``stored_name``: ``table`` and ``dataset_class``, which were one
format once, are both ``tsv``.
"""

SESSION_DISPATCHERS = "lanes"
"""The key in ``run.json`` under which a session tells how its dispatchers fared."""
