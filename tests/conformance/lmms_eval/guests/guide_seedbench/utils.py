"""Hooks of SEED-Bench under the names that the guide prints."""


def seed_doc_to_visual(doc):
    return [image.convert("RGB") for image in doc["image"]]


def seed_doc_to_text_mc(doc):
    return f"{doc['question']} Answer :"


def seed_doc_to_choice(doc):
    return [doc["choice_a"], doc["choice_b"], doc["choice_c"], doc["choice_d"]]


def seed_doc_to_mc_target(doc):
    return "ABCD".index(doc["answer"])
