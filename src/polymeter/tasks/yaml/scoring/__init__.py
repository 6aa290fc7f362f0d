"""From answers to values: reasoning, filters, metrics and reductions."""
