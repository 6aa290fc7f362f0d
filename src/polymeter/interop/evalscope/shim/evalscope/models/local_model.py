"""Checkpoints, which ``TaskConfig(model=…)`` loads by their name."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_class, absent_function

_INSTEAD = "Give the checkpoint's name to TaskConfig(model=…), and its settings as model_args."

LocalModel = absent_class("LocalModel", _INSTEAD)
LocalChatModel = absent_class("LocalChatModel", _INSTEAD)
LocalImageModel = absent_class("LocalImageModel", _INSTEAD)
get_local_model = absent_function("get_local_model", _INSTEAD)
