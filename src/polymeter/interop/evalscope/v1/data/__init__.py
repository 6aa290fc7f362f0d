"""Data of adapters of EvalScope 1.x: loaders, samples in memory, hubs, builders."""
