"""GenEval++: a judge goes through a checklist and says in JSON whether everything holds."""

import ast
import re

from .text_base import TextBaseDataset
from ..smp import *
from ..utils import track_progress_rich

FAIL_MSG = "Failed to obtain answer via API."


class GenEvalPP(TextBaseDataset):
    TYPE = "T2I"
    NUM_GENERATIONS = 1
    DATASET_URL = {"GenEvalPP": ""}
    DATASET_MD5 = {"GenEvalPP": None}

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [dict(type="text", value=line["question"])]

    def evaluate(self, eval_file, **judge_kwargs):
        from .utils.judge_util import build_judge

        judge = judge_kwargs["model"]
        nproc = judge_kwargs.pop("nproc", 4)
        judge_kwargs.pop("verbose", None)
        judge_kwargs.pop("retry", None)
        said_file = eval_file.replace(".pkl", f"_{judge}_tmp.pkl")
        model = build_judge(temperature=0.0, **judge_kwargs)
        table = load(eval_file)
        questions = [dict(message=self.question(table.iloc[i])) for i in range(len(table))]
        track_progress_rich(model.generate, questions, nproc=nproc, save=said_file, keys=list(table["index"]))
        said = load(said_file)
        right = 0
        for index in table["index"]:
            verdict = said.get(index, FAIL_MSG)
            if verdict != FAIL_MSG:
                try:
                    found = re.search(r"\{[\s\S]*\}", verdict)
                    right += json.loads(found.group(0)).get("correct", 0) == 1
                except Exception:
                    pass
        return dict(correct=right, total=len(table), accuracy=right / len(table))

    def question(self, line):
        wanted = "\n".join(f"- {item['count']} {item['class']}" for item in ast.literal_eval(line["include"]))
        image = encode_image_to_base64(line["prediction"][0])
        return [
            dict(role="system", value="Reply in JSON: correct is 1 or 0."),
            dict(role="user", type="text", value=f"Instruction:\n{line['question']}\nChecklist:\n{wanted}"),
            dict(role="user", type="image", value=f"data:image/jpeg;base64,{image}"),
        ]
