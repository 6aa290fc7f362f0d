"""Older base classes of models."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_class

_INSTEAD = "Subclass CustomModel, or give TaskConfig an api_url."

BaseModel = absent_class("BaseModel", _INSTEAD)
ChatBaseModel = absent_class("ChatBaseModel", _INSTEAD)
OpenAIModel = absent_class("OpenAIModel", _INSTEAD)
