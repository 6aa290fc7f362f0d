"""Forms of columns that neither the code nor the name of the column tells, by task folder or task.

A form is one of `rows.KINDS`, ``=JSON`` for one value, or ``|JSON`` for one of several.
"""

HINTS: dict[str, dict[str, str]] = {}
