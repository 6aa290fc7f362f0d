"""``vlmeval.inference``: predictions for a dataset, made in this process and written to one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.interop.ulmeval.shim.ulmeval.inference import FAIL_MSG, written
from polymeter.interop.ulmeval.shim.vlmeval.file import dump, get_pred_file_path

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FAIL_MSG", "infer_data_job"]


def infer_data_job(
    model: Any,
    work_dir: str,
    model_name: str,
    dataset: Any,
    verbose: bool = False,
    api_nproc: int = 4,
    retry_failed: bool = True,
    use_vllm: bool = False,
) -> Any:
    """Write ``{model_name}_{dataset}.xlsx``, or the format of ``PRED_FORMAT``: the dataset's table, without images, and
    each row's answer as text in the column ``prediction``. All rows are answered; a failure ends the call.

    Args:
        model: A wrapper, or its name in ``supported_VLM``.
        work_dir: The folder of the file; made if it is missing.
        model_name: The first part of the file's name.
        dataset: The dataset.
        verbose: Not used.
        api_nproc: Not used: rows are answered in order.
        retry_failed: Not used: no file contains a failure.
        use_vllm: Not used.

    Returns:
        The wrapper.
    """

    def ask(wrapper: Any, message: Any) -> str:
        return str(wrapper.generate(message, dataset=dataset.dataset_name))

    def write(table: pd.DataFrame, file: str) -> None:
        dump(table.drop(columns="image", errors="ignore"), file)

    path = Path(get_pred_file_path(work_dir, model_name, dataset.dataset_name))
    return written(model, dataset, dataset.data.copy(), path, earlier={}, ask=ask, write=write)
