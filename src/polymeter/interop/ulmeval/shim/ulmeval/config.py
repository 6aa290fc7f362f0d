"""Stand-in for ``ulmeval.config``: models by name. A file may add its own to ``supported_ULM``."""

from polymeter.interop.ulmeval.models.zoo import supported_ULM

__all__ = ["supported_ULM"]
