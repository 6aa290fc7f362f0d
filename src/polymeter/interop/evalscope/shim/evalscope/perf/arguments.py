"""What a load test is told."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_class

Arguments = absent_class(
    "Arguments", "Polymeter does not test the load of endpoints; vLLM's 'vllm bench serve' and others do."
)
