"""``lm_eval.simple_evaluate`` and what scripts use with it: a script's evaluation, run by Polymeter.

The evaluation has a run folder (under ``./runs``, or in ``use_cache``), so it can be resumed and has an HTML report.
The return value has lm-eval's shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError, PlanError
from polymeter.interop.lm_eval.models.base import LM

if TYPE_CHECKING:
    from polymeter.core.model import Model
    from polymeter.interop.lm_eval.evaluation import LmEvalCommand

_OTHER_SEED = 1234


class NamedModel:
    """A model of lm-eval's own as a script makes it (``HFLM(pretrained=…)``): its name and arguments, which one of
    Polymeter's backends takes.

    Args:
        pretrained: The checkpoint or the endpoint's name for it.
        **arguments: Further arguments, as of ``--model_args``.

    Raises:
        PlanError: if the checkpoint is an object, which cannot be read again for a resumed run.
    """

    name = ""

    def __init__(self, pretrained: Any = None, **arguments: Any) -> None:
        if pretrained is not None and not isinstance(pretrained, (str, Path)):
            raise PlanError(
                f"{type(self).__name__} is given a {type(pretrained).__name__}, not the name of a checkpoint.",
                hint="Name its folder or hub id; for a network in memory, write a subclass of LM around it.",
            )
        named = {} if pretrained is None else {"pretrained": str(pretrained)}
        self.arguments = {**named, **arguments}


class HFLM(NamedModel):
    """A checkpoint of Transformers."""

    name = "hf"


class VLLM(NamedModel):
    """A checkpoint that vLLM serves."""

    name = "vllm"


class SGLangLM(NamedModel):
    """A checkpoint that SGLang serves."""

    name = "sglang"


class LocalCompletionsAPI(NamedModel):
    """A model behind an address that continues texts."""

    name = "local-completions"


class LocalChatCompletion(NamedModel):
    """A model behind an address that answers conversations."""

    name = "local-chat-completions"


class OpenAICompletionsAPI(NamedModel):
    """A model of OpenAI's that continues texts."""

    name = "openai-completions"


class OpenAIChatCompletion(NamedModel):
    """A model of OpenAI's that answers conversations."""

    name = "openai-chat-completions"


def simple_evaluate(  # noqa: PLR0917  (scripts may give them without names, as there)
    model: str | LM | NamedModel,
    model_args: str | Mapping[str, Any] | None = None,
    tasks: Sequence[str | Mapping[str, Any]] | str | None = None,
    num_fewshot: int | None = None,
    batch_size: int | str | None = None,
    max_batch_size: int | None = None,
    device: str | None = None,
    use_cache: str | None = None,
    cache_requests: bool = False,
    rewrite_requests_cache: bool = False,
    delete_requests_cache: bool = False,
    limit: float | None = None,
    samples: Mapping[str, Sequence[int]] | None = None,
    bootstrap_iters: int = 100_000,
    check_integrity: bool = False,
    write_out: bool = False,
    log_samples: bool = True,
    evaluation_tracker: Any = None,
    system_instruction: str | None = None,
    apply_chat_template: bool | str = False,
    fewshot_as_multiturn: bool = True,
    gen_kwargs: str | Mapping[str, Any] | None = None,
    task_manager: Any = None,
    verbosity: Any = None,
    predict_only: bool = False,
    random_seed: int | None = 0,
    numpy_random_seed: int | None = _OTHER_SEED,
    torch_random_seed: int | None = _OTHER_SEED,
    fewshot_random_seed: int | None = _OTHER_SEED,
    confirm_run_unsafe_code: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Evaluate a model on some tasks.

    Args:
        model: A name (lm-eval's, of a registered ``LM``, or Polymeter's), or an object of a subclass of ``LM``.
        model_args: Arguments of a named model, as ``key=value,…`` or as a mapping.
        tasks: Names, globs, groups, tags, YAML files, a folder, or whole tasks as dicts without functions.
        bootstrap_iters: How many resamples standard errors rest on; 0: none are stated.
        log_samples: Whether to return the samples too.
        task_manager: Names the folders of tasks.
        evaluation_tracker: Not used during the evaluation; it can save what this returns.

    The other arguments are the options of the command line.

    Returns:
        ``results``, ``groups``, ``configs``, ``n-samples``, …, and ``samples`` by task.

    Raises:
        PlanError: if it cannot run with these options.
        DataError: if a dataset cannot be opened.
        ModelError: if the run stopped before its end.
    """
    from polymeter.interop.lm_eval.evaluation import LmEvalCommand
    from polymeter.interop.lm_eval.models.arguments import simple_parse_args_string

    def pairs(given: str | Mapping[str, Any] | None) -> dict[str, Any]:
        return simple_parse_args_string(given) if isinstance(given, str) else dict(given or {})

    arguments = pairs(model_args)
    if isinstance(model, NamedModel):
        arguments, name = dict(model.arguments), model.name
    else:
        name = model if isinstance(model, str) else type(model).__name__
    include = getattr(task_manager, "include_path", None)
    listed = [] if include is None else [include] if isinstance(include, (str, Path)) else include
    folders = [str(path) for path in listed]
    command = LmEvalCommand(
        model=name,
        tasks=[tasks] if isinstance(tasks, str) else _task_names(tasks, folders),
        model_args=arguments,
        num_fewshot=num_fewshot,
        batch_size=batch_size,
        device=device,
        limit=limit,
        samples=samples,
        use_cache=use_cache,
        system_instruction=system_instruction,
        apply_chat_template=apply_chat_template,
        fewshot_as_multiturn=fewshot_as_multiturn if apply_chat_template else None,
        gen_kwargs=pairs(gen_kwargs),
        include_path=folders,
        seeds=(random_seed, numpy_random_seed, torch_random_seed, fewshot_random_seed),
        bootstrap_iters=bootstrap_iters,
        confirm_run_unsafe_code=confirm_run_unsafe_code,
        metadata={**(getattr(task_manager, "metadata", None) or {}), **(metadata or {})},
    )
    return _evaluated(command, model, has_samples=log_samples, is_predicting=predict_only)


def evaluate(
    lm: LM,
    task_dict: Mapping[str, Any],
    limit: float | None = None,
    samples: Mapping[str, Sequence[int]] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Evaluate a model on tasks by name; ``options`` as of ``simple_evaluate``.

    Args:
        lm: An object of a subclass of ``LM``.
        task_dict: Tasks by name, as ``get_task_dict`` or ``TaskManager.load`` returns them.
        limit: Samples of each task; below 1: a share.
        samples: The rows to ask, by task.
        **options: Further arguments.

    Raises:
        PlanError: if it cannot run with these options.
        DataError: if a dataset cannot be opened.
        ModelError: if the run stopped before its end.
    """
    tasks = task_dict.get("tasks", task_dict)
    multiturn = options.pop("fewshot_as_multiturn", False)
    return simple_evaluate(
        lm, tasks=list(tasks), limit=limit, samples=samples, fewshot_as_multiturn=multiturn, **options
    )


class EvaluationTracker:
    """Saves what ``simple_evaluate`` returns.

    Args:
        output_path: A folder, or a ``.json`` file; ``None``: nothing is saved.
        **hub: Not used; ``--hf_hub_log_args`` of the command line pushes a run to the hub.
    """

    def __init__(self, output_path: str | None = None, **hub: Any) -> None:
        self.output_path = output_path
        self._stamp = self._name = ""

    def save_results_aggregated(self, results: Mapping[str, Any], samples: Mapping[str, Any] | None = None) -> None:
        """Save the results.

        Args:
            results: What ``simple_evaluate`` returns.
            samples: Its ``samples``, for their hashes.
        """
        from polymeter.core.machine.places import stored_at
        from polymeter.core.text.json_text import json_text
        from polymeter.interop.lm_eval.files.sample_lines import TaskHash
        from polymeter.interop.lm_eval.results import files_folder, model_name, time_stamp

        if self.output_path is None:
            return
        arguments = results.get("config", {}).get("model_args") or {}
        self._stamp, self._name = time_stamp(), model_name(arguments)
        hashes = {}
        for task, records in (samples or {}).items():
            state = TaskHash()
            for record in records:
                state.add(record)
            hashes[task] = state.hexdigest()
        path = files_folder(self.output_path, self._name) / f"results_{self._stamp}.json"
        kept = {name: value for name, value in results.items() if name != "samples"}
        with stored_at(path, "Writing results"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json_text({**kept, "task_hashes": hashes}, nan=None, indent=2), encoding="utf-8")

    def save_results_samples(self, task_name: str, samples: Sequence[Mapping[str, Any]]) -> None:
        """Save the samples of a task, after the results.

        Args:
            task_name: The task.
            samples: Its part of ``samples``.
        """
        from polymeter.core.machine.places import stored_at
        from polymeter.core.text.json_text import json_text
        from polymeter.interop.lm_eval.files.sample_lines import file_line
        from polymeter.interop.lm_eval.results import files_folder

        if self.output_path is None:
            return
        path = files_folder(self.output_path, self._name) / f"samples_{task_name}_{self._stamp}.jsonl"
        with stored_at(path, "Writing samples"), path.open("w", encoding="utf-8") as file:
            for sample in samples:
                file.write(f"{json_text(file_line(dict(sample)), nan=None, is_compact=True)}\n")


def _task_names(tasks: Sequence[Any] | None, include_path: Sequence[str]) -> list[str]:
    """The names of tasks; of one that is a dict, the file that it is written into.

    Raises:
        PlanError: if one is an object, or a dict that cannot be written: a run that is resumed has to find it by its
            name.
    """
    from polymeter.interop.lm_eval.evaluation import catalog_of
    from polymeter.interop.lm_eval.task_dicts import task_file

    names = []
    for task in tasks or ():
        if isinstance(task, Mapping):
            names.append(str(task_file(task, catalog_of(include_path))))
            continue
        if not isinstance(task, (str, Path)):
            raise PlanError(
                f"A task is given as a {type(task).__name__}, not by its name.",
                where="tasks",
                hint="Write it into a YAML file, and name that.",
            )
        names.append(str(task))
    return names


def _evaluated(
    command: LmEvalCommand, model: str | LM | NamedModel, *, has_samples: bool, is_predicting: bool
) -> dict[str, Any]:
    from dataclasses import replace

    from polymeter.cli.progress import make_progress
    from polymeter.interop.lm_eval.evaluation import evaluate_lm_eval, lm_eval_document

    whole: Model | None = None
    if isinstance(model, LM):
        from polymeter.interop.lm_eval.models import LmModel

        whole = LmModel.around(model)
    if is_predicting:
        command = replace(command, predict_only=True)
    with make_progress(is_quiet=False) as progress:
        result = evaluate_lm_eval(command, progress=progress, model=whole, keeps_files=False)
    if result.stored is None:
        raise ModelError(
            "The run stopped before its end.",
            hint=f"'polymeter resume {result.run.folder.path}' continues it.",
        )
    return lm_eval_document(result, has_samples=has_samples or is_predicting)
