"""A run of any format as lmms-eval's files: ``MODEL/STAMP_results.json`` and ``MODEL/STAMP_samples_TASK.jsonl``."""

from __future__ import annotations

from datetime import datetime

from polymeter.core.records.exporting import ExportJob
from polymeter.core.records.stored_samples import first_messages, images_of, media_of
from polymeter.interop.lmms_eval.results import LmmsEvalFacts, LmmsEvalStoredRun, model_folder, write_files


def write_export(job: ExportJob) -> None:
    """Write lmms-eval's files for a run, as its command line does with ``--log_samples``.

    Args:
        job: The run.
    """
    folder = model_folder(job.model) or "model"
    arguments = ",".join(f"{name}={value}" for name, value in job.model_args.items())
    stamp = datetime.fromisoformat(job.stamp).strftime("%Y%m%d_%H%M%S")
    facts = LmmsEvalFacts(job.backend, arguments, stamp)
    write_files(LmmsEvalStoredRun(job.manifest, job.results, job.read), job.folder / folder, facts, has_samples=True)
    if job.copies_media:
        _copy_media(job, folder)
    job.leave_out_usual()
    job.leave_out("rows of the data")


def _copy_media(job: ExportJob, folder: str) -> None:
    """Copy what ``input_media`` names to the same place beside the sample files, and generated images."""
    for task in job.results["tasks"]:
        for sample in job.read(task):
            shown = [str(kept.get("file") or "") for _, kept in media_of(first_messages(sample))]
            for name in (*shown, *images_of(sample)):
                job.copied(name, f"{folder}/media/{name[:2]}")
