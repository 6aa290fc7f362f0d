"""OmniContext: two questions about an image that was made from others; the score of the first JSON object counts."""

import re

from .image_base import ImageBaseDataset
from ..smp import *
from ..utils import track_progress_rich

FAIL_MSG = "Failed to obtain answer via API."


class OmniContext(ImageBaseDataset):
    TYPE = "IT2I"
    NUM_GENERATIONS = 1
    DATASET_URL = {"OmniContext": ""}
    DATASET_MD5 = {"OmniContext": None}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        paths = toliststr(line["image_path"]) if self.meta_only else self.dump_image(line)
        return [*(dict(type="image", value=path) for path in paths), dict(type="text", value=line["question"])]

    def evaluate(self, eval_file, **judge_kwargs):
        from .utils.judge_util import build_judge

        judge = judge_kwargs.get("model")
        nproc = judge_kwargs.pop("nproc", 4)
        judge_kwargs.pop("verbose", None)
        judge_kwargs.pop("retry", None)
        model = build_judge(temperature=0.0, **judge_kwargs)
        table = load(eval_file)
        said = {}
        for part in ("pf", "sc"):
            said_file = eval_file.replace(".pkl", f"_{judge}_tmp_{part}.pkl")
            questions = [dict(message=self.question(table.iloc[i], part)) for i in range(len(table))]
            track_progress_rich(model.generate, questions, nproc=nproc, save=said_file, keys=list(table["index"]))
            said[part] = load(said_file)
        results = []
        for _, line in table.iterrows():
            result = dict(index=str(line["index"]), task_type=line["task_type"])
            for part in ("pf", "sc"):
                verdict = said[part].get(line["index"], FAIL_MSG)
                scores = [self.score(one) for one in [verdict] if one != FAIL_MSG]
                result[f"{part.upper()}_scores"] = float(np.mean(scores)) if scores else FAIL_MSG
            results.append(result)
        return dict(results=results)

    @staticmethod
    def score(text):
        try:
            return json.loads(re.findall(r"\{[^{}]*\}", text)[0]).get("score", 0)
        except Exception:
            return 0

    def question(self, line, part):
        asked = "Is the instruction carried out?" if part == "pf" else "Are the subjects the same?"
        inputs = line["image"] if isinstance(line["image"], list) else [line["image"]]
        shown = [*inputs, encode_image_to_base64(line["prediction"][0])]
        return [
            dict(role="system", value='Reply in JSON: {"score": ..., "reasoning": "..."}'),
            *(dict(role="user", type="image", value=f"data:image/jpeg;base64,{image}") for image in shown),
            dict(role="user", type="text", value=f"{asked} From 0 to 10.\nEditing instruction: {line['question']}"),
        ]
