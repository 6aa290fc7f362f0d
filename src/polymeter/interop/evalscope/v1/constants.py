"""The words of EvalScope 1.x, beside those of 0.17 that it has kept."""

from __future__ import annotations

import os
from datetime import timedelta, timezone
from enum import Enum
from pathlib import Path

from polymeter.interop.evalscope.tasks import constants as constants_of_0_17
from polymeter.interop.evalscope.tasks.constants import (
    DEFAULT_MODEL_REVISION,
    DEFAULT_WORK_DIR,
    AnswerKeys,
    ArenaWinner,
    DumpMode,
    EvalBackend,
    EvalStage,
    HubType,
    JudgeStrategy,
    MetricsConstant,
    ModelTask,
    OutputType,
)

__all__ = [
    "BEIJING_TZ",
    "DATASET_TRANSFORM_BATCH_SIZE",
    "DEFAULT_BAR_WIDTH",
    "DEFAULT_LANGUAGE",
    "DEFAULT_MODEL_REVISION",
    "DEFAULT_WORK_DIR",
    "HEARTBEAT_INTERVAL_SEC",
    "LATEX_DELIMITERS",
    "USE_OSS",
    "AnswerKeys",
    "ArenaWinner",
    "DataCollection",
    "DumpMode",
    "EvalBackend",
    "EvalStage",
    "EvalType",
    "FileConstants",
    "HubType",
    "JudgeScoreType",
    "JudgeStrategy",
    "MetricsConstant",
    "ModelTask",
    "OutputType",
    "ScoreStatus",
    "ScoringPolicy",
    "Tags",
    "VisualizerType",
]

DEFAULT_LANGUAGE = "en"
DATASET_TRANSFORM_BATCH_SIZE = 100
HEARTBEAT_INTERVAL_SEC = 60
USE_OSS = False
BEIJING_TZ = timezone(timedelta(hours=8))
DEFAULT_BAR_WIDTH = 0.2
LATEX_DELIMITERS = [
    {"left": left, "right": right, "display": is_block}
    for left, right, is_block in (("$$", "$$", True), ("$", "$", False), ("\\(", "\\)", False), ("\\[", "\\]", True))
]


def __getattr__(name: str) -> str:
    """The folders of caches, whose place the environment sets when they are used."""
    if name == "DEFAULT_EVALSCOPE_CACHE_DIR":
        return os.environ.get("EVALSCOPE_CACHE") or str(Path.home() / ".cache" / "evalscope")
    value: str = getattr(constants_of_0_17, name)
    return value


def __dir__() -> list[str]:
    """The names of the module and of 0.17's, so that a star import binds them."""
    return sorted({*globals(), *dir(constants_of_0_17), "DEFAULT_EVALSCOPE_CACHE_DIR"})


class _TwoWords(str):
    """A word that is equal to that of the other generation, too.

    Args:
        word: The word of one generation.
        other: That of the other.
    """

    _other: str

    def __new__(cls, word: str, other: str) -> _TwoWords:
        made = super().__new__(cls, word)
        made._other = other
        return made

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or other == self._other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[type[_TwoWords], tuple[str, str]]:
        return _TwoWords, (str(self), self._other)


class EvalType(constants_of_0_17.EvalType):
    """Kinds of models."""

    MOCK_LLM = "mock_llm"
    CHECKPOINT = _TwoWords("llm_ckpt", "checkpoint")
    TEXT2IMAGE = "text2image"
    TEXT2SPEECH = "text2speech"
    IMAGE_EDITING = "image_editing"
    OPENAI_API = "openai_api"
    SYSTEMONE_API = "systemone_api"
    AUTOTRUST_API = "autotrust_api"
    OPENAI_RESPONSES_API = "openai_responses_api"
    ANTHROPIC_API = "anthropic_api"
    LITELLM = "litellm"


class EarlierEvalType(EvalType):
    """The same for code that is written for 0.17."""

    CHECKPOINT = _TwoWords("checkpoint", "llm_ckpt")


class DataCollection(constants_of_0_17.DataCollection):
    """The names by which a collection of datasets is a dataset."""

    INFO = "collection_info"
    REPORT_NAME = "collection_detailed_report.json"


class ScoringPolicy(str, Enum):
    """The ways in which a benchmark can be scored, and the one that is used unless a run chooses."""

    RULE_DEFAULT = "rule_default"
    JUDGE_DEFAULT = "judge_default"
    JUDGE_ONLY = "judge_only"

    @property
    def rule_supported(self) -> bool:
        """True if rules can score it."""
        return self is not ScoringPolicy.JUDGE_ONLY

    @property
    def judge_by_default(self) -> bool:
        """True if a judge scores it, unless a run chooses."""
        return self is not ScoringPolicy.RULE_DEFAULT


class JudgeScoreType:
    """Kinds of a judge's answer: a number, or a label."""

    NUMERIC = "numeric"
    PATTERN = "pattern"


class ScoreStatus(str, Enum):
    """Outcomes of scoring: those that count, and the reasons for those that do not."""

    SUCCESS = "success"
    TRANSPORT_ERROR = "transport_error"
    PARSE_ERROR = "parse_error"
    INVALID_SESSION = "invalid_session"
    FALLBACK = "fallback"
    DEGRADED = "degraded"
    EXCLUDED = "excluded"

    @property
    def is_usable(self) -> bool:
        """True if the score counts."""
        return self in (ScoreStatus.SUCCESS, ScoreStatus.FALLBACK, ScoreStatus.DEGRADED)


class Tags:
    """Labels of benchmarks."""

    KNOWLEDGE = "Knowledge"
    MULTIPLE_CHOICE = "MCQ"
    DECISION = "Decision"
    MATH = "Math"
    REASONING = "Reasoning"
    CODING = "Coding"
    CHINESE = "Chinese"
    COMMONSENSE = "Commonsense"
    QA = "QA"
    NER = "NER"
    READING_COMPREHENSION = "ReadingComprehension"
    CUSTOM = "Custom"
    INSTRUCTION_FOLLOWING = "InstructionFollowing"
    ARENA = "Arena"
    LONG_CONTEXT = "LongContext"
    RETRIEVAL = "Retrieval"
    FUNCTION_CALLING = "FunctionCalling"
    TEXT_TO_IMAGE = "TextToImage"
    TEXT_TO_SPEECH = "TextToSpeech"
    IMAGE_EDITING = "ImageEditing"
    MULTI_MODAL = "MultiModal"
    MULTI_LINGUAL = "MultiLingual"
    MULTI_TURN = "MultiTurn"
    YES_NO = "Yes/No"
    HALLUCINATION = "Hallucination"
    MEDICAL = "Medical"
    AGENT = "Agent"
    MT = "MachineTranslation"
    GROUNDING = "Grounding"
    SPEECH_RECOGNITION = "SpeechRecognition"
    AUDIO = "Audio"
    IMAGE_CAPTIONING = "ImageCaptioning"
    VIDEO = "Video"


class FileConstants:
    """Keys of records of images."""

    IMAGE_PATH = "image_path"
    ID = "id"


class VisualizerType:
    """Names of trackers."""

    WANDB = "wandb"
    SWANLAB = "swanlab"
    CLEARML = "clearml"
