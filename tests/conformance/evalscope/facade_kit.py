"""An adapter with few records, and a server, for tests of the foreign surface."""

from __future__ import annotations

from pathlib import Path

ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType
from evalscope.metrics import exact_match


@Benchmark.register(
    name='capitals',
    pretty_name='Capitals',
    dataset_id='example/capitals',
    subset_list=['near', 'far'],
    metric_list=['AverageAccuracy'],
    eval_split='test',
    prompt_template='{question}',
)
class CapitalsAdapter(DataAdapter):
    def load(self, **kwargs):
        return {name: {'test': [{'question': f'{name} {i}?', 'answer': f'{name} {i}'} for i in range(3)]}
                for name in self.subset_list}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(self.prompt_template.format(**input_d))

    def get_gold_answer(self, input_d):
        return input_d['answer']

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result.rstrip('?')

    def match(self, gold, pred):
        return exact_match(gold, pred)

    def post_process_report(self, report, report_path=None, **kwargs):
        import os
        with open(os.path.join(report_path, 'notes.txt'), 'w') as file:
            file.write(report.name)
"""
TABLE = """\
+---------+-----------+-----------------+----------+-------+---------+---------+
| Model   | Dataset   | Metric          | Subset   |   Num |   Score | Cat.0   |
+=========+===========+=================+==========+=======+=========+=========+
| mock    | capitals  | AverageAccuracy | near     |     2 |       1 | default |
+---------+-----------+-----------------+----------+-------+---------+---------+
| mock    | capitals  | AverageAccuracy | far      |     2 |       1 | default |
+---------+-----------+-----------------+----------+-------+---------+---------+
| mock    | capitals  | AverageAccuracy | OVERALL  |     4 |       1 | -       |
+---------+-----------+-----------------+----------+-------+---------+---------+"""
"""What is printed for two records of each subset, all answered rightly by ``mock``."""


def benchmarks(folder: Path) -> Path:
    """A folder with the adapter."""
    place = folder / "benchmarks" / "capitals"
    place.mkdir(parents=True)
    (place / "capitals_adapter.py").write_text(ADAPTER)
    return folder / "benchmarks"


def texts(folder: Path) -> str:
    """Everything that is written below a folder, as one text."""
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file())
