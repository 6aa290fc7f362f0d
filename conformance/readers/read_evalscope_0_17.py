"""Reads exported files with EvalScope 0.17's own code, where it is installed: ``read_evalscope_0_17.py FOLDER``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from evalscope.app.utils.data_utils import (
    get_acc_report_df,
    get_model_prediction,
    load_single_report,
    scan_for_report_folders,
)
from evalscope.report import Report, gen_table


def main(folder: Path) -> None:
    """Print what its dashboard shows: reports, and the reviews of each subset."""
    (found,) = [name for name in scan_for_report_folders(str(folder.parent)) if name.startswith(f"{folder.name}@@")]
    reports, _, config = load_single_report(str(folder.parent), found)
    assert sorted(config["datasets"]) == sorted(report.dataset_name for report in reports)
    assert len(get_acc_report_df(reports)[0]) == len(reports)
    assert gen_table([str(folder / "reports")])
    read = {}
    for report in reports:
        again = Report.from_json(str(folder / "reports" / report.model_name / f"{report.dataset_name}.json"))
        samples = {}
        for subset in {part.name for metric in again.metrics for group in metric.categories for part in group.subsets}:
            for row in get_model_prediction(str(folder), report.model_name, report.dataset_name, subset).to_dict(
                "records"
            ):
                score = row["Score"]
                named = score if isinstance(score, dict) else {again.metrics[0].name: score}
                samples[row["Index"].partition("_")[0]] = {"answer": row["Pred"], "numbers": named}
        read[report.dataset_name] = {
            "n": again.metrics[0].num,
            "numbers": {metric.name: metric.score for metric in again.metrics},
            "samples": samples,
        }
    print(json.dumps(read))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
