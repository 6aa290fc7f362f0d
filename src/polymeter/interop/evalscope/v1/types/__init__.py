"""The types that adapters of EvalScope 1.x build and read: messages, samples, states, outputs, scores."""
