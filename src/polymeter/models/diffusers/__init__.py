"""Pipelines of Diffusers: text to image, and image and text to image, from a folder or the hub.

``model`` answers requests; ``settings`` holds what a user may set; ``index`` reads from ``model_index.json`` what a
pipeline is; ``load`` reads it, and ``parts`` the parts that it does not contain; ``naming`` knows the names of
generation settings; ``rows`` turns requests into images to draw; ``draw`` calls the pipeline. Diffusers and torch are
imported when a model is made, not before.
"""

from polymeter.models.diffusers.model import DiffusersModel

__all__ = ["DiffusersModel"]
