"""The tables of accuracies that VLMEvalKit makes of multiple choice. A row without a ``hit`` (NaN) counts in none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from polymeter.tasks.table.classes.cells import text_of
from polymeter.tasks.table.classes.multiple_choice.table import ABILITIES, HIT, NO_SPLIT, accuracy_table, split_name
from polymeter.tasks.table.classes.prediction_files import distinct

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MMB_abbrs",
    "MMT_abbrs",
    "report_acc",
    "report_acc_MMSci",
    "report_acc_MMT",
    "report_acc_MMVP",
    "report_topviewrs_acc",
]

_ALL = "ALL"
_SETTINGS = ("Fig2Cap", "SubFig2Cap", "SubCap2Fig")
_PARTIAL, _OF_PARTIAL = "partial_match", "_PM"
MMB_abbrs: dict[str, str] = dict(ABILITIES)
"""MMBench's abilities, under the names of its leaderboard."""
MMT_abbrs: dict[str, str] = {
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


def report_acc(df: pd.DataFrame) -> pd.DataFrame:
    """The usual table; see ``accuracy_table``.

    Args:
        df: One row per question with ``hit``, and optionally ``split``, ``l2-category`` and ``category``. Without
            ``split`` it gets one, ``none``, which callers read.
    """
    if "split" not in df.columns:
        df["split"] = NO_SPLIT
    return accuracy_table(df)


def report_topviewrs_acc(df: pd.DataFrame) -> pd.DataFrame:
    """TopViewRS's table: the usual one, and after each accuracy the mean of ``partial_match``, as ``…_PM``.

    Args:
        df: As for ``report_acc``, and optionally ``partial_match``.
    """
    table = report_acc(df)
    if _PARTIAL not in df.columns:
        return table
    partial = accuracy_table(df.assign(**{HIT: df[_PARTIAL]}))
    for place, name in enumerate(list(table.columns)[1:]):
        table.insert(2 * place + 2, f"{name}{_OF_PARTIAL}", partial[name])
    return table


def report_acc_MMT(df: pd.DataFrame) -> pd.DataFrame:
    """MMT-Bench's table: a row for each split and one, ``ALL``, for all of them.

    Args:
        df: One row per question with ``hit``, and optionally ``split``, ``category`` (a task) and ``l2-category`` (an
            ability).

    Returns:
        Columns ``split``, ``Overall`` (mean over questions), each task (mean over its questions), each ability (mean
        over its tasks: MMT-Bench counts tasks alike, however many questions they have; NaN if one has no question in
        the split).
    """
    import pandas as pd

    splits = df["split"].map(split_name) if "split" in df.columns else pd.Series(NO_SPLIT, index=df.index)
    names = sorted(set(splits))
    parts = [df[splits == name] for name in names] + [df]
    table: dict[str, list[Any]] = {"split": [*names, _ALL], "Overall": [part[HIT].mean() for part in parts]}
    if "category" not in df.columns:
        return pd.DataFrame(table)
    for task in distinct(df["category"]):
        table[task] = [_mean_of(part, task) for part in parts]
    for ability in distinct(df["l2-category"]) if "l2-category" in df.columns else ():
        cells = df["category"][df["l2-category"].map(text_of) == ability].map(text_of)
        tasks = [task for task in dict.fromkeys(cells) if task]
        means = [[_mean_of(part, task) for task in tasks] for part in parts]
        table[MMT_abbrs.get(ability, ability)] = [sum(own) / len(own) if own else math.nan for own in means]
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
    """MMVP's two accuracies: ``Average``, of questions, and ``Overall``, of pairs, right if both questions are.

    Args:
        df: One row per image with ``question`` and ``hit``. Neighbouring rows with one question are a pair. One whose
            other half is missing counts in ``Average`` alone.
    """
    import pandas as pd

    hits = list(df[HIT])
    both = [hits[first] * hits[first + 1] for first in _pairs(list(df["question"].map(text_of)))]
    known = [hit for hit in both if not math.isnan(hit)]
    overall = sum(known) / len(known) if known else math.nan
    return pd.DataFrame({"Average": [df[HIT].mean()], "Overall": [overall]})


def _pairs(questions: list[str]) -> Iterator[int]:
    """The positions of the first halves of pairs."""
    place = 0
    while place + 1 < len(questions):
        is_pair = questions[place] == questions[place + 1]
        if is_pair:
            yield place
        place += 2 if is_pair else 1


def _mean_of(part: pd.DataFrame, task: str) -> float:
    return float(part[HIT][part["category"].map(text_of) == task].mean())
