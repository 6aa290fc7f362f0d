"""Stand-in for ``vlmeval.config``: models by name. A file may add its own to ``supported_VLM``, which is the same
mapping as ``ulmeval.config.supported_ULM``.
"""

from polymeter.interop.ulmeval.models.zoo import supported_ULM

__all__ = ["supported_VLM"]

supported_VLM = supported_ULM
