"""Dataset classes of ULMEvalKit that need only a judge behind an API, against hand-worked values."""
