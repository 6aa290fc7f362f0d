"""Tables of accuracies that single benchmarks of multiple choice have: MMT-Bench, MMSci, MMVP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polymeter.formats.table.classes.cells import text_of
from polymeter.formats.table.classes.multiple_choice.table import HIT
from polymeter.formats.table.classes.prediction_files import distinct

if TYPE_CHECKING:
    import pandas as pd

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


def report_acc_MMT(df: pd.DataFrame) -> pd.DataFrame:
    """MMT-Bench's table: a row for each split and one, ``ALL``, for all of them.

    Args:
        df: One row per question with ``hit``, and where there are such ``split``, ``category`` (a task) and
            ``l2-category`` (an ability).

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
        found = [pd.Series([_mean_of(part, task) for task in tasks]) for part in parts]
        table[_SHORT.get(ability, ability)] = [means.mean() for means in found]
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
        found = means.assign(Avg=means.mean(axis=1)).reset_index().rename(columns={column: "subject"})
        return found.assign(subject=prefix + found["subject"].astype(str))

    whole = chosen.groupby("setting")[HIT].mean().to_frame().T
    overall = whole.assign(Avg=whole.mean(axis=1), subject="Overall")
    table = pd.concat([by("subject"), by("category", "CATEGORY_"), overall], ignore_index=True)
    return table[["subject", *(name for name in _SETTINGS if name in table.columns), "Avg"]]


def report_acc_MMVP(df: pd.DataFrame) -> pd.DataFrame:
    """MMVP's two accuracies: of pairs, right where both questions are (indices 1 and 2, 3 and 4, …), and of questions.

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


def _mean_of(part: pd.DataFrame, task: str) -> float:
    return float(part[HIT][part["category"].map(text_of) == task].mean())
