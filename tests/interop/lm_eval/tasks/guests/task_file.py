"""Task classes as people write them for lm-eval."""

from functools import partial
from math import exp

import numpy as np

from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.task import ConfigurableTask, MultipleChoiceTask, PerplexityTask, Task


def share(key, items):
    return {"right": sum(said == wanted for said, wanted, _ in items) / len(items)}[key]


class Mixed(ConfigurableTask):
    """Two kinds of request for each row, and an aggregation of its own."""

    VERSION = 3
    DATASET_PATH = "someone/animals"
    DATASET_NAME = None

    def __init__(self, config=None):
        super().__init__(config={"metadata": {"version": self.VERSION}})

    def has_training_docs(self):
        return True

    def has_validation_docs(self):
        return True

    def has_test_docs(self):
        return False

    def training_docs(self):
        return self.dataset["train"]

    def validation_docs(self):
        return self.dataset["validation"]

    def doc_to_text(self, doc):
        return "Q: " + doc["q"] + "\nA:"

    def doc_to_target(self, doc):
        return " " + doc["a"]

    def construct_requests(self, doc, ctx, chat_template=None, apply_chat_template=False, **kwargs):
        return [
            Instance(request_type="generate_until", doc=doc, arguments=(ctx, {"until": ["\n"]}), idx=0, **kwargs),
            Instance(request_type="loglikelihood", doc=doc, arguments=(ctx, " none"), idx=0, **kwargs),
        ]

    def process_results(self, doc, results):
        said, (logprob, _) = results
        return {"right": (said.strip(), doc["a"], exp(logprob)), "none": exp(logprob)}

    def aggregation(self):
        return {"right": partial(share, "right"), "none": np.mean}

    def higher_is_better(self):
        return {"right": True, "none": False}


class Described(ConfigurableTask):
    """Its configuration says everything."""

    CONFIG = {
        "dataset_path": "someone/animals",
        "test_split": "validation",
        "training_split": "train",
        "output_type": "multiple_choice",
        "description": "About animals. ",
        "doc_to_text": "{{q}}",
        "doc_to_choice": ["cat", "long dog"],
        "doc_to_target": "{{['cat', 'long dog'].index(a)}}",
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
        "metadata": {"version": "1.5"},
    }

    def __init__(self, **kwargs):
        super().__init__(config={})


class Told(ConfigurableTask):
    """Whose choices are contexts; a row says whether the second is the right one."""

    CONFIG = {
        **Described.CONFIG,
        "description": "",
        "doc_to_text": "is_dog",
        "doc_to_choice": ["A cat", "A dog"],
        "doc_to_target": "ran.",
    }

    def __init__(self, **kwargs):
        super().__init__(config={})


class Listed(MultipleChoiceTask):
    """A class of the older form, which gets its rows itself."""

    def download(self, data_dir=None, cache_dir=None, download_mode=None):
        self.dataset = [{"choices": ["a", "bcd"], "gold": gold} for gold in (0, 1, 1)]

    def has_training_docs(self):
        return False

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return self.dataset

    def doc_to_text(self, doc):
        return "Which? "


class Texts(PerplexityTask):
    """Rows that are texts."""

    def download(self, *args, **kwargs):
        self.dataset = ["one two", "three"]

    def has_validation_docs(self):
        return False

    def has_test_docs(self):
        return True

    def test_docs(self):
        return self.dataset


class Answers(Task):
    """A class that is told its configuration, and shows examples in the older form."""

    def __init__(self, config=None):
        self.told = dict(config)
        super().__init__()

    def download(self, *args, **kwargs):
        self.rows = [{"q": str(n), "a": str(n * n)} for n in range(6)]

    has_training_docs = has_test_docs = lambda self: True
    has_validation_docs = lambda self: False

    def training_docs(self):
        return self.rows[:4]

    def test_docs(self):
        return self.rows[4:]

    def doc_to_text(self, doc):
        return doc["q"] + "^2 ="

    def doc_to_target(self, doc):
        return " " + doc["a"]

    def construct_requests(self, doc, ctx, **kwargs):
        return Instance("generate_until", doc, (ctx, {"until": ["\n"]}), 0, metadata=kwargs["metadata"])

    def process_results(self, doc, results):
        return {"em": float(results[0].strip() == doc["a"])}

    def aggregation(self):
        return {"em": mean}

    def higher_is_better(self):
        return {"em": True}


class Half:
    """No task at all."""


def broken():
    raise RuntimeError("out of order")
