"""The importable modules of ULMEvalKit and VLMEvalKit, and our objects behind their names; see ``guests.shims.finder``.
A module that is missing from ``VLMEVAL`` is looked up in ``ULMEVAL``.
"""

from __future__ import annotations

from collections.abc import Mapping

from polymeter.core.names.systems import same_names

_SHIM = "polymeter.interop.ulmeval.shim"
_MODELS = "polymeter.interop.ulmeval.models"
_TABLE = "polymeter.tasks.table"
_CHOICE = f"{_TABLE}.classes.multiple_choice"
_QUESTIONS = f"{_TABLE}.classes.questions.datasets"
_SMP = f"{_SHIM}.ulmeval.smp"
_VIDEO = f"{_SHIM}.vlmeval.video"
_GPT = f"{_SHIM}.ulmeval.api.gpt"

_RULES = "can_infer can_infer_lego can_infer_option can_infer_sequence can_infer_text"
_MATCHING = same_names(f"{_CHOICE}.extract", _RULES)
_PARALLEL = same_names(f"{_SHIM}.ulmeval.mp_util", "track_progress_rich")
_JUDGES = same_names(f"{_SHIM}.ulmeval.judges", "DEBUG_MESSAGE build_judge")
_FULL_SIZE_JUDGES = {**_JUDGES, **same_names(f"{_SHIM}.vlmeval.judges", "build_judge")}
_BASES = {
    **same_names(f"{_TABLE}.base", "ImageBaseDataset TextBaseDataset"),
    **same_names(f"{_SHIM}.ulmeval.datasets", "img_root_map"),
}
_DATASETS = same_names(
    f"{_SHIM}.ulmeval.datasets",
    "DATASET_CLASSES DATASET_MODALITY DATASET_TYPE IMAGE_DATASET TEXT_DATASET build_dataset infer_dataset_basename",
)

ULMEVAL: Mapping[str, str | Mapping[str, str]] = {
    "ulmeval": same_names("polymeter", "__version__"),
    "ulmeval.api": {
        **same_names(f"{_MODELS}.base", "BaseAPI"),
        **same_names(_GPT, "GPT4V OpenAIWrapper"),
        "*": f"{_SHIM}.ulmeval.wrappers:API",
    },
    "ulmeval.api.base": same_names(f"{_MODELS}.base", "BaseAPI"),
    "ulmeval.api.gpt": _GPT,
    "ulmeval.config": same_names(f"{_MODELS}.native", "supported_ULM"),
    "ulmeval.dataset": {**_DATASETS, **_BASES, **_JUDGES, "*": f"{_SHIM}.ulmeval.datasets:ULMEVAL"},
    "ulmeval.dataset.image_base": same_names(f"{_TABLE}.base", "ImageBaseDataset")
    | same_names(f"{_SHIM}.ulmeval.datasets", "img_root_map"),
    "ulmeval.dataset.text_base": same_names(f"{_TABLE}.base", "TextBaseDataset"),
    "ulmeval.dataset.utils": {
        **_JUDGES,
        "MMDetModel": "ulmeval.dataset.utils.mmdet_model:MMDetModel",
        "MPLUGModel": "ulmeval.dataset.utils.mplug:MPLUGModel",
        "OpenCLIPModel": "ulmeval.dataset.utils.openclip:OpenCLIPModel",
    },
    "ulmeval.dataset.utils.judge_util": {**_JUDGES, **same_names(f"{_SHIM}.ulmeval.judges", "INTERNAL")},
    "ulmeval.inference": f"{_SHIM}.ulmeval.inference",
    "ulmeval.smp": {"*": _SMP},
    "ulmeval.smp.file": f"{_SMP}.file",
    "ulmeval.smp.log": same_names(f"{_SMP}.misc", "get_logger"),
    "ulmeval.smp.misc": f"{_SMP}.misc",
    "ulmeval.smp.ulm": f"{_SMP}.ulm",
    "ulmeval.tools": same_names(f"{_SHIM}.ulmeval.tools", "LOCALIZE"),
    "ulmeval.ulm": {**same_names(f"{_MODELS}.base", "BaseModel"), "*": f"{_SHIM}.ulmeval.wrappers:ULM"},
    "ulmeval.ulm.base": same_names(f"{_MODELS}.base", "BaseModel"),
    "ulmeval.utils": {**_MATCHING, **_PARALLEL},
    "ulmeval.utils.matching_util": _MATCHING,
    "ulmeval.utils.mp_util": f"{_SHIM}.ulmeval.mp_util",
}

_IMAGE_CHOICE = same_names(f"{_CHOICE}.datasets", "CustomMCQDataset ImageMCQDataset")
_TEXT_CHOICE = same_names(f"{_CHOICE}.datasets", "CustomTextMCQDataset TextMCQDataset")
_OPEN_ANSWERS = same_names(_QUESTIONS, "CustomVQADataset ImageVQADataset")
_YES_OR_NO = same_names(_QUESTIONS, "ImageYORNDataset")
_FILES = same_names(
    f"{_SHIM}.vlmeval.file",
    "dump get_eval_file_format get_eval_file_path get_intermediate_file_path get_pred_file_format get_pred_file_path",
)
_VIDEOS = same_names(f"{_VIDEO}.base", "VideoBaseDataset") | same_names(f"{_VIDEO}.concat", "ConcatVideoDataset")
_PRESETS = {"supported_video_datasets": f"{_SHIM}.ulmeval.datasets:PRESETS"}
_READING = same_names(f"{_SHIM}.vlmeval.multiple_choice", "extract_answer_from_item prefetch_answer")

VLMEVAL: Mapping[str, str | Mapping[str, str]] = {
    "vlmeval": {
        **same_names("polymeter", "__version__"),
        # Two of its files of scoring import these from here, where older versions had them.
        **same_names(f"{_SHIM}.vlmeval.file", "dump"),
        **same_names(f"{_SMP}.file", "load"),
        **_PARALLEL,
    },
    "vlmeval.config": {"supported_VLM": f"{_MODELS}.native:supported_ULM"},
    "vlmeval.dataset": {
        **_DATASETS,
        **_BASES,
        **_IMAGE_CHOICE,
        **_TEXT_CHOICE,
        **_OPEN_ANSWERS,
        **_YES_OR_NO,
        **_FULL_SIZE_JUDGES,
        **_READING,
        **_VIDEOS,
        **same_names(f"{_SHIM}.vlmeval.collections", "ConcatDataset"),
        **same_names(f"{_SHIM}.ulmeval.datasets", "CUSTOM_DATASET DATASET_COLLECTION VIDEO_DATASET"),
        **_PRESETS,
        "*": f"{_SHIM}.ulmeval.datasets:VLMEVAL",
    },
    "vlmeval.dataset.image_mcq": _IMAGE_CHOICE,
    "vlmeval.dataset.image_vqa": _OPEN_ANSWERS,
    "vlmeval.dataset.image_yorn": _YES_OR_NO,
    "vlmeval.dataset.text_mcq": _TEXT_CHOICE,
    "vlmeval.dataset.video_dataset_config": _PRESETS,
    "vlmeval.dataset.video_base": same_names(f"{_VIDEO}.base", "VideoBaseDataset"),
    "vlmeval.dataset.video_concat_dataset": same_names(f"{_VIDEO}.concat", "ConcatVideoDataset"),
    "vlmeval.dataset.utils": {
        **_FULL_SIZE_JUDGES,
        **_READING,
        **same_names(f"{_SHIM}.vlmeval.vqa_eval", "levenshtein_distance"),
    },
    "vlmeval.dataset.utils.judge_util": {
        **_FULL_SIZE_JUDGES,
        **same_names(f"{_SHIM}.ulmeval.judges", "INTERNAL"),
    },
    "vlmeval.dataset.utils.multiple_choice": f"{_SHIM}.vlmeval.multiple_choice",
    "vlmeval.dataset.utils.vqa_eval": f"{_SHIM}.vlmeval.vqa_eval",
    "vlmeval.inference": f"{_SHIM}.vlmeval.inference",
    "vlmeval.smp": {
        **_FILES,
        "file": "vlmeval.smp.file",
        "log": "ulmeval.smp.log",
        "misc": "ulmeval.smp.misc",
        "vlm": "vlmeval.smp.vlm",
        "*": _SMP,
    },
    "vlmeval.smp.file": {**_FILES, "*": f"{_SMP}.file"},
    "vlmeval.smp.status_report": f"{_SHIM}.vlmeval.status_report",
    "vlmeval.smp.vlm": {"*": f"{_SMP}.ulm"},
    "vlmeval.utils": {**same_names(f"{_SHIM}.vlmeval.matching", _RULES), **_PARALLEL},
    "vlmeval.utils.matching_util": f"{_SHIM}.vlmeval.matching",
    "vlmeval.vlm": {**same_names(f"{_SHIM}.vlmeval.base", "BaseModel"), "*": f"{_SHIM}.ulmeval.wrappers:VLM"},
    "vlmeval.vlm.base": same_names(f"{_SHIM}.vlmeval.base", "BaseModel"),
}
