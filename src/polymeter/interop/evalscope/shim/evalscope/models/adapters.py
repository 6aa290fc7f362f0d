"""Model adapters, which the engine stands in for: a benchmark is asked in the way that its ``model_adapter`` names."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_class, absent_function

_INSTEAD = "Subclass CustomModel, or polymeter.BatchModel, and give the model to TaskConfig."

BaseModelAdapter = absent_class("BaseModelAdapter", _INSTEAD)
ChatGenerationModelAdapter = absent_class("ChatGenerationModelAdapter", _INSTEAD)
ContinuationLogitsModelAdapter = absent_class("ContinuationLogitsModelAdapter", _INSTEAD)
CustomModelAdapter = absent_class("CustomModelAdapter", _INSTEAD)
MultiChoiceModelAdapter = absent_class("MultiChoiceModelAdapter", _INSTEAD)
ServerModelAdapter = absent_class("ServerModelAdapter", _INSTEAD)
T2IModelAdapter = absent_class("T2IModelAdapter", _INSTEAD)
initialize_model_adapter = absent_function("initialize_model_adapter", _INSTEAD)
