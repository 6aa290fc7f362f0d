"""Names of EvalScope that can be imported but not used, and what to do instead; functions are written with ``()``."""

from __future__ import annotations

from collections.abc import Mapping

_CHECKPOINT = "Give the checkpoint's name to TaskConfig(model=…), and its settings as model_args."
_SUBCLASS = "Subclass CustomModel, or polymeter.BatchModel, and give the model to TaskConfig."
_ENDPOINT = "Subclass CustomModel, or give TaskConfig an api_url."
_LOAD = "Polymeter does not load-test endpoints; vLLM's 'vllm bench serve' and others do."
_NO_LOAD = "Polymeter does not load-test endpoints, so there is nothing to register for."

EVALSCOPE: Mapping[str, str] = {
    "evalscope.collections.EvaluatorCollection": "Evaluate a collection with TaskConfig(datasets=['data_collection'], "
    "dataset_args={'data_collection': {'local_path': 'FILE.jsonl'}}).",
    "evalscope.models.adapters.BaseModelAdapter": _SUBCLASS,
    "evalscope.models.adapters.ChatGenerationModelAdapter": _SUBCLASS,
    "evalscope.models.adapters.ContinuationLogitsModelAdapter": _SUBCLASS,
    "evalscope.models.adapters.CustomModelAdapter": _SUBCLASS,
    "evalscope.models.adapters.MultiChoiceModelAdapter": _SUBCLASS,
    "evalscope.models.adapters.ServerModelAdapter": _SUBCLASS,
    "evalscope.models.adapters.T2IModelAdapter": _SUBCLASS,
    "evalscope.models.adapters.initialize_model_adapter()": _SUBCLASS,
    "evalscope.models.local_model.LocalModel": _CHECKPOINT,
    "evalscope.models.local_model.LocalChatModel": _CHECKPOINT,
    "evalscope.models.local_model.LocalImageModel": _CHECKPOINT,
    "evalscope.models.local_model.get_local_model()": _CHECKPOINT,
    "evalscope.models.model.BaseModel": _ENDPOINT,
    "evalscope.models.model.ChatBaseModel": _ENDPOINT,
    "evalscope.models.model.OpenAIModel": _ENDPOINT,
    "evalscope.models.register.get_model_adapter()": "A benchmark's model_adapter and output_types decide how a model "
    "is called.",
    "evalscope.perf.arguments.Arguments": _LOAD,
    "evalscope.perf.main.run_perf_benchmark()": _LOAD,
    "evalscope.perf.plugin.registry.register_api()": _NO_LOAD,
    "evalscope.perf.plugin.registry.register_dataset()": _NO_LOAD,
}
