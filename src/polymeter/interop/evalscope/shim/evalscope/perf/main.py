"""Running a load test."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_function

run_perf_benchmark = absent_function(
    "run_perf_benchmark", "Polymeter does not test the load of endpoints; vLLM's 'vllm bench serve' and others do."
)
