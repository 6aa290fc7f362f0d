"""From answers to values: chains of filters, metrics, aggregations, and the standard errors that lm-eval states."""
