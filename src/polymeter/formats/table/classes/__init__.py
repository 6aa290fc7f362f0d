"""TSV files that are benchmarks without code: what a file measures follows from its columns.

``columns.py`` has the rules; ``multiple_choice/``, ``questions/`` and ``images/`` the dataset classes that serve them,
on the same bases and by the same contract as the classes that people write. Some have the names that VLMEvalKit has for
them, for files that derive from those.
"""

from polymeter.formats.table.classes.columns import RULES, class_for, type_of, why_not

__all__ = ["RULES", "class_for", "type_of", "why_not"]
