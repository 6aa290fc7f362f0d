"""The classes that authors of EvalScope 1.x subclass."""
