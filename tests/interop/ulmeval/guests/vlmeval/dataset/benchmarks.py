"""Dataset classes written in the idioms of VLMEvalKit's, with its protocols; ``vlmeval_originals.json`` has numbers."""

from __future__ import annotations

import ast
import re

import pandas as pd

from vlmeval.smp import dump, get_intermediate_file_path, load
from vlmeval.utils import can_infer

from .image_base import ImageBaseDataset
from .image_mcq import ImageMCQDataset as Theirs
from .utils.multiple_choice import build_choices, mcq_circular_eval, report_acc
from .utils.vqa_eval import hit_calculate, process_line


class ImageMCQDataset(ImageBaseDataset):
    TYPE = "MCQ"
    DATASET_URL = {"MMStar": "", "MMBench_DEV_EN": ""}

    def build_prompt(self, line):
        return [{"type": "text", "value": line["question"]}]

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        if "MMBench" in self.dataset_name:
            data["index"] = [int(x) for x in data["index"]]
            dump(data, eval_file)
        data = load(eval_file).sort_values(by="index")
        questions = dict(zip(self.data["index"], self.data["question"]))
        assert all(index in questions for index in data["index"]), "predictions of another benchmark"
        if "MMBench" in self.dataset_name:
            pickled = get_intermediate_file_path(eval_file, "_result", "pkl")
            data = mcq_circular_eval(None, data, self.data, 1, pickled, self.dataset_name)
        else:
            read = [can_infer(row["prediction"], build_choices(row)) for _, row in data.iterrows()]
            data["hit"] = [int(letter == answer) for letter, answer in zip(read, data["answer"])]
        table = get_intermediate_file_path(eval_file, "_result")
        dump(data, table)
        return report_acc(load(table))


class CustomMCQDataset(ImageMCQDataset):
    def load_data(self, dataset):
        raise FileNotFoundError(dataset)


class Inheriting(Theirs):
    DATASET_URL = {"MMBench_of_mine": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        assert all(type(x) is not str for x in self.data["index"])
        return super().evaluate(eval_file, **judge_kwargs)


class GSM8KVDataset(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"GSM8K-V": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        found = [float(said) if isinstance(said, str) else None for said in data["prediction"]]
        n_right = sum(one is not None and one == answer for one, answer in zip(found, data["answer"]))
        return {"Overall": n_right / len(data), "Total": len(data), "Correct": n_right}


class MTVQADataset(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"MTVQA_TEST": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        hits = [
            100.0 * (str(answer).lower() in str(said).lower()) for answer, said in zip(data["answer"], data["prediction"])
        ]
        parts = pd.Series(hits).groupby(data["category"]).mean()
        return {**parts.to_dict(), "Average": float(pd.Series(hits).mean())}


class OCRBench(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"OCRBench": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        counts = {"Text Recognition": 0, "Scene Text-centric VQA": 0}
        for _, row in data.iterrows():
            name = row["category"] if row["category"] in counts else "Text Recognition"
            counts[name] += any(text.lower() in str(row["prediction"]).lower() for text in ast.literal_eval(row["answer"]))
        total = sum(counts.values())
        return {**counts, "Final Score": total, "Final Score Norm": total / 10}


class TallyQA(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"TallyQA": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        def count(said):
            return int(said) if isinstance(said, float) or re.fullmatch(r"[1-9]?\d", str(said)) else None

        data = load(eval_file)
        right = [one == answer for one, answer in zip(data["prediction"].apply(_or_none(count)), data["answer"])]
        table = pd.DataFrame([{"TallyQA": sum(right) / len(right)}])
        dump(table, eval_file.replace(f".{eval_file.split('.')[-1]}", "_acc.csv"))
        return table


class ImageVQADataset(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"OCRVQA_TEST": "", "ChartQA_TEST": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        assert eval_file.endswith((".xlsx", ".tsv"))
        data = load(eval_file)
        for name in ("prediction", "answer"):
            data[name] = [str(x) for x in data[name]]
        method = "relaxed_accuracy" if "ChartQA" in self.dataset_name else "accuracy"
        hits = hit_calculate([process_line(row, method) for _, row in data.iterrows()], self.dataset_name)
        return pd.DataFrame({"Overall": [100 * sum(hits) / len(hits)]})


class VLMBlind(ImageBaseDataset):
    TYPE = "MCQ"
    DATASET_URL = {"VLMBlind": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        hits = {}
        for _, row in load(eval_file).iterrows():
            braced = re.search(r"\{(.*?)\}", row["prediction"])
            is_word = row["task"] == "Touching Circles"
            right = row["answers"].lower() in row["prediction"].lower() if is_word else braced and braced[1] == row["answers"]
            hits.setdefault(row["task"], []).append(bool(right))
        return pd.DataFrame({task: [sum(own) / len(own)] for task, own in sorted(hits.items())})


class NaturalBenchDataset(ImageMCQDataset):
    DATASET_URL = {"NaturalBenchDataset": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file).sort_values(by="index")
        said, kinds = [str(x) for x in data["prediction"]], list(self.data["type"])
        first = {"yes_no": "Yes", "multiple_choice": "A"}
        chosen = [text == first[kind] for text, kind in zip(said, kinds)]
        groups = [chosen[start : start + 4] for start in range(0, len(chosen), 4)]
        pairs = {"Q_Acc": ((0, 1), (3, 2)), "I_Acc": ((0, 2), (3, 1))}
        scores = {
            name: sum(own[yes] and not own[no] for own in groups for yes, no in both) / 2 / len(groups)
            for name, both in pairs.items()
        }
        right = [own == [True, False, False, True] for own in groups]
        single = sum(one == wanted for own in groups for one, wanted in zip(own, (True, False, False, True)))
        return {**scores, "Acc": single / len(chosen), "G_Acc": sum(right) / len(groups)}


def _or_none(function):
    def called(value):
        try:
            return function(value)
        except ValueError:
            return None

    return called
