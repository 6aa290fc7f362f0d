"""EvalScope 1.x: data adapters that ``@register_benchmark`` makes known, beside those of 0.17."""
