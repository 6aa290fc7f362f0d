"""Models: what users subclass is here; how models are loaded and called is the engine's business."""

from polymeter.interop.evalscope.models.custom import CustomModel, DummyCustomModel
from polymeter.interop.evalscope.shim.evalscope.models.adapters import (
    BaseModelAdapter,
    ChatGenerationModelAdapter,
    ContinuationLogitsModelAdapter,
    CustomModelAdapter,
    MultiChoiceModelAdapter,
    ServerModelAdapter,
    T2IModelAdapter,
    initialize_model_adapter,
)
from polymeter.interop.evalscope.shim.evalscope.models.local_model import LocalModel, get_local_model
from polymeter.interop.evalscope.shim.evalscope.models.model import BaseModel, ChatBaseModel, OpenAIModel
from polymeter.interop.evalscope.shim.evalscope.models.register import get_model_adapter

__all__ = [
    "BaseModel",
    "BaseModelAdapter",
    "ChatBaseModel",
    "ChatGenerationModelAdapter",
    "ContinuationLogitsModelAdapter",
    "CustomModel",
    "CustomModelAdapter",
    "DummyCustomModel",
    "LocalModel",
    "MultiChoiceModelAdapter",
    "OpenAIModel",
    "ServerModelAdapter",
    "T2IModelAdapter",
    "get_local_model",
    "get_model_adapter",
    "initialize_model_adapter",
]
