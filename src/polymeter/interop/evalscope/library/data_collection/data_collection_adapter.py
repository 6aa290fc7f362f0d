"""A collection: a file with one prompt in each line, drawn from several benchmarks by a sampler of
``evalscope.collections``.

Each answer is parsed and scored by the benchmark that its prompt comes from, which has to be in reach as if it were
evaluated itself; see ``tasks/collection.py``.
"""

import os

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.utils.io_utils import jsonl_to_list

ENDING = ".jsonl"


@Benchmark.register(
    name="data_collection",
    dataset_id="",
    pretty_name="Collection",
    description="Prompts of several benchmarks in one file, reported by dataset, task type, tag and category.",
    subset_list=["default"],
    metric_list=["AverageAccuracy"],
    eval_split="test",
)
class DataCollectionAdapter(DataAdapter):
    """Reads the file; the benchmarks in it do the rest."""

    def load(self, dataset_name_or_path=None, **kwargs):
        named = dataset_name_or_path or self.dataset_id
        if not named or (named.endswith(ENDING) and not os.path.exists(os.path.expanduser(named))):
            raise FileNotFoundError(
                f"There is no collection {named!r}. Name the file that a sampler has written: "
                "dataset_args={'data_collection': {'local_path': 'FILE.jsonl'}}, or a dataset with such a file."
            )
        path = self.fetch_files([f"*{ENDING}"], named, **kwargs)
        if os.path.isdir(path):
            files = sorted(name for name in os.listdir(path) if name.endswith(ENDING))
            if len(files) != 1:
                raise FileNotFoundError(
                    f"{path} holds {len(files)} files with the ending {ENDING}, and a collection is one: "
                    f"{', '.join(files) or 'none'}. Name one with 'local_path'."
                )
            path = os.path.join(path, files[0])
        return jsonl_to_list(path)

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return input_d["prompt"]

    def get_gold_answer(self, input_d):
        return None

    def match(self, gold, pred):
        return None
