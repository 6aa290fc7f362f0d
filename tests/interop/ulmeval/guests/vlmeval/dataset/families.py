"""A dataset class for each family of VLMEvalKit's, in its idioms."""

from __future__ import annotations

import multiprocessing as mp
import os.path as osp
from functools import partial

from vlmeval.smp import dump, get_cache_path, get_intermediate_file_path, load, toliststr
from vlmeval.utils import track_progress_rich

from .image_base import ImageBaseDataset
from .text_base import TextBaseDataset
from .utils import build_judge
from .utils.multiple_choice import eval_vanilla, mcq_circular_eval, mcq_vanilla_eval, report_acc
from .utils.vqa_eval import hit_calculate, process_line
from .video_base import VideoBaseDataset


def question_of(line):
    return [{"type": "text", "value": line["question"]}]


def judge_of(judge_kwargs):
    return build_judge(**judge_kwargs) if "model" in judge_kwargs else None


class PlainChoice(ImageBaseDataset):
    TYPE = "MCQ"
    DATASET_URL = {"PlainChoice": ""}
    scored = staticmethod(mcq_vanilla_eval)

    def build_prompt(self, line):
        images = [{"type": "image", "value": path} for path in toliststr(self.dump_image(line))]
        options = "".join(f"\n{letter}. {line[letter]}" for letter in "ABC")
        return [*images, {"type": "text", "value": line["question"] + options}]

    def evaluate(self, eval_file, **judge_kwargs):
        model = judge_of(judge_kwargs)
        data = load(eval_file).sort_values(by="index")
        results = get_intermediate_file_path(eval_file, "_result", "pkl")
        data = self.scored(model, data, self.data, 4, results, self.dataset_name)
        table = get_intermediate_file_path(eval_file, "_result")
        dump(data, table)
        acc = report_acc(load(table))
        dump(acc, get_intermediate_file_path(eval_file, "_acc"))
        return acc


class CircularChoice(PlainChoice):
    DATASET_URL = {"CircularChoice": ""}
    scored = staticmethod(mcq_circular_eval)


class TextChoice(TextBaseDataset):
    TYPE = "MCQ"
    DATASET_URL = {"TextChoice": ""}
    scored = staticmethod(mcq_vanilla_eval)
    evaluate = PlainChoice.evaluate

    def build_prompt(self, line):
        return question_of(line)


class YesNo(ImageBaseDataset):
    TYPE = "Y/N"
    DATASET_URL = {"YesNo": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        hits = [str(answer).lower() in str(said).lower().split() for answer, said in zip(data["answer"], data["prediction"])]
        return {"Overall": 100 * sum(hits) / len(hits)}


class OpenAnswers(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"OpenAnswers": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        lines = [data.iloc[i] for i in range(len(data))]
        pool = mp.Pool(16)
        found = pool.map(partial(process_line, method="accuracy"), lines)
        dump(data.assign(eval_match=[one["match"] for one in found]), get_intermediate_file_path(eval_file, "_results"))
        hits = hit_calculate(found, "OCRVQA")
        return {name: 100 * sum(hits[i] for i in part) / len(part) for name, part in parts_of(lines).items()}


def parts_of(lines):
    parts = {"Overall": list(range(len(lines)))}
    for place, line in enumerate(lines):
        parts.setdefault(line["category"], []).append(place)
    return parts


class ShortAnswers(ImageBaseDataset):
    TYPE = "Short"
    DATASET_URL = {"ShortAnswers": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        data["GT"] = data["answer"]
        results = get_intermediate_file_path(eval_file, "_tmp")
        tasks = [{"model": judge_of(judge_kwargs), "item": data.iloc[i]} for i in range(len(data))]
        verdicts = track_progress_rich(eval_vanilla, tasks, nproc=2, save=results, keys=list(data["index"]))
        return [{"index": index, "hit": one["hit"]} for index, one in zip(data["index"], verdicts)]


class Caption(ImageBaseDataset):
    TYPE = "Caption"
    DATASET_URL = {"Caption": ""}

    def load_data(self, dataset):
        data = super().load_data(dataset)
        data["question"] = "Please describe this image."
        return data

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        return {"length": f"{sum(len(said) for said in data['prediction']) / len(data):.2f}"}


class Conversation(ImageBaseDataset):
    TYPE = "MT"
    DATASET_URL = {"Conversation": ""}

    def build_prompt(self, line):
        turns, images = [], [{"type": "image", "value": path} for path in self.dump_image(line)]
        for question, answer in zip(toliststr(line["question"]), toliststr(line["answer"])):
            turns.append({"role": "user", "content": [*images, {"type": "text", "value": question}]})
            images = []
            turns.append({"role": "assistant", "content": [{"type": "text", "value": answer}]})
        return turns

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        said = [toliststr(x) for x in data["prediction"]]
        hits = [one == other for x, y in zip(said, data["answer"]) for one, other in zip(x, toliststr(y))]
        return {"turns": len(hits), "right": sum(hits) / len(hits)}


class Judged(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"Judged": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        model = build_judge(**judge_kwargs)
        verdicts = track_progress_rich(
            lambda line: model.generate(f"Is {line['prediction']!r} right? It is {line['answer']!r}."),
            [{"line": data.iloc[i]} for i in range(len(data))],
        )
        name = get_intermediate_file_path(eval_file, f"_{judge_kwargs['model']}_score")
        dump(data.assign(verdict=verdicts), name)
        return {"score": sum(one == "yes" for one in load(name)["verdict"]) / len(data)}


class Clips(VideoBaseDataset):
    TYPE = "Video-VQA"

    @classmethod
    def supported_datasets(cls):
        return ["Clips"]

    def prepare_dataset(self, dataset_name="Clips", repo_id="made/Clips"):
        root = get_cache_path(repo_id)
        return {"root": root, "data_file": osp.join(root, f"{dataset_name}.tsv")}

    def build_prompt(self, line, video_llm):
        line = self.data.iloc[line] if isinstance(line, int) else line
        frames = [{"type": "image", "value": path} for path in self.save_video_frames(line["video"])]
        return [*frames, *question_of(line)]

    @classmethod
    def evaluate(cls, eval_file, **judge_kwargs):
        data = load(eval_file)
        data["score"] = [int(said == answer) for said, answer in zip(data["prediction"], data["answer"])]
        dump(data, get_intermediate_file_path(eval_file, "_score"))
        return {"acc": data["score"].mean() * 100}
