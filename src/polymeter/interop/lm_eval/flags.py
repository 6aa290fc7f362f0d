"""The flags of lm-eval's commands, as tables. A flag is done, noted (accepted without effect, with the reason) or
refused with the reason.
"""

from __future__ import annotations

from polymeter.cli.foreign_flags import Flag, FlagTable
from polymeter.interop.lm_family.flags import flag, parity_flag

PROGRAM = "polymeter lm-eval"
LISTINGS = ("tasks", "groups", "subtasks", "tags")


_ARGUMENTS = "key=value,… in one or several words, or a JSON object"

RUN = FlagTable(
    PROGRAM,
    "Evaluate models with the options of lm-eval.",
    (
        flag("--config", "text", None, "a YAML file with these options; the command line wins", "-C"),
        flag("--model", "text", "hf", "the model: a name of lm-eval's, of an LM class, or Polymeter's", "-M"),
        flag("--model_args", "names", None, f"arguments of the model: {_ARGUMENTS}", "-a"),
        flag(
            "--tasks",
            "names",
            None,
            "tasks, groups, tags, globs, YAML files or a folder, separated by spaces or commas",
            "-t",
        ),
        flag("--num_fewshot", "int", None, "number of few-shot examples, in place of the tasks' own", "-f"),
        flag("--batch_size", "text", None, "requests in a batch, or auto; default: as many as fit together", "-b"),
        flag("--device", "text", None, "the device to run on, for models that take one"),
        flag("--limit", "float", None, "samples of each task; below 1: a share", "-L"),
        flag("--samples", "text", None, "the rows to ask by task: a JSON object, or a file with one", "-E"),
        flag("--output_path", "text", None, "the folder, or .json file, for lm-eval's files", "-o"),
        flag("--log_samples", "switch", False, "write the sample files (needs --output_path)", "-s"),
        flag(
            "--use_cache",
            "text",
            None,
            "a folder that keeps the run, so that the same command repeats no request",
            "-c",
        ),
        flag("--write_out", "switch", False, "print the first prompt of each task", "-w"),
        flag("--show_config", "switch", False, "print the results document at the end"),
        flag("--system_instruction", "text", None, "text put before every conversation"),
        flag(
            "--apply_chat_template",
            "optional",
            False,
            "send chat messages, which the model puts into its template; a name is recorded",
        ),
        flag(
            "--fewshot_as_multiturn",
            "optional",
            None,
            "examples as turns of their own; default: with a chat template",
        ),
        flag("--gen_kwargs", "names", None, f"generation settings that override the tasks': {_ARGUMENTS}"),
        flag("--include_path", "text", None, "a folder of tasks"),
        flag("--predict_only", "switch", False, "keep the answers and compute no metric (needs --output_path)", "-x"),
        flag("--seed", "text", None, "seeds of Python, NumPy, torch and the examples; default 0,1234,1234,1234"),
        flag("--trust_remote_code", "switch", False, "allow Python files of a checkpoint to run"),
        flag(
            "--confirm_run_unsafe_code",
            "switch",
            False,
            "run code that the model writes, in processes of their own, with limits",
            "--allow-generated-code",
        ),
        flag("--metadata", "names", None, f"added to the metadata of every task: {_ARGUMENTS}"),
        flag("--verbosity", "text", None, "WARNING and above hide progress; DEBUG shows tracebacks", "-v"),
        flag("--wandb_args", "names", None, "send the run to Weights & Biases: arguments of wandb.init, key=value,…"),
        flag("--wandb_config_args", "names", None, "added to the configuration of the run there"),
        flag("--hf_hub_log_args", "names", None, "push the run to the Hugging Face Hub: hub_results_org=…,…"),
        flag("--max_batch_size", "int", None, "the engine fills batches up to the model's own size", fate="noted"),
        flag(
            "--cache_requests",
            "optional",
            None,
            "prompts are made while the model computes, so there is nothing to cache",
            fate="noted",
        ),
        flag(
            "--check_integrity",
            "switch",
            False,
            "every run checks its tasks first; see also 'polymeter check'",
            fate="noted",
        ),
        flag(
            "--trackio_args",
            "names",
            None,
            "there is no tracker for Trackio",
            fate="refused",
            hint="--wandb_args has one, and 'polymeter log' lists the others.",
        ),
        flag("--model_path", "text", "", "the file or package that defines the LM class", "--model-path", is_ours=True),
        parity_flag("lm-eval"),
        flag("--data", "repeated", None, "local files that replace a dataset: id=path or id:config=path", is_ours=True),
        flag("--offline", "switch", False, "fetch no data and no weights", is_ours=True),
        flag("--server_args", "text", "", "arguments of a server that the run starts", "--server-args", is_ours=True),
        flag(
            "--strict_resume",
            "switch",
            False,
            "refuse to continue a run whose task sources or Polymeter code changed",
            "--strict-resume",
            is_ours=True,
        ),
    ),
    takes_prefixes=True,
)
"""``run``, and options without a command."""

LIST = FlagTable(
    f"{PROGRAM} ls",
    "List tasks, groups, tasks alone or tags.",
    (
        Flag("what", "text", "what to list", default="tasks", spellings=("what",), choices=LISTINGS),
        flag("--include_path", "text", None, "a folder of tasks"),
    ),
    takes_prefixes=True,
)

VALIDATE = FlagTable(
    f"{PROGRAM} validate",
    "Check that tasks exist and that their files are valid.",
    (
        flag("--tasks", "names", None, "tasks, separated by spaces or commas", "-t"),
        flag("--include_path", "text", None, "a folder of tasks"),
    ),
    takes_prefixes=True,
)
