"""Output types: what a task asks of a model, and how an answer of that kind is scored."""
