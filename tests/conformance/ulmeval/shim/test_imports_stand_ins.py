"""Every name that files written for ULMEvalKit and VLMEvalKit import from outside their own folder is there."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

from polymeter.core.errors import PlanError
from polymeter.guests.shims import finder

CODECS = (
    "encode_image_to_base64 encode_image_file_to_base64 decode_base64_to_image decode_base64_to_image_file "
    "mmqa_display read_ok isimg build_option_str apiok gpt_key_set rescale_img resize_image_by_factor"
)
FILES = "load dump LMUDataRoot download_file md5 parse_file file_size ls mrlines mwlines localize_df NumpyEncoder"
MISC = "listinstr istype toliststr splitlen get_rank_and_world_size proxy_set load_env d2df timestr githash"
RULES = "can_infer can_infer_option can_infer_text can_infer_sequence can_infer_lego"
MODULES = (
    "os osp sys io json csv pickle hashlib time datetime string base64 mimetypes np pd mp cp rd warnings logging "
    "shutil subprocess argparse abc requests tqdm tabulate OrderedDict defaultdict Pool Path Image uuid4 plt "
    "validators fg bg ef rs"
)
SURFACE = {
    "ulmeval.smp": f"{FILES} {MISC} {CODECS} concat_images_ulmeval get_logger {MODULES}",
    "ulmeval.smp.file": FILES,
    "ulmeval.smp.misc": MISC,
    "ulmeval.smp.ulm": f"{CODECS} concat_images_ulmeval",
    "ulmeval.smp.log": "get_logger",
    "ulmeval.dataset": "TextBaseDataset ImageBaseDataset build_dataset SUPPORTED_DATASETS DATASET_TYPE "
    "DATASET_MODALITY infer_dataset_basename build_judge DEBUG_MESSAGE DATASET_CLASSES",
    "ulmeval.dataset.text_base": "TextBaseDataset",
    "ulmeval.dataset.image_base": "ImageBaseDataset img_root_map",
    "ulmeval.dataset.utils": "build_judge DEBUG_MESSAGE MMDetModel OpenCLIPModel MPLUGModel",
    "ulmeval.dataset.utils.judge_util": "build_judge DEBUG_MESSAGE",
    "ulmeval.ulm": "BaseModel JanusPro Flux QwenImage",
    "ulmeval.ulm.base": "BaseModel",
    "ulmeval.api": "BaseAPI OpenAIWrapper GPTIMAGE1 Imagen",
    "ulmeval.api.base": "BaseAPI",
    "ulmeval.api.gpt": "OpenAIWrapper GPT4V",
    "ulmeval.config": "supported_ULM",
    "ulmeval.inference": "infer_data_job FAIL_MSG",
    "ulmeval.utils": f"{RULES} track_progress_rich",
    "ulmeval.utils.mp_util": "track_progress_rich",
    "ulmeval.utils.matching_util": RULES,
    "ulmeval.tools": "LOCALIZE",
    "vlmeval.smp": f"{FILES} {MISC} {CODECS} concat_images_vlmeval get_logger {MODULES}",
    "vlmeval.smp.vlm": f"{CODECS} concat_images_vlmeval",
    "vlmeval.smp.file": f"{FILES} get_intermediate_file_path",
    "vlmeval.smp.status_report": "is_number to_number",
    "vlmeval.dataset": "ImageBaseDataset ImageMCQDataset ImageVQADataset ImageYORNDataset TextBaseDataset "
    "build_dataset SUPPORTED_DATASETS DATASET_TYPE",
    "vlmeval.dataset.image_base": "ImageBaseDataset",
    "vlmeval.dataset.image_mcq": "ImageMCQDataset CustomMCQDataset",
    "vlmeval.dataset.text_mcq": "TextMCQDataset",
    "vlmeval.dataset.image_vqa": "ImageVQADataset CustomVQADataset",
    "vlmeval.dataset.image_yorn": "ImageYORNDataset",
    "vlmeval.dataset.video_base": "VideoBaseDataset",
    "vlmeval.dataset.utils": "build_judge DEBUG_MESSAGE extract_answer_from_item prefetch_answer levenshtein_distance",
    "vlmeval.dataset.utils.multiple_choice": "report_acc build_choices mcq_vanilla_eval",
    "vlmeval.dataset.utils.vqa_eval": "process_line hit_calculate anls_compute",
    "vlmeval.vlm.base": "BaseModel",
    "vlmeval.api": "BaseAPI OpenAIWrapper",
    "vlmeval.utils": f"{RULES} track_progress_rich",
    "vlmeval.config": "supported_VLM",
}


@pytest.fixture(autouse=True)
def _installed() -> None:
    finder.switch_on_shims()


@pytest.mark.parametrize("module", SURFACE)
def test_the_names_are_there(module: str) -> None:
    scope: dict[str, object] = {}
    names = SURFACE[module].split()
    exec(f"import {module}\nfrom {module} import {', '.join(names)}", scope)
    assert all(scope[name] is not None for name in names)


@pytest.mark.parametrize("package", ["ulmeval.smp", "vlmeval.smp", "ulmeval.dataset"])
def test_a_star_import_gives_them_all(package: str) -> None:
    scope: dict[str, object] = {}
    exec(f"from {package} import *", scope)
    assert [name for name in SURFACE[package].split() if name not in scope] == []


def test_re_is_not_among_the_modules_as_it_is_not_upstream() -> None:
    assert "re" not in importlib.import_module("ulmeval.smp").__all__


def test_a_star_import_is_light_and_leaves_nothing_behind() -> None:
    script = """
import json, os, socket, sys, warnings
from polymeter.guests.shims.finder import switch_on_shims
switch_on_shims()
from PIL import Image as before_image
before = dict(os.environ), list(warnings.filters), socket.getdefaulttimeout(), before_image.MAX_IMAGE_PIXELS
from ulmeval.smp import *
import ulmeval.dataset, ulmeval.utils, ulmeval.api, ulmeval.config, ulmeval.ulm.base, ulmeval.inference
after = dict(os.environ), list(warnings.filters), socket.getdefaulttimeout(), Image.MAX_IMAGE_PIXELS
known = ("torch", "transformers", "diffusers", "pandas", "matplotlib", "tqdm", "requests", "tabulate", "cv2")
heavy = [name for name in known if name in sys.modules]
print(json.dumps({"heavy": heavy, "same": before == after}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"heavy": [], "same": True}


def test_lazy_modules_are_the_real_ones_once_used() -> None:
    import numpy
    import pandas
    import requests

    smp = importlib.import_module("ulmeval.smp")
    assert smp.np.float32 is numpy.float32
    assert isinstance(smp.pd.Series([1]), pandas.Series)
    assert smp.requests.RequestException is requests.RequestException
    assert list(smp.tqdm([1, 2], disable=True)) == [1, 2]
    assert "1" in smp.tabulate([[1]])


def test_a_lazy_module_that_is_not_installed_says_so_when_it_is_used() -> None:
    from polymeter.interop.ulmeval.shim.lazy import LazyModule, LazyObject

    with pytest.raises(PlanError, match=r"'nowhere_to_be_found'.*pip install nowhere_to_be_found"):
        LazyModule("nowhere_to_be_found.part").thing  # noqa: B018
    with pytest.raises(PlanError, match="not installed"):
        LazyObject("nowhere_to_be_found", "thing")()


def test_what_differs_in_nothing_is_one_module_under_both_names() -> None:
    assert importlib.import_module("vlmeval.utils.mp_util") is importlib.import_module("ulmeval.utils.mp_util")
    assert importlib.import_module("vlmeval.smp.misc") is importlib.import_module("ulmeval.smp.misc")
    assert (
        importlib.import_module("vlmeval.config").supported_VLM
        is importlib.import_module("ulmeval.config").supported_ULM
    )


def test_what_differs_is_each_kit_s_own_and_the_rest_is_shared() -> None:
    rules, older_rules = (importlib.import_module(f"{kit}.utils") for kit in ("vlmeval", "ulmeval"))
    assert rules.can_infer is not older_rules.can_infer
    assert rules.can_infer is importlib.import_module("vlmeval.utils.matching_util").can_infer
    assert rules.can_infer_text is older_rules.can_infer_text
    files, older_files = (importlib.import_module(f"{kit}.smp.file") for kit in ("vlmeval", "ulmeval"))
    assert files.get_pred_file_format is not older_files.get_pred_file_format
    assert files.get_pred_file_format is importlib.import_module("vlmeval.smp").get_pred_file_format
    assert files.load is older_files.load


def test_the_bases_are_the_same_classes_under_both_names() -> None:
    older, newer = (importlib.import_module(f"{kit}.dataset") for kit in ("vlmeval", "ulmeval"))
    assert older.ImageBaseDataset is newer.ImageBaseDataset
    assert older.TextBaseDataset is newer.TextBaseDataset


def test_a_missing_module_says_where_files_of_others_belong() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no module 'ulmeval.dataset.geneval'.*side by side"):
        importlib.import_module("ulmeval.dataset.geneval")
    with pytest.raises(ModuleNotFoundError, match=r"Near: .*ulmeval\.smp\.misc"):
        importlib.import_module("ulmeval.smp.mics")


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("ulmeval.dataset.utils", "MMDetModel", "make_detector"),
        ("ulmeval.dataset.utils", "OpenCLIPModel", "open_clip"),
        ("ulmeval.dataset.utils", "MPLUGModel", "--judge"),
    ],
)
def test_what_is_not_provided_says_what_it_needs(module: str, name: str, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        getattr(importlib.import_module(module), name)("x")


def test_classes_of_models_make_the_models_that_are_here() -> None:
    with pytest.raises(PlanError, match="Model 'Show-o' needs"):
        importlib.import_module("ulmeval.ulm").Showo()
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        importlib.import_module("ulmeval.ulm").Nobody  # noqa: B018


def test_a_class_that_is_not_provided_can_be_subclassed() -> None:
    base = importlib.import_module("vlmeval.dataset.video_base").VideoBaseDataset
    assert issubclass(type("Mine", (base,), {}), base)
