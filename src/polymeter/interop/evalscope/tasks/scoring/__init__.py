"""From answers to reports: filters, parsers, reviews, judges, metrics, reductions and the tree that is reported."""
