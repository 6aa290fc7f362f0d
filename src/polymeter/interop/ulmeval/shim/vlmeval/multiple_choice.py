"""``vlmeval.dataset.utils.multiple_choice``: which option an answer names, and accuracies. An option is never chosen at
random, and a missing verdict of the judge is not a wrong answer: its row has no ``hit`` (NaN).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, UnscoredError
from polymeter.interop.ulmeval.shim.ulmeval.mp_util import track_progress_rich
from polymeter.interop.ulmeval.shim.ulmeval.smp.file import dump
from polymeter.interop.ulmeval.shim.vlmeval.matching import can_infer
from polymeter.tasks.table.classes.cells import column, options_of, text_of
from polymeter.tasks.table.classes.multiple_choice import circular
from polymeter.tasks.table.classes.multiple_choice.datasets import right_letter
from polymeter.tasks.table.classes.multiple_choice.extract import NO_OPTION
from polymeter.tasks.table.classes.multiple_choice.reading import ask_judge
from polymeter.tasks.table.classes.multiple_choice.table import HIT
from polymeter.tasks.table.classes.multiple_choice.table import accuracy_table as report_acc
from polymeter.tasks.table.classes.prediction_files import distinct

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MMMU_preproc",
    "build_choices",
    "extract_answer_from_item",
    "mcq_circular_eval",
    "mcq_vanilla_eval",
    "prefetch_answer",
    "report_acc",
    "report_acc_MMSci",
    "report_acc_MMT",
    "report_acc_MMVP",
]


_ALL = "ALL"
_NO_SPLIT = "none"
_SETTINGS = ("Fig2Cap", "SubFig2Cap", "SubCap2Fig")
_SHORT: Mapping[str, str] = {
    "visual_recognition": "VR",
    "localization": "Loc",
    "ocr": "OCR",
    "counting": "Count",
    "hallucination": "HLN",
    "image_retrieval": "IR",
    "threed": "3D",
    "visual_captioning": "VC",
    "visual_grounding": "VG",
    "doc_understanding": "DU",
    "action_recognition": "AR",
    "pixel_level_perception": "PLP",
    "image-to-image_translation": "I2IT",
    "relation_reasoning": "RR",
    "intelligence_quotient_test": "IQT",
    "emotion": "Emo",
    "visual_illusion": "VI",
    "meme_understanding": "MemU",
    "visual_prompt_understanding": "VPU",
    "anomaly_detection": "AND",
    "keypoint_detection": "KD",
    "visual_commonsense_reasoning": "VCR",
    "image_evaluation_judgement": "IEJ",
    "multiple_image_analysis": "MIA",
    "cross_image_matching": "CIM",
    "temporal_understanding": "TU",
    "visual_code": "VP",
    "medical_understanding": "MedU",
    "autonomous_driving": "AUD",
    "discipline_knowledge_reasoning": "DKR",
    "embodied_ai": "EA",
    "gui_navigation": "GN",
}
"""MMT-Bench's abilities, under the names of its leaderboard."""


def build_choices(item: Mapping[str, Any]) -> dict[str, str]:
    """The options of a row: letter → text."""
    return options_of(item)


def prefetch_answer(item: Mapping[str, Any]) -> Any:
    """The option that a row's prediction names by rules alone; ``False`` if it names none."""
    return can_infer(str(item["prediction"]), build_choices(item))


def extract_answer_from_item(model: Any, item: Mapping[str, Any], dataset_name: str | None = None) -> dict[str, str]:
    """The option that a row's prediction names, and how it was read.

    Args:
        model: A judge for what the rules leave open; ``None`` for rules alone.
        item: The row.
        dataset_name: Not used.

    Returns:
        ``opt``: a letter, ``Z`` for none; ``log``: how it was read.

    Raises:
        UnscoredError: if the judge gave no verdict.
    """
    answer, choices = str(item["prediction"]), build_choices(item)
    letter = can_infer(answer, choices)
    if letter:
        return {"opt": letter if letter in choices else NO_OPTION, "log": "how read: rules"}
    if model is None or not answer.strip():
        return {"opt": NO_OPTION, "log": "how read: none"}
    return {"opt": ask_judge(answer, choices, column(item, "question")) or NO_OPTION, "log": "how read: judge"}


def mcq_vanilla_eval(
    model: Any,
    data: pd.DataFrame,
    meta: pd.DataFrame,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> pd.DataFrame:
    """Predictions with their scores, each row by itself.

    Args:
        model: A judge for what the rules leave open; ``None`` for rules alone.
        data: The predictions.
        meta: The rows with their answers.
        nproc: The number of rows read concurrently.
        result_file: A ``.pkl`` file for the results.
        dataset_name: Not used.

    Returns:
        ``data`` with ``hit`` (1, 0, or NaN if the judge gave no verdict) and ``log``.

    Raises:
        DataError: if a prediction belongs to no row of ``meta``, or a row's answer is not one of its options.
    """
    rows = {str(row["index"]): row for row in meta.to_dict("records")}
    items = [{**rows.get(str(item["index"]), {}), **item} for item in data.to_dict("records")]
    unknown = [str(item["index"]) for item in items if str(item["index"]) not in rows]
    if unknown:
        raise DataError(f"Predictions belong to no row of the benchmark: {', '.join(unknown[:5])}.")
    scored = track_progress_rich(_hit_of_item, [(model, item) for item in items], nproc=nproc)
    dump({item["index"]: values for item, values in zip(items, scored, strict=True)}, result_file)
    return data.assign(**{name: [values[name] for values in scored] for name in (HIT, "log")})


def mcq_circular_eval(
    model: Any,
    data: pd.DataFrame,
    meta: pd.DataFrame,
    nproc: int,
    result_file: str,
    dataset_name: str | None = None,
) -> pd.DataFrame:
    """As ``mcq_vanilla_eval``, for a table with rotated copies of its questions: one row for each question, right if
    all its rotations are, and without a ``hit`` if one of them has none.
    """
    whole = mcq_vanilla_eval(model, data, meta, nproc, result_file, dataset_name)
    groups = [group for group, _ in circular.groups_of(whole)]
    hits = [(group, hit) for group, hit in zip(groups, whole[HIT], strict=True) if not math.isnan(hit)]
    verdicts = circular.all_right(hits, Counter(groups))
    originals = [is_original for _, is_original in circular.groups_of(whole)]
    question_hits = [verdicts.get(group, math.nan) for group, is_one in zip(groups, originals, strict=True) if is_one]
    return whole[originals].assign(**{HIT: question_hits})


def report_acc_MMT(df: pd.DataFrame) -> pd.DataFrame:
    """MMT-Bench's table: a row for each split and one, ``ALL``, for all of them.

    Args:
        df: One row per question with ``hit``, and optionally ``split``, ``category`` (a task) and ``l2-category`` (an
            ability).

    Returns:
        Columns ``split``, ``Overall`` (mean over questions), each task (mean over its questions), each ability (mean
        over its tasks: MMT-Bench counts tasks alike, however many questions they have).
    """
    import pandas as pd

    splits = df["split"].map(text_of) if "split" in df.columns else pd.Series(_NO_SPLIT, index=df.index)
    names = sorted(set(splits))
    parts = [df[splits == name] for name in names] + [df]
    table: dict[str, list[Any]] = {"split": [*names, _ALL], "Overall": [part[HIT].mean() for part in parts]}
    if "category" not in df.columns:
        return pd.DataFrame(table)
    for task in distinct(df["category"]):
        table[task] = [_mean_of(part, task) for part in parts]
    for ability in distinct(df["l2-category"]) if "l2-category" in df.columns else ():
        tasks = distinct(df["category"][df["l2-category"].map(text_of) == ability])
        task_means = [pd.Series([_mean_of(part, task) for task in tasks]) for part in parts]
        table[_SHORT.get(ability, ability)] = [means.mean() for means in task_means]
    return pd.DataFrame(table)


def report_acc_MMSci(df: pd.DataFrame) -> pd.DataFrame:
    """MMSci's table: accuracy in each of its settings, and their mean, for subjects, for categories, and over all.

    Args:
        df: One row per question with ``hit``, ``setting``, ``subject`` and ``category``.
    """
    import pandas as pd

    chosen = df[df["setting"].isin(_SETTINGS)]

    def by(column: str, prefix: str = "") -> pd.DataFrame:
        means = chosen.groupby([column, "setting"])[HIT].mean().unstack(fill_value=0)
        rows = means.assign(Avg=means.mean(axis=1)).reset_index().rename(columns={column: "subject"})
        return rows.assign(subject=prefix + rows["subject"].astype(str))

    whole = chosen.groupby("setting")[HIT].mean().to_frame().T
    overall = whole.assign(Avg=whole.mean(axis=1), subject="Overall")
    table = pd.concat([by("subject"), by("category", "CATEGORY_"), overall], ignore_index=True)
    return table[["subject", *(name for name in _SETTINGS if name in table.columns), "Avg"]]


def report_acc_MMVP(df: pd.DataFrame) -> pd.DataFrame:
    """MMVP's two accuracies: of pairs, right if both questions are (indices 1 and 2, 3 and 4, …), and of questions.

    Args:
        df: One row per question with ``index`` and ``hit``.
    """
    import pandas as pd

    both = df[HIT].groupby((pd.to_numeric(df["index"]) - 1) // 2).agg(lambda hits: hits.prod(skipna=False))
    return pd.DataFrame({"case_accuray": [both.mean()], "question_accuray": [df[HIT].mean()]})


def MMMU_preproc(data: pd.DataFrame) -> pd.DataFrame:
    """MMMU's open questions as multiple choice: those without options get their answer as A, and other answers as B.

    Args:
        data: One row per question; its columns ``A`` and ``B`` are changed.
    """
    is_open = data["A"].isna()
    data["A"] = data["A"].where(~is_open, data["answer"])
    data["B"] = data["B"].where(~is_open, "Other Answers")
    return data


def _hit_of_item(model: Any, item: Mapping[str, Any]) -> dict[str, Any]:
    try:
        answer = extract_answer_from_item(model, item)
    except UnscoredError as error:
        return {HIT: math.nan, "log": str(error)}
    return {HIT: float(answer["opt"] == right_letter(item)), "log": answer["log"]}


def _mean_of(part: pd.DataFrame, task: str) -> float:
    return float(part[HIT][part["category"].map(text_of) == task].mean())
