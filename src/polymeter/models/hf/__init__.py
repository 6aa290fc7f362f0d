"""Models of Transformers: chat, vision, audio and video models and causal LMs, from a folder or the hub.

``model`` answers requests; ``settings`` holds what a user may set; ``config`` reads from a checkpoint's configuration
what it is; ``load`` reads it; ``encode`` makes tensors of requests; ``generate``, ``loglikelihood`` and
``images`` compute. Nothing here imports torch before a model is loaded.
"""

from polymeter.models.hf.model import HfModel

__all__ = ["HfModel"]
