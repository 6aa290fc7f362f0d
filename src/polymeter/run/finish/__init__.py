"""From the rows of a journal to results, the record of a run, and how a run continues or is scored again."""
