"""ImagineBench: three scores of a judge from 0 to 10, by name; statistics for each type. What failed is left out."""

import re

from .text_base import TextBaseDataset
from ..smp import *
from ..utils import track_progress_rich

FAIL_MSG = "Failed to obtain answer via API."
WEIGHTS = {"Fantasy Fulfillment": 0.6, "Identity Preservation": 0.3, "Aesthetic Quality": 0.1}


class ImagineBench(TextBaseDataset):
    TYPE = "T2I"
    NUM_GENERATIONS = 1
    DATASET_URL = {"ImagineBench": ""}
    DATASET_MD5 = {"ImagineBench": None}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [dict(type="text", value=line["question"])]

    def evaluate(self, eval_file, **judge_kwargs):
        from .utils.judge_util import build_judge

        judge = judge_kwargs.get("model")
        if judge is None:
            raise ValueError("Missing 'model' key in judge_kwargs.")
        nproc = judge_kwargs.pop("nproc", 4)
        judge_kwargs.pop("verbose", None)
        judge_kwargs.pop("retry", None)
        said_file = eval_file.replace(".pkl", f"_{judge}_tmp.pkl")
        model = build_judge(temperature=0.0, **judge_kwargs)
        table = load(eval_file)
        questions = [dict(message=self.question(table.iloc[i])) for i in range(len(table))]
        track_progress_rich(model.generate, questions, nproc=nproc, save=said_file, keys=list(table["index"]))
        said = load(said_file)
        rows = []
        for _, line in table.iterrows():
            verdict = said.get(line["index"], FAIL_MSG)
            if verdict != FAIL_MSG:
                scores = self.scores(verdict)
                total = sum(weight * scores[name] for name, weight in WEIGHTS.items())
                rows.append(dict(index=line["index"], type=line["type"], **scores, **{"Weighted Score": total}))
        names = [*WEIGHTS, "Weighted Score"]
        types = {row["type"]: [one for one in rows if one["type"] == row["type"]] for row in rows}
        by_type = {
            kind: {**{name: self.mean([row[name] for row in of_kind]) for name in names}, "count": len(of_kind)}
            for kind, of_kind in types.items()
        }
        rounded = [round(row["Weighted Score"], 3) for row in rows]
        overall = {"overall": {"Weighted Score": self.mean(rounded), "count": len(rows)}}
        return dict(statistics_by_type=by_type, overall_statistics=overall)

    @staticmethod
    def mean(values):
        return round(sum(values) / len(values), 3)

    @staticmethod
    def scores(text):
        found = re.findall(rf"({'|'.join(WEIGHTS)})\s*[:：]?\s*(\d{{1,2}})", text)
        return {**dict.fromkeys(WEIGHTS, 0), **{name: max(0.0, min(float(value), 10.0)) for name, value in found}}

    def question(self, line):
        image = encode_image_to_base64(line["prediction"][0])
        return [
            dict(role="system", value="Give three scores from 0 to 10."),
            dict(role="user", type="text", value=f"PROMPT: {line['question']}\nEXPLANATION: {line['note']}"),
            dict(role="user", type="image", value=f"data:image/jpeg;base64,{image}"),
        ]
