"""Helpers of adapters: logging, files."""

from polymeter.interop.evalscope.shim.evalscope.utils.argument_utils import (
    BaseArgument,
    get_supported_params,
    parse_int_or_float,
)
from polymeter.interop.evalscope.shim.evalscope.utils.deprecation_utils import deprecated
from polymeter.interop.evalscope.shim.evalscope.utils.import_utils import get_module_path, is_module_installed
from polymeter.interop.evalscope.shim.evalscope.utils.io_utils import (
    OutputsStructure,
    csv_to_jsonl,
    csv_to_list,
    dict_to_json,
    dict_to_yaml,
    dump_jsonl_data,
    gen_hash,
    get_latest_folder_path,
    get_valid_list,
    json_to_dict,
    jsonl_to_csv,
    jsonl_to_list,
    yaml_to_dict,
)
from polymeter.interop.evalscope.shim.evalscope.utils.logger import configure_logging, get_logger
from polymeter.interop.evalscope.shim.evalscope.utils.model_utils import EvalBackend, get_device, seed_everything

__all__ = [
    "BaseArgument",
    "EvalBackend",
    "OutputsStructure",
    "configure_logging",
    "csv_to_jsonl",
    "csv_to_list",
    "deprecated",
    "dict_to_json",
    "dict_to_yaml",
    "dump_jsonl_data",
    "gen_hash",
    "get_device",
    "get_latest_folder_path",
    "get_logger",
    "get_module_path",
    "get_supported_params",
    "get_valid_list",
    "is_module_installed",
    "json_to_dict",
    "jsonl_to_csv",
    "jsonl_to_list",
    "parse_int_or_float",
    "seed_everything",
    "yaml_to_dict",
]
