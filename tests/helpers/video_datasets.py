"""Small benchmarks over videos as VLMEvalKit's authors write them, with drawn videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polymeter
from polymeter.api.result import RunResult
from tests.helpers.drawn_videos import encode
from tests.helpers.toy_datasets import write_table

NAMES = ("pond", "roof")
CLASS = """
import os.path as osp
from huggingface_hub import snapshot_download
from vlmeval.smp import load, dump, get_cache_path, get_intermediate_file_path
from .video_base import VideoBaseDataset


class Clips(VideoBaseDataset):
    TYPE = "Video-MCQ"

    @classmethod
    def supported_datasets(cls):
        return ["Clips"]

    def prepare_dataset(self, dataset_name="Clips", repo_id="made/Clips"):
        root = get_cache_path(repo_id)
        if root is None:
            root = snapshot_download(repo_id=repo_id, repo_type="dataset")
        return dict(root=osp.join(root, "video"), data_file=osp.join(root, "clips.tsv"))

    def build_prompt(self, line, video_llm):
        if isinstance(line, int):
            line = self.data.iloc[line]
        if video_llm:
            shown = [dict(type="video", value=osp.join(self.data_root, line["video"] + ".mp4"))]
        else:
            shown = [dict(type="image", value=path) for path in self.save_video_frames(line["video"])]
        return [*shown, dict(type="text", value=line["question"])]

    @classmethod
    def evaluate(cls, eval_file, **judge_kwargs):
        data = load(eval_file)
        data["score"] = [int(a == p) for a, p in zip(data["answer"], data["prediction"])]
        dump(data, get_intermediate_file_path(eval_file, "_score"))
        return {"acc": float(data["score"].mean() * 100), "n": len(data)}
"""


def make_clips(folder: Path, body: str = "", *, n_frames: int = 40, code: str = CLASS) -> Path:
    """Write a class file and a folder that stands for its repository, with two videos and three questions.

    Args:
        folder: Where to.
        body: Further methods of the class, indented.
        n_frames: The number of frames of the first video.
        code: The file.

    Returns:
        The file with the class; the repository is ``folder/repo``.
    """
    videos = folder / "repo/video"
    videos.mkdir(parents=True, exist_ok=True)
    encode(videos / "pond.mp4", n_frames, 25, (64, 48), options={"g": "8", "bf": "2"})
    encode(videos / "roof.mp4", 31, 10, (64, 48))
    columns = {
        "index": [0, 1, 2],
        "video": ["pond", "pond", "roof"],
        "question": ["What swims?", "How many ducks?", "What falls?"],
        "answer": ["A", "B", "A"],
    }
    write_table(folder / "repo/clips.tsv", columns)
    file = folder / "vlmeval/dataset/clips.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code + body, encoding="utf-8")
    return file


def run_clips(file: Path, output: Path, *, model: Any = "mock", tasks: str = "Clips", **options: Any) -> RunResult:
    """Measure a model on the class, with arguments of its constructor and options of its table."""
    told = {name: options.pop(name) for name in ("arguments", "whole_videos", "failed_as_text") if name in options}
    data = options.pop("data", {"made/Clips": str(file.parents[2] / "repo")})
    return polymeter.evaluate(
        model, [tasks], include_paths=(file,), output=output, data=data, dialect_options={"tsv": told}, **options
    )
