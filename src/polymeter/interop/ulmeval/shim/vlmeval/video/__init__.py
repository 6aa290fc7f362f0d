"""VLMEvalKit's base classes of benchmarks over videos."""
