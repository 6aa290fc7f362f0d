"""Model adapters by name."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_function

get_model_adapter = absent_function(
    "get_model_adapter", "A benchmark's model_adapter and output_types say how a model is asked."
)
