"""The registries of Polymeter: what is built in, by name, and how a user's own code adds to it.

The targets are text, so nothing is imported before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from polymeter.core.metric import Aggregation, Metric, Uncertainty
from polymeter.core.names.registry import Registry, Target, place_of
from polymeter.core.names.systems import broken_systems, offered

if TYPE_CHECKING:
    from polymeter.core.format import Format
    from polymeter.core.media.detection import Detector
    from polymeter.core.model import Model
    from polymeter.core.records.exporting import Exporter
    from polymeter.core.records.tracker import Tracker

F = TypeVar("F", bound=Callable[..., Any])

_MODELS = "polymeter.models"
_ALL_MODALITIES = ("text", "image", "audio", "video")
_TEXT_REQUESTS = ("generate", "loglikelihood")

FORMATS: Registry[Format] = Registry(
    "format",
    {
        "task_yaml": Target(
            "polymeter.tasks.yaml:FORMAT", "polymeter", summary="YAML tasks, with functions beside them"
        ),
        # Before tables: of a TSV it takes only what has no index.
        "guessed": Target(
            "polymeter.tasks.guessed:FORMAT", "polymeter", summary="tables whose columns say what to ask"
        ),
        "table": Target("polymeter.tasks.table:FORMAT", "polymeter", summary="TSV files that need no code"),
        "python": Target(
            "polymeter.tasks.python:FORMAT", "polymeter", summary="Python functions decorated with polymeter.task"
        ),
        "pairs": Target("polymeter.tasks.pairs:FORMAT", "polymeter", summary="pairs of answers, for a judge"),
    },
    group="polymeter.formats",
    more=lambda: offered(lambda system: system.formats),
    problems=broken_systems,
)


def stored_format(name: str) -> str:
    """The name of a format in run folders, settings and flags; see ``core.names.stable_names.TASK_FORMAT``."""
    return (FORMATS.get(name).stored_name if name in FORMATS else "") or name


def stored_formats() -> list[str]:
    """The names under which formats' settings stand, sorted."""
    return sorted({stored_format(name) for name in FORMATS})


MODELS: Registry[Callable[..., Model]] = Registry(
    "model",
    {
        "ocr": Target(
            f"{_MODELS}.ocr:OcrModel",
            "polymeter",
            "ocr",
            "RapidOCR (PP-OCR) on ONNX Runtime: reads text, runs offline on any CPU",
            ("image", "video"),
            ("generate",),
        ),
        "pocketsphinx": Target(
            f"{_MODELS}.pocketsphinx:PocketSphinxModel",
            "polymeter",
            "speech",
            "PocketSphinx: recognises English speech, runs offline on any CPU; :digits recognises digits alone",
            ("audio",),
            ("generate",),
        ),
        "hf": Target(
            f"{_MODELS}.hf:HfModel",
            "polymeter",
            "hf",
            "Chat, vision, audio and video models and causal LMs of Transformers, from a folder or the hub",
            _ALL_MODALITIES,
            (*_TEXT_REQUESTS, "generate_image"),
            usual=("*/*",),
        ),
        "diffusers": Target(
            f"{_MODELS}.diffusers:DiffusersModel",
            "polymeter",
            "image-gen",
            "Diffusers pipelines that generate or edit images, from a folder or the hub",
            ("text", "image"),
            ("generate_image",),
            usual=("*stable-diffusion*", "*FLUX*"),
        ),
        "tiny_vlm": Target(
            f"{_MODELS}.tiny_vlm:TinyVlm",
            "polymeter",
            "hf",
            "A small LLaVA that comes with Polymeter and knows shapes, colours, counts and digits",
            ("text", "image"),
            _TEXT_REQUESTS,
        ),
        "shapes": Target(
            "polymeter.library.shapes:ShapesModel",
            "polymeter",
            "",
            "Draws and edits scenes of shapes, deliberately wrong at a given rate; needs no weights",
            ("text", "image"),
            ("generate_image",),
        ),
        "openai": Target(
            f"{_MODELS}.openai:OpenAIModel",
            "polymeter",
            "",
            "Any OpenAI-compatible endpoint: vLLM, SGLang, Ollama, OpenAI, Azure, OpenRouter",
            _ALL_MODALITIES,
            (*_TEXT_REQUESTS, "generate_image"),
            usual=("gpt-*", "chatgpt-*", "o1*", "o3*", "o4-*"),
        ),
        "vllm": Target(
            f"{_MODELS}.served:VllmModel",
            "polymeter",
            "",
            "vLLM, started for the run and stopped with it; --server-args passes arguments on",
            _ALL_MODALITIES,
            _TEXT_REQUESTS,
        ),
        "sglang": Target(
            f"{_MODELS}.served:SglangModel",
            "polymeter",
            "",
            "SGLang, started for the run and stopped with it; --server-args passes arguments on",
            _ALL_MODALITIES,
            _TEXT_REQUESTS,
        ),
        "llamacpp": Target(
            f"{_MODELS}.served:LlamaCppModel",
            "polymeter",
            "",
            "A GGUF file in llama.cpp's server, started for the run and stopped with it",
            ("text", "image", "audio"),
            _TEXT_REQUESTS,
            usual=("*.gguf",),
        ),
        "transformers-serve": Target(
            f"{_MODELS}.served:TransformersServeModel",
            "polymeter",
            "serve",
            "Transformers' own server, started for the run and stopped with it",
            _ALL_MODALITIES,
            ("generate",),
        ),
        "anthropic": Target(
            f"{_MODELS}.anthropic:AnthropicModel",
            "polymeter",
            "anthropic",
            "Claude models, through Anthropic's own SDK",
            ("text", "image"),
            ("generate",),
            usual=("claude*",),
        ),
        "gemini": Target(
            f"{_MODELS}.gemini:GeminiModel",
            "polymeter",
            "gemini",
            "Gemini models, through Google's own SDK",
            _ALL_MODALITIES,
            ("generate", "generate_image"),
            usual=("gemini-*",),
        ),
        "mock": Target(
            f"{_MODELS}.mock:MockModel",
            "polymeter",
            "",
            "Canned, computed, slow or failing answers, for trying things out",
            _ALL_MODALITIES,
            (*_TEXT_REQUESTS, "generate_image"),
        ),
    },
    group="polymeter.models",
    more=lambda: offered(lambda system: system.models),
    problems=broken_systems,
)


def _metric(place: str, summary: str) -> Target:
    return Target(f"polymeter.metrics.{place}", "polymeter", summary=summary)


METRICS: Registry[Metric] = Registry(
    "metric",
    {
        "acc": _metric("choice:ACC", "accuracy"),
        "acc_norm": _metric("choice:ACC_NORM", "accuracy by log-likelihood per character"),
        "acc_mutual_info": _metric(
            "choice:ACC_MUTUAL_INFO", "accuracy by how much the context adds to the log-likelihood"
        ),
        "acc_all": _metric("choice:ACC_ALL", "share of questions whose answers are all right"),
        "brier_score": _metric("choice:BRIER_SCORE", "squared error of the probabilities"),
        "f1": _metric("choice:F1", "F1 of class 1"),
        "mcc": _metric("choice:MCC", "Matthews correlation coefficient"),
        "matthews_corrcoef": _metric("choice:MCC", "the same as mcc"),
        "exact_match": _metric("text:EXACT_MATCH", "equality with a reference"),
        "anls": _metric("text:ANLS", "average normalised Levenshtein similarity"),
        "anls_paper": _metric("text:ANLS_PAPER", "average normalised Levenshtein similarity as in the paper"),
        "cer": _metric("text:CER", "character error rate"),
        "wer": _metric("text:WER", "word error rate"),
        "contains": _metric("containment:CONTAINS", "whether the answer contains a reference"),
        "relaxed_accuracy": _metric("values.relaxed:RELAXED_ACCURACY", "numbers within 5 %, else equal texts"),
        "numeric": _metric("values.numeric:NUMERIC", "equality of numbers within tolerances"),
        "json_equal": _metric("values.json_equal:JSON_EQUAL", "equality of JSON values"),
        "iou": _metric("grounding.boxes:IOU", "intersection over union of two boxes"),
        "iou@0.5": _metric("grounding.boxes:IOU_AT_50", "whether the IoU is at least 0.5"),
        "iou@0.75": _metric("grounding.boxes:IOU_AT_75", "whether the IoU is at least 0.75"),
        "point_in_box": _metric("grounding.boxes:POINT_IN_BOX", "whether a point lies in a box"),
        "corpus_wer": _metric("corpus.error_rates:CORPUS_WER", "word error rate of the corpus"),
        "corpus_cer": _metric("corpus.error_rates:CORPUS_CER", "character error rate of the corpus"),
        "rouge1": _metric("corpus.rouge:ROUGE_1", "F1 of words"),
        "rouge2": _metric("corpus.rouge:ROUGE_2", "F1 of pairs of words"),
        "rougeL": _metric("corpus.rouge:ROUGE_L", "F1 of the longest common subsequence"),
        "rougeLsum": _metric("corpus.rouge:ROUGE_LSUM", "F1 of the longest common subsequences of lines"),
        "cider": _metric("corpus.cider:CIDER", "CIDEr-D of captions"),
        "teds": _metric("tables.teds:TEDS", "tree edit distance similarity of tables"),
        "vqa_match": _metric("vqa:VQA_MATCH", "equality with a reference by the VQA challenge's normalisation"),
        "bypass": _metric("text:BYPASS", "the answers themselves; nothing is computed"),
        "by_pass": _metric("text:BYPASS", "the same as bypass"),
        "bleu": _metric("translation:BLEU", "corpus BLEU"),
        "chrf": _metric("translation:CHRF", "corpus chrF"),
        "ter": _metric("translation:TER", "corpus translation edit rate"),
        "pass@1": _metric("code:PASS_AT_1", "share of answers, as programs, that pass their tests"),
        "pass@5": _metric("code:PASS_AT_5", "probability that one of five programs passes its tests"),
        "pass@10": _metric("code:PASS_AT_10", "probability that one of ten programs passes its tests"),
        "pass@100": _metric("code:PASS_AT_100", "probability that one of a hundred programs passes its tests"),
        "perplexity": _metric("perplexity:PERPLEXITY", "perplexity per sample"),
        "word_perplexity": _metric("perplexity:WORD_PERPLEXITY", "perplexity per word"),
        "byte_perplexity": _metric("perplexity:BYTE_PERPLEXITY", "perplexity per byte"),
        "bits_per_byte": _metric("perplexity:BITS_PER_BYTE", "bits per byte"),
        "psnr": _metric(
            "image:PSNR", "peak signal-to-noise ratio to a reference image, in dB; 100 where they are equal"
        ),
        "ssim": _metric("image:SSIM", "structural similarity to a reference image"),
        "lpips": _metric("image:LPIPS", "learned perceptual distance to a reference image"),
        "clip_score": _metric("image:CLIP_SCORE", "cosine similarity of CLIP's embeddings of an image and a text"),
        "success": _metric("acting:SUCCESS", "share of episodes that the environment calls a success"),
        "reward": _metric("acting:REWARD", "reward of an episode, as the environment states it"),
        "turns": _metric("acting:TURNS", "answers of the model in an episode"),
        "calls": _metric("acting:CALLS", "calls of tools in an episode"),
        "call_problems": _metric("acting:CALL_PROBLEMS", "calls that had a problem"),
        "tokens_per_success": _metric("acting:TOKENS_PER_SUCCESS", "tokens of all samples for each success"),
        "frechet_distance": _metric(
            "fid:FRECHET_DISTANCE", "distance between the features of all images and of all references"
        ),
    },
    group="polymeter.metrics",
)

AGGREGATIONS: Registry[Aggregation] = Registry(
    "aggregation",
    {
        "mean": _metric("basic:MEAN", "arithmetic mean"),
        "median": _metric("basic:MEDIAN", "middle of the sorted values"),
        "sum": _metric("basic:SUM", "sum"),
        "max": _metric("basic:MAX", "largest value"),
        "min": _metric("basic:MIN", "smallest value"),
        "acc_all": _metric(
            "choice:ACC_ALL_AGGREGATION", "share of questions whose answers are all right, from (label, doc) pairs"
        ),
        "brier_score": _metric("choice:BRIER_AGGREGATION", "mean squared error of (reference, probabilities) pairs"),
        "f1": _metric("choice:F1_AGGREGATION", "F1 of pairs"),
        "matthews_corrcoef": _metric("choice:MCC_AGGREGATION", "Matthews correlation of pairs"),
        "mcc": _metric("choice:MCC_AGGREGATION", "Matthews correlation of pairs"),
        "bypass": _metric("text:BYPASS_AGGREGATION", "always 999; nothing is computed"),
        "by_pass": _metric("text:BYPASS_AGGREGATION", "always 999; nothing is computed"),
        "bleu": _metric("translation:BLEU_AGGREGATION", "corpus BLEU of pairs"),
        "chrf": _metric("translation:CHRF_AGGREGATION", "corpus chrF of pairs"),
        "ter": _metric("translation:TER_AGGREGATION", "corpus TER of pairs"),
        "error_rate": _metric("corpus.error_rates:ERROR_RATE_AGGREGATION", "edits over length"),
        "cider": _metric("corpus.cider:CIDER_AGGREGATION", "CIDEr-D of pairs"),
        "per_success": _metric("acting:PER_SUCCESS_AGGREGATION", "amounts over successes, from pairs"),
        "perplexity": _metric("perplexity:PERPLEXITY_AGGREGATION", "exponential of the negative mean"),
        "weighted_perplexity": _metric(
            "perplexity:WEIGHTED_PERPLEXITY_AGGREGATION", "exponential of the negative weighted mean"
        ),
        "bits_per_byte": _metric("perplexity:BITS_PER_BYTE_AGGREGATION", "negative weighted mean, in bits"),
    },
    group="polymeter.aggregations",
)

DETECTORS: Registry[Callable[..., Detector]] = Registry(
    "detector",
    {
        "shapes": Target(
            "polymeter.library.shapes.detector:ShapesDetector",
            "polymeter",
            "image-metrics",
            "drawn shapes, recognised by their pixels",
        ),
        "hf": Target(
            "polymeter.metrics.hf_detector:HfDetector",
            "polymeter",
            "hf",
            "object detection models of Transformers, from a folder or the hub",
            ("PATH_OR_ID",),
        ),
    },
    group="polymeter.detectors",
)

EXPORTS: Registry[Exporter] = Registry(
    "export",
    {
        "csv": Target(
            "polymeter.store.reading.flat_samples:write_csv", "polymeter", summary="one row for each sample, as CSV"
        ),
        "jsonl": Target(
            "polymeter.store.reading.flat_samples:write_jsonl",
            "polymeter",
            summary="one line for each sample, as flat JSON",
        ),
        "parquet": Target(
            "polymeter.store.reading.flat_samples:write_parquet_files",
            "polymeter",
            summary="one row for each sample, a typed Parquet file for each task",
        ),
    },
    group="polymeter.exports",
    more=lambda: offered(lambda system: system.exports),
    problems=broken_systems,
)

TRACKERS: Registry[Callable[..., Tracker]] = Registry(
    "tracker",
    {
        "wandb": Target("polymeter.exchange.trackers.wandb:WandbTracker", "polymeter", "wandb", "Weights & Biases"),
        "mlflow": Target("polymeter.exchange.trackers.mlflow:MlflowTracker", "polymeter", "mlflow", "MLflow"),
        "tensorboard": Target(
            "polymeter.exchange.trackers.tensorboard:TensorBoardTracker",
            "polymeter",
            "tensorboard",
            "files for TensorBoard",
        ),
        "hub": Target(
            "polymeter.exchange.trackers.hub:HubTracker",
            "polymeter",
            "hub",
            "a dataset repository on the Hugging Face Hub",
        ),
    },
    group="polymeter.trackers",
)


def register_model(name: str) -> Callable[[F], F]:
    """Register a model class, or a function that makes a model, under a name. ``--model-args`` sets its keyword
    parameters.

    Raises:
        PlanError: if the user has already defined something else of that name.
    """

    def add(factory: F) -> F:
        MODELS.register(name, factory, place=place_of(factory))
        return factory

    return add


def register_metric(
    metric: str,
    *,
    aggregation: str = "mean",
    higher_is_better: bool = True,
    output_type: str | tuple[str, ...] = "generate_until",
    version: str = "1",
) -> Callable[[F], F]:
    """Register a per-sample function as a metric: ``fn(references=[…], predictions=[…], **kwargs)`` returns a number.

    Raises:
        PlanError: if the user has already defined something else of that name.
    """

    def add(function: F) -> F:
        types = (output_type,) if isinstance(output_type, str) else tuple(output_type)
        record = Metric(metric, aggregation, higher_is_better, function, dict.fromkeys(types, ""), version)
        METRICS.register(metric, record, place=place_of(function))
        return function

    return add


def register_aggregation(name: str, *, uncertainty: Uncertainty = "none") -> Callable[[F], F]:
    """Register a function of all values, in sample order, as an aggregation.

    Args:
        name: Its name in YAML.
        uncertainty: ``bootstrap`` only if the function is pure and cheap enough to be called many times.

    Raises:
        PlanError: if the user has already defined something else of that name.
    """

    def add(function: F) -> F:
        AGGREGATIONS.register(name, Aggregation(name, function, uncertainty), place=place_of(function))
        return function

    return add


def register_tracker(name: str) -> Callable[[F], F]:
    """Register a ``Tracker`` class, or a function that makes a tracker, under a name. Its keyword parameters are set by
    ``--log-to NAME:key=value,…``.

    Raises:
        PlanError: if the user has already defined something else of that name.
    """

    def add(factory: F) -> F:
        TRACKERS.register(name, factory, place=place_of(factory))
        return factory

    return add


def register_detector(name: str) -> Callable[[F], F]:
    """Register a ``Detector`` class, or a function that makes a detector, under a name.

    If it has a parameter ``place``, users write ``NAME:PLACE``, and the parameter holds what follows the colon: the
    hub id or folder of its weights.

    Raises:
        PlanError: if the user has already defined something else of that name.
    """

    def add(factory: F) -> F:
        DETECTORS.register(name, factory, place=place_of(factory))
        return factory

    return add
