"""TSV files that are benchmarks without code: what a file measures follows from its columns.

``columns`` has the rules; ``multiple_choice``, ``questions`` and ``images`` have the dataset classes, on the same bases
and with the same contract as authors' classes. Some have the names of VLMEvalKit's classes, for files that derive from
those.
"""

from polymeter.tasks.table.classes.columns import RULES, class_for, misspelt_columns, type_of, why_not

__all__ = ["RULES", "class_for", "misspelt_columns", "type_of", "why_not"]
