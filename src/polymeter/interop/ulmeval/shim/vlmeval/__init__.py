"""Stand-in for ``vlmeval`` (VLMEvalKit), whose dataset classes and wrappers have the bases of ULMEvalKit: what is not
here is the same as in the stand-in for ``ulmeval``.
"""

from polymeter import __version__

__all__ = ["__version__"]
