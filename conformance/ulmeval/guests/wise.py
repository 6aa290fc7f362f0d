"""WISE: three levels of a judge for each image, in three lines; a score for each discipline."""

import re

from .text_base import TextBaseDataset
from ulmeval.dataset.utils.judge_util import build_judge
from ulmeval.smp import *
from ulmeval.utils.mp_util import track_progress_rich

FAIL_MSG = "Failed to obtain answer via API."


def levels(text):
    text = str(text).strip()
    named = [
        re.search(rf"{name}\s*:\s*([0-2])", text, re.I)
        for name in ("Consistency", "Realism", r"Aesthetic(?:\s*Quality)?")
    ]
    if all(named):
        return [int(found.group(1)) for found in named]
    lone = re.findall(r"(?<!\d)[0-2](?!\d)", text)
    return [int(found) for found in lone] if len(lone) == 3 else [0, 0, 0]


class WISE(TextBaseDataset):
    TYPE = "T2I"
    DATASET_URL = {"WISE_all": ""}
    DATASET_MD5 = {"WISE_all": None}

    def __init__(self, dataset="WISE_all"):
        self.dataset_name = dataset
        data = self.load_data(dataset)
        data["index"] = [str(x) for x in data["index"]]
        self.data = data
        self.post_build(dataset)

    def build_prompt(self, line):
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [dict(type="text", value=line["prompt"])]

    def evaluate(self, eval_file, **judge_kwargs):
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
        scores = defaultdict(list)
        for _, line in table.iterrows():
            consistency, realism, aesthetic = levels(said.get(line["index"], FAIL_MSG))
            score = (0.7 * consistency + 0.2 * realism + 0.1 * aesthetic) / 2
            scores[str(line["discipline"]).upper()].append(score)
            scores["overall"].append(score)
        return dict(coarse_valid={name: float(np.round(np.mean(values), 2)) for name, values in scores.items()})

    def question(self, line):
        image = line["prediction"][0].convert("RGB")
        image.thumbnail((320, 320))
        file = io.BytesIO()
        image.save(file, "JPEG", quality=60)
        pasted = base64.b64encode(file.getvalue()).decode()
        lines = ["Give three levels.", f"PROMPT: {line['prompt']}", f"EXPLANATION: {line['explanation']}"]
        return "\n".join([*lines, f"data:image/png;base64, {pasted}", "", "Follow the template."])
