"""Hooks of MME under the names that the guide prints."""

from collections import defaultdict

PERCEPTION = ("existence", "count", "color")


def mme_doc_to_visual(doc):
    return [doc["image"].convert("RGB")]


def mme_doc_to_text(doc, lmms_eval_specific_kwargs=None):
    question = doc["question"].strip()
    return f"{lmms_eval_specific_kwargs['pre_prompt']}{question}{lmms_eval_specific_kwargs['post_prompt']}"


def mme_process_results(doc, results):
    said = results[0].lower().strip().rstrip(".")
    score = 1.0 if said == doc["answer"].lower().strip().replace(".", "") else 0.0
    kind = "perception" if doc["category"] in PERCEPTION else "cognition"
    item = {"question_id": doc["question_id"], "category": doc["category"], "score": score}
    return {f"mme_{kind}_score": item}


def mme_aggregate_results(results):
    """For each category accuracy over questions plus accuracy over images, in percent; the categories' sum."""
    pairs = defaultdict(lambda: defaultdict(list))
    for item in results:
        pairs[item["category"]][item["question_id"]].append(item["score"])
    total = 0.0
    for questions in pairs.values():
        scores = [score for image in questions.values() for score in image]
        both = [1.0 if sum(image) == 2 else 0.0 for image in questions.values()]
        total += 100 * sum(scores) / len(scores) + 100 * sum(both) / len(both)
    return total
