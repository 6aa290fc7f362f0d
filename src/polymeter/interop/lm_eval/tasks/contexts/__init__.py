"""From a row to its context: description, examples and question."""
