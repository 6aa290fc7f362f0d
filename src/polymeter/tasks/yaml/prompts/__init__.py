"""The prompt of a sample: rows, forms, templates and media."""
