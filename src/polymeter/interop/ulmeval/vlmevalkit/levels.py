"""The levels of ``vlmutil``: named groups of datasets, each dataset with the end of the name of its file of scores."""

from __future__ import annotations

from collections.abc import Mapping

_ACC, _ALL, _SCORE, _JSON, _TURBO = "acc.csv", "acc_all.csv", "score.csv", "score.json", "gpt-4-turbo_score.csv"
_SCORED = (
    *("HallusionBench", "MME", "LLaVABench", "POPE", "MMSafetyBench", "MathVision", "MathVerse_MINI_Vision_Only"),
    *("DynaMath", "WeMath", "LogicVista", "Physics", "SFE", "SFE-zh", "MSSBench", "SIUO", "SIUO_GEN", "SIUO_MCQ"),
    *("XSTest", "Flames", "M3oralBench"),
)
_OTHERS: Mapping[str, str] = {
    **dict.fromkeys(("MMVet", "MathVista_MINI"), _TURBO),
    **dict.fromkeys(_SCORED, _SCORE),
    **dict.fromkeys(("OCRBench", "COCO_VAL", "MEGABench_core_64frame", "MEGABench_core_16frame", "Spatial457"), _JSON),
    **dict.fromkeys(("LEGO_circular", "BLINK_circular", "MMSIBench_circular", "3DSRBench"), _ALL),
    "MTVQA_TEST": "acc.json",
    "LiveMMBench_Creation": "merged_score.json",
}
"""The files of scores that are not ``acc.csv``."""
_NAMES: Mapping[str, str] = {
    "l1": "MMVet MMMU_DEV_VAL MathVista_MINI HallusionBench OCRBench AI2D_TEST MMStar MMBench_V11 MMBench_CN_V11",
    "l2": "MME LLaVABench RealWorldQA MMBench MMBench_CN CCBench SEEDBench_IMG COCO_VAL POPE ScienceQA_VAL "
    "ScienceQA_TEST MMT-Bench_VAL SEEDBench2_Plus BLINK MTVQA_TEST MMSafetyBench Q-Bench1_VAL A-Bench_VAL R-Bench-Dis",
    "l3": "OCRVQA_TESTCORE TextVQA_VAL ChartQA_TEST DocVQA_VAL InfoVQA_VAL SEEDBench2",
    "live": "LiveMMBench_VQ_circular LiveMMBench_Spatial_circular LiveMMBench_Reasoning_circular "
    "LiveMMBench_Infographic LiveMMBench_Perception LiveMMBench_Creation",
    "math": "MathVision MathVerse_MINI_Vision_Only DynaMath WeMath LogicVista MathVista_MINI",
    "spatial": "LEGO_circular BLINK_circular MMSIBench_circular Spatial457 SSI_Bench 3DSRBench",
    "ESOV_GA": "MMBench_V11 MMBench_CN_V11 MEGABench_core_64frame MMStar RealWorldQA",
    "ESOV_GO": "MMBench_V11 MMBench_CN_V11 MEGABench_core_16frame MMStar RealWorldQA",
    "ESOV_R": "MathVista_MINI MathVision MMMU_DEV_VAL LogicVista VisuLogic",
    "ESOV_I": "CCOCR AI2D_TEST SEEDBench2_Plus CharXiv_reasoning_val CharXiv_descriptive_val",
    "ESOV_S": "Physics MicroVQA MSEarthMCQ SFE SFE-zh MMSci_DEV_MCQ XLRS-Bench-lite OmniEarth-Bench",
    "safety": "MMSafetyBench MSSBench SIUO SIUO_GEN SIUO_MCQ XSTest",
    "value": "Flames M3oralBench",
}
_SUMS = {"l12": ("l1", "l2"), "l23": ("l2", "l3"), "l123": ("l1", "l2", "l3")}
LARGE = ("idefics_80b_instruct", "360VL-70B", "emu2_chat", "InternVL2-76B")
"""The models that ``mlist LEVEL large`` means."""


def _level(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((dataset, _OTHERS.get(dataset, _ACC)) for dataset in _NAMES[name].split())


LEVELS: Mapping[str, tuple[tuple[str, str], ...]] = {
    **{name: _level(name) for name in _NAMES},
    **{name: tuple(row for part in parts for row in _level(part)) for name, parts in _SUMS.items()},
}
"""Every level: its datasets, each with the end of the name of its file of scores."""
