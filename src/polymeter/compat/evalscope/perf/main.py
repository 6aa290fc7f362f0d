"""Running a load test."""

from polymeter.compat.evalscope._absent import absent_function

run_perf_benchmark = absent_function(
    "run_perf_benchmark", "Polymeter does not test the load of endpoints; vLLM's 'vllm bench serve' and others do."
)
