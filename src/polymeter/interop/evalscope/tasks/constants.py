"""The words that data adapters are written in: names of modes, keys of records, kinds of things.

They are plain strings in classes, as EvalScope 0.17 has them: authors compare them with strings and write them into
dictionaries.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

DEFAULT_WORK_DIR = "./outputs"
DEFAULT_REPOSITORY_REVISION = "master"
DEFAULT_MODEL_REVISION = DEFAULT_REPOSITORY_REVISION

if TYPE_CHECKING:
    DEFAULT_ROOT_CACHE_DIR: str
    DEFAULT_DATASET_CACHE_DIR: str
    DEFAULT_MODEL_CACHE_DIR: str

# The folder of each below ModelScope's cache. The environment sets that place, and it is read at each use.
_CACHES = {
    "DEFAULT_ROOT_CACHE_DIR": "datasets",
    "DEFAULT_DATASET_CACHE_DIR": "datasets",
    "DEFAULT_MODEL_CACHE_DIR": "models",
}


def __getattr__(name: str) -> str:
    if name not in _CACHES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    root = os.environ.get("MODELSCOPE_CACHE") or Path.home() / ".cache" / "modelscope" / "hub"
    return str(Path(root) / _CACHES[name])


def __dir__() -> list[str]:
    """The names of the module, with those that are found when they are used, so that a star import binds them."""
    return [*globals(), *_CACHES]


class OutputType:
    """Kinds of output that a benchmark asks of a model."""

    LOGITS = "logits"
    GENERATION = "generation"
    MULTIPLE_CHOICE = "multiple_choice_logits"
    CONTINUOUS = "continuous_logits"
    IMAGE_GENERATION = "image_generation"


class EvalType:
    """Kinds of models: an object of the user's, a checkpoint, or one behind an endpoint."""

    CUSTOM = "custom"
    CHECKPOINT = "checkpoint"
    SERVICE = "service"


class EvalStage:
    """Parts of an evaluation that can be run."""

    ALL = "all"
    INFER = "infer"
    REVIEW = "review"


class EvalBackend:
    """Backends that run benchmarks."""

    NATIVE = "Native"
    OPEN_COMPASS = "OpenCompass"
    VLM_EVAL_KIT = "VLMEvalKit"
    RAG_EVAL = "RAGEval"
    THIRD_PARTY = "ThirdParty"


class JudgeStrategy:
    """Strategies of judging: as the benchmark sets it, never, always, or for answers that the rule finds wrong."""

    AUTO = "auto"
    RULE = "rule"
    LLM = "llm"
    LLM_RECALL = "llm_recall"


class ModelTask:
    """Kinds of output that a model makes."""

    TEXT_GENERATION = "text_generation"
    IMAGE_GENERATION = "image_generation"


class HubType:
    """Sources of datasets."""

    MODELSCOPE = "modelscope"
    HUGGINGFACE = "huggingface"
    LOCAL = "local"


class DumpMode:
    """Modes of writing a file."""

    OVERWRITE = "overwrite"
    APPEND = "append"


class DataCollection:
    """The name under which a collection of datasets is a dataset."""

    NAME = "data_collection"


class AnswerKeys:
    """Keys of a prediction's record."""

    INDEX = "index"
    ANSWER_ID = "answer_id"
    RAW_INPUT = "raw_input"
    ORIGIN_PROMPT = "origin_prompt"
    MODEL_SPEC = "model_spec"
    SUBSET_NAME = "subset_name"
    CHOICES = "choices"


class ReviewKeys:
    """Keys of a review's record."""

    REVIEW_ID = "review_id"
    REVIEWED = "reviewed"
    REVIEWER_SPEC = "reviewer_spec"
    REVIEW_TIME = "review_time"
    MESSAGE = "message"
    CONTENT = "content"
    GOLD = "gold"
    PRED = "pred"
    RESULT = "result"
    REVIEW = "review"


class ArenaWinner:
    """Results of a comparison of two."""

    MODEL_A = "model_a"
    MODEL_B = "model_b"
    TIE = "tie"
    TIE_BOTH_BAD = "tie_both_bad"
    UNKNOWN = "unknown"


class ArenaMode:
    """Pairings of models in an arena."""

    SINGLE = "single"
    PAIRWISE = "pairwise"
    PAIRWISE_BASELINE = "pairwise_baseline"


class MetricsConstant:
    """Numbers and names that metrics share."""

    EPSILON = 1e-6
    INVALID_VALUE = -9999999
    ROUGE_KEYS = [f"rouge-{kind}-{part}" for kind in ("1", "2", "l") for part in "rpf"]  # noqa: RUF012  (as there)


class MetricMembers:
    """Names of families of metrics."""

    MATH_ACCURACY = "math_accuracy"
    CODE_PASS_K = "code_pass_k"
    ROUGE = "rouge"
    ELO = "elo"
    PAIRWISE = "pairwise"
    SCORE = "score"


class EvalConfigKeys:
    """Keys of an evaluation's configuration."""

    CLASS_REF = "ref"
    CLASS_ARGS = "args"
    ENABLE = "enable"
    POSITION_BIAS_MITIGATION = "position_bias_mitigation"
    RANDOM_SEED = "random_seed"
    FN_COMPLETION_PARSER = "fn_completion_parser"
    COMPLETION_PARSER_KWARGS = "completion_parser_kwargs"
    OUTPUT_FILE = "output_file"
    MODEL_ID_OR_PATH = "model_id_or_path"
    MODEL_REVISION = "revision"
    GENERATION_CONFIG = "generation_config"
    PRECISION = "precision"
    TEMPLATE_TYPE = "template_type"


class FnCompletionParser:
    """Names of parsers of a judge's comparison."""

    LMSYS_PARSER = "lmsys_parser"
    RANKING_PARSER = "ranking_parser"


class PositionBiasMitigation:
    """Ways to keep the order of two answers from deciding between them."""

    NONE = "none"
    RANDOMIZE_ORDER = "randomize_order"
    SWAP_POSITION = "swap_position"
