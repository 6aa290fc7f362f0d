"""The ``lm`` backend: subclasses of lm-eval's ``LM``, run unmodified.

``base`` holds what their authors import, ``loading`` finds the class in the user's file or package, ``calls`` makes the
instances that its methods take and reads what they return, and ``model`` puts these together for the engine.
"""

from polymeter.interop.lm_eval.models.model import LmModel

__all__ = ["LmModel"]
