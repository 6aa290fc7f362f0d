import re

from PIL import Image


def visual(doc):
    return [Image.new("RGB", (6, 4), doc["colour"])]


def text(doc, lmms_eval_specific_kwargs=None):
    return f"What is {doc['a']} + {doc['b']}?" + (lmms_eval_specific_kwargs or {}).get("post_prompt", "")


def target(doc, model_specific_target_kwargs=None):
    return str(doc["a"] + doc["b"])


def score(doc, results):
    said = re.findall(r"\d+", results[0])
    right = float(bool(said) and int(said[-1]) == doc["a"] + doc["b"])
    return {"right": right, "told": {"right": right, "size": doc["a"]}}


def share(items):
    return sum(item["right"] * item["size"] for item in items) / sum(item["size"] for item in items)


def rounds(doc, lmms_eval_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return f"First, {doc['a']} + {doc['b']}?"
    if round_idx < 3:
        return [], f"Round {round_idx} after {previous_output[-1]}", False, previous_output, (previous_round_info or 0) + 1
    return None, None, True, previous_output, previous_round_info


def rounds_score(doc, results):
    return {"n_rounds": len(results[0]), "ends_well": float(results[0][-1][-1] in "135")}


def judged(doc, results):
    from polymeter.judge import LLMJudge

    judge = LLMJudge()
    prompt = judge.build_prompt(results[0], str(doc["a"] + doc["b"]), text(doc))
    return {"judged": judge.get_score(judge(prompt))}
