"""Forms of columns that a class's code does not show, and numbers of rows: by a glob of names of classes or sets."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from conformance.forms import always, in_turn

_MMT = (
    "visual_recognition", "localization", "ocr", "counting", "hallucination", "image_retrieval", "threed",
    "visual_captioning", "visual_grounding", "doc_understanding", "action_recognition", "pixel_level_perception",
    "image-to-image_translation", "relation_reasoning", "intelligence_quotient_test", "emotion", "visual_illusion",
    "meme_understanding", "visual_prompt_understanding", "anomaly_detection", "keypoint_detection",
    "visual_commonsense_reasoning", "image_evaluation_judgement", "multiple_image_analysis", "cross_image_matching",
    "temporal_understanding", "visual_code", "medical_understanding", "autonomous_driving",
    "discipline_knowledge_reasoning", "embodied_ai", "gui_navigation",
)  # fmt: skip
_MME = (
    "OCR", "artwork", "celebrity", "color", "count", "existence", "landmark", "position", "posters", "scene",
    "code_reasoning", "commonsense_reasoning", "numerical_calculation", "text_translation",
)  # fmt: skip

_CMMMU = ("艺术与设计", "商业", "科学", "健康与医学", "人文社会科学", "技术与工程")
_VISULOGIC = (
    "Quantitative Reasoning", "Spatial Reasoning", "Positional Reasoning", "Attribute Reasoning",
    "Stylistic Reasoning", "Other",
)  # fmt: skip
_OPTIONS = {"A": "text", "B": "text", "C": "text", "D": "text"}
_CHOICE = {
    **_OPTIONS,
    "answer": "letter",
    "category": in_turn("attribute_reasoning", "logic_reasoning", "counting", "N"),
    "l2-category": in_turn("logic_reasoning", "coarse_perception"),
    "hint": in_turn("Look at the ground.", None, "N/A"),
}

_FILES = in_turn("clip0.mp4", "clip1.mp4", "clip2.mp4")
_SCREEN = {
    "bbox": in_turn([2, 3, 12, 13], [1, 1, 8, 9]), "ui_type": in_turn("text", "icon"),
    "category": in_turn("basic", "hard"), "image_path": in_turn(*(f"screen{n}.png" for n in range(12))),
    "answer": in_turn("(0.1, 0.1)", "(0.9, 0.9)"),
}  # fmt: skip
_WILD = (
    "DocVQA-made", "ChartQA-made", "TableVQA-fintabnetqa", "TableVQA-vtabfact", "TableVQA-vwtq", "TableVQA-vwtq_syn",
)  # fmt: skip

HINTS: Mapping[str, Mapping[str, str]] = {
    "ImageMCQDataset": _CHOICE,
    "MMBench*": {"split": in_turn("dev", "test")},
    "SEEDBench*": {"split": always("val")},
    "MMT-Bench*": {"l2-category": in_turn(*_MMT), "category": in_turn(*(f"{one} 1" for one in _MMT))},
    "MMSci_DEV_MCQ": {
        "setting": in_turn("Fig2Cap", "SubFig2Cap", "SubCap2Fig"),
        "subject": in_turn("physics", "physics", "physics", "biology", "biology", "biology"),
        "category": in_turn("physics", "physics", "physics", "biology", "biology", "biology"),
    },
    "MMVP": {"question": in_turn(*(f"Is the bird {one}?" for one in ("red", "red", "old", "old", "up", "up")))},
    "MMDUDataset": {
        "question": in_turn(["Name <ImageHere>.", "And its colour?"], ["<ImageHere> or <ImageHere>?", "Why?", "?"]),
        "answer": in_turn(["A bird.", "Red."], ["Both red.", "Light.", "So."]),
        "image": "images",
    },
    "VideoBaseDataset": {
        "video": in_turn("clip0", "clip1", "clip2"),
        "video_path": in_turn("./clip0.mp4", "./clip1.mp4", "./clip2.mp4"),
        "candidates": "options",
        "answer": "letter",
        "duration": in_turn("short", "medium", "long"),
    },
    "ImageYORNDataset": {"answer": in_turn("Yes", "No", "No", "Yes"), "question": "text"},
    "MME": {
        "category": in_turn(*(one for one in _MME for _ in range(2))),
        "image_path": in_turn(*(f"{one}.png" for one in _MME for _ in range(2))),
    },
    "POPE": {"category": in_turn("adversarial,popular", "random", "popular,random")},
    "HallusionBench": {
        "index": in_turn(*(f"VD_figure_{s}_{f}_{q}_{i}" for i, (s, f, q) in enumerate(
            [(s, f, q) for s in range(2) for f in range(2) for q in range(3)]
        ))),
        "category": in_turn("VD", "VS"),
        "l2-category": in_turn("figure", "map", "chart"),
    },
    "AMBER": {
        "category": in_turn(
            "discriminative-attribute-state", "discriminative-attribute-number", "discriminative-attribute-action",
            "discriminative-hallucination", "discriminative-relation", "relation",
        ),
    },
    "MMVet*": {"category": in_turn("rec,ocr", "know,gen", "spat", "math", "rec,know")},
    "MathVerse*": {
        "metadata": in_turn(*({"subject": one, "subfield": one[:3]} for one in ("Plane", "Solid"))),
        "problem_version": in_turn("Text Lite", "Vision Only", "Vision Only"),
    },
    "VLRewardBench": {"response": in_turn(["A bird.", "A cat."], ["Red", "Green"]), "answer": in_turn([0, 1], [1, 0])},
    "OlympiadBench": {
        "answer_type": in_turn("Numerical", "Expression"), "unit": "none", "answer": in_turn("12", "$x$"),
    },
    "MIABench": {"num_of_component": always(2), "components": always(["a", "b"]), "component_weight": always([4, 6])},
    "CMMMU": {"category": in_turn(*_CMMMU), "type": in_turn("填空", "判断"), "answer": in_turn("12", "对")},
    "VisuLogic": {"category": in_turn(*_VISULOGIC), "tag": in_turn(*_VISULOGIC)},
    "CharXiv": {"qid": in_turn(*range(1, 20)), "category": in_turn("cs", "math")},
    "SFE": {
        "question": in_turn("See <image>. Which is it?", "In <image>, what is red?"),
        "question_type": in_turn("exact_match", "open_ended"), "answer": in_turn("red", "blue", "12"),
    },
    "CoreCognition": {"category": "text", "l2-category": "text", "question_type": in_turn("MC", "TF"), "index": "id"},
    "ERQADataset": {"category": in_turn("a", "b"), "index": "id", "answer": "letter"},
    "MTVQADataset": {"category": in_turn("AR", "DE", "FR"), "answer": "text"},
    "CRPE": {"category": in_turn("exist", "subject"), "answer": "letter"},
    "VizWiz": {"answers": "texts"},
    "VLM2Bench": {
        "image": "images", "image_path": in_turn(*([f"a{n}.png", f"b{n}.png"] for n in range(12))),
        "index": in_turn(*(f"{kind}{n}_{turn}" for n in range(3) for kind in ("pair", "count") for turn in range(2))),
        "category": in_turn("gc-mat", "gc-mat", "oc-cnt", "oc-grp"), "answer": in_turn("T", "F", "2", "A"),
    },
    "ScreenSpot": {
        **_SCREEN, "data_source": always("web"), "bbox": in_turn([2, 3, 9, 8], [1, 1, 5, 5]),
        "data_type": in_turn("text", "icon"),
    },
    "ScreenSpot_Pro": {**_SCREEN, "application": in_turn("files", "mail")},
    "CCOCRDataset": {
        "category": in_turn("lan_ocr", "scene_ocr"), "l2-category": in_turn("French", "zh_doc"), "answer": "text",
        "image_name": in_turn(*(f"a{n}.png" for n in range(12))), "split": always("made"),
    },
    "TableVQABench": {
        "split": in_turn("fintabnetqa", "vtabfact", "vwtq", "vwtq_syn"), "answer": in_turn("12", "1", "red", "blue"),
    },
    "MMLongBench": {
        "task": in_turn("vrag", "NIAH", "NIAH"), "source_dataset": in_turn("wiki", "retrieval-text", "vh_single"),
        "answer": in_turn("red", "blue", "yes"),
    },
    "OSWorld_G": {**_SCREEN, "box_type": always("bbox"), "application": in_turn("files", "mail")},
    "VBGD": {**_SCREEN, "application": in_turn("files", "mail")},
    "M4Bench": {
        "image1": "base64 image", "image2": "base64 image", "response": "letter",
        "image1_path": in_turn(*(f"a{n}.png" for n in range(12))),
        "image2_path": in_turn(*(f"b{n}.png" for n in range(12))),
        "query": in_turn(*(f"Which of {n}?\n(A) red\n(B) blue\n(C) green\n(D) none" for n in range(12))),
    },
    "WildDocBenchmark": {
        "index": in_turn(*(f"{name}-{n}-{place}" for name in _WILD for n in range(2) for place in range(4))),
        "answer": in_turn(*"aaaabbbb", *"12345678", *"12345678", *"01010101", *"aaaabbbb", *"abcdabcd"),
    },
    "XSTestDataset": {
        "answer": in_turn("safe", "unsafe"),
        "type": in_turn("Sorry, no.", "It is so: red", "I cannot help, but the way is: ask first", "Yes"),
    },
    "FlamesDataset": {
        "category": in_turn("Fairness", "Safety", "Morality", "Legality", "Data protection"),
        "answer": in_turn("1分", "3分", "2分"),
    },
    "TreeBench": {
        "category": in_turn("Perception/Attributes", "Reasoning/Comparison"), "image": "base64 image", "index": "id",
        "target_instances": in_turn([[1, 2, 8, 9]], [[2, 2, 9, 9]]),
    },
    "SPBench": {"question_type": in_turn("object_rel_direction", "object_counting"), "answer": in_turn("A", "4"),
                "candidates": "options"},
    "SparBench": {"task": in_turn("position_matching", "depth_prediction_oc"), "answer": in_turn("A", "4")},
    "RoboSpatialBench": {"category": in_turn("compatibility", "configuration"), "answer": in_turn("Yes", "No")},
    "ChartQAPro": {
        "question_type": in_turn("Factoid", "Hypothetical"), "year": in_turn(["NO"], ["YES"]), "paragraph": "text",
        "question": in_turn(["What is red?"], ["How many?"]), "answer": in_turn(["red"], ["12"]),
    },
    "MMBenchVideo": {"dimensions": in_turn(["OCR"], ["Counting", "Hallucination"], ["Physical Property"])},
    "VideoMME": {
        "domain": in_turn("Knowledge", "Life Record"), "sub_category": in_turn("Geography", "Law", "News Report"),
        "task_type": in_turn("OCR Problems", "Temporal Reasoning"), "candidates": "literal",
    },
    "STIBench": {"video": _FILES, "options": "literal", "time_start": always(0), "time_end": always(2)},
    "DSRBench": {"video": _FILES, "options": "json"},
    "VsiBench": {
        "question_type": in_turn("route_planning", "object_counting"), "answer": in_turn("A", "4"), "video": _FILES,
        "candidates": "options", "options": "literal", "ground_truth": in_turn("A", "4"),
    },
    "VsiSuper*": {"video": _FILES, "options": "literal"},
    "MMOral_OPG_OPEN": {"category": in_turn("Teeth,Patho", "HisT", "Jaw", "SumRec", "Report")},
    "LiveMMBench_Reasoning*": _OPTIONS,
    "MVUEval": {"video_paths": in_turn("clip0", "clip1;clip2"), "options": "json"},
    "VSR-zeroshot": {"category": in_turn("Adjacency", "Directional"), "l2-category": in_turn("near", "far")},
    "ImageVQADataset": {"split": in_turn("a", "b"), "answer": "texts"},
    "GQA*": {"answer": "text"},
    "ChartQA_TEST": {"answer": in_turn("12", "0.5", "red", "45%", "7")},
}  # fmt: skip
"""The forms of columns, by a glob of the names of a class or a set; later ones win."""

ROWS: Mapping[str, int] = {
    "MMT-Bench*": 36, "MME": 28, "HallusionBench": 12, "CRPE": 12, "CMMMU": 12, "VisuLogic": 12, "CharXiv": 20,
    "VLM2Bench": 12, "TableVQABench": 12, "WildDocBenchmark": 48,
}  # fmt: skip
"""How many rows a set has that needs more than others."""


def hints_for(*names: str) -> dict[str, str]:
    """What is known of the columns of a class or set with these names."""
    found: dict[str, str] = {}
    for pattern, forms in HINTS.items():
        if any(fnmatchcase(name, pattern) for name in names):
            found |= forms
    return found


def rows_for(default: int, *names: str) -> int:
    """How many rows to make for a class or set with these names."""
    return next((n for pattern, n in ROWS.items() if any(fnmatchcase(one, pattern) for one in names)), default)


EXCLUDED: Mapping[str, str] = {
    "ERQA": "its class adds columns to the table that it looks for itself",
    "NaturalBenchDataset": "needs 7,600 rows",
    **dict.fromkeys(("SeePhys", "SeePhys_vo"), "scoring some formulas does not end"),
    "ChartCap": "its scores need bert_score, which is not installed",
}
"""Sets that are not compared, with the cause."""
