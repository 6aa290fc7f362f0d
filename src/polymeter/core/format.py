"""Formats: an index of benchmarks, and a way to compile one to a Task."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import Problem
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Claims, Entry, Root
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.request import Tags
from polymeter.core.task import GroupSpec, Task, TaskSpec


@dataclass(frozen=True, slots=True)
class Loaded:
    """The tasks and groups of a name.

    Attributes:
        tasks: Its tasks.
        groups: The groups that contain them, outermost first.
        guesses: The guesses that made tasks of tables, shown to the user before anything is asked.
    """

    tasks: tuple[TaskSpec, ...]
    groups: tuple[GroupSpec, ...] = ()
    guesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenContext:
    """The settings of a run with which a task is compiled. All are identity except ``cache_dir`` and
    ``is_begun``.

    Attributes:
        seed: The run's seed.
        generation: Generation settings of the plan; they win over the task's.
        num_fewshot: The plan's number of few-shot examples; ``None``: the task's own.
        prompt_key: Which model-specific block of prompts to use; empty: the model's family.
        system_prompt: Text put before every conversation.
        data: Local files in place of dataset ids.
        limit: The plan's limit, for tasks that apply it to each subset (``limits_subsets``): a number of samples, or
            below 1 a share of them.
        offset: How many samples at the start the plan leaves out, for tasks whose prompts depend on those before.
        options: Further settings for one format.
        is_mcq_text: Whether multiple choice is asked as text with letters and not by log-probabilities.
        roles: The run's names for the models in its further roles, by role.
        parity: Whose values are wanted where Polymeter differs from another system.
        reasoning_tags: The tags around reasoning that the run names; ``None``: it names none.
        is_begun: Whether answers of the run are stored already. What can only be refused before a run begins, such as
            rows that nothing scores, is not refused then: an earlier version may have begun it.
        revisions: The commits of datasets that are read even if newer ones exist: by task, then by id.
        cache_dir: Where prepared datasets are stored.
    """

    seed: int = 0
    generation: Mapping[str, Any] = field(default_factory=dict)
    num_fewshot: int | None = None
    prompt_key: str = ""
    system_prompt: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    limit: float | None = None
    offset: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    is_mcq_text: bool = False
    roles: Mapping[str, str] = field(default_factory=dict)
    parity: Parity = NO_PARITY
    reasoning_tags: Tags | None = None
    is_begun: bool = False
    revisions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cache_dir: Path | None = None

    def measured(self, n_samples: int) -> range:
        """The range of a task's samples that the plan's offset and limit leave, for checks before a run."""
        start, limit = min(self.offset, n_samples), self.limit
        n_wanted = n_samples if limit is None else int(limit) if limit >= 1 else -int(-n_samples * limit // 1)
        return range(start, min(n_samples, start + n_wanted))


@dataclass(frozen=True, slots=True)
class PageKeys:
    """The configuration keys from which a documentation page takes its facts; of several keys the first with a value
    counts.

    Attributes:
        title: The name to show.
        description: Its author's description; empty: there is no such key.
        tags: Its tags.
        dataset: Its dataset.
        subsets: Parts of the dataset that are reported separately.
        splits: Names of splits; all of them are shown.
        outputs: Output types.
        default_output: The output type if none is given.
        few_shot: The number of few-shot examples.
        settings: Further settings; all of them are shown.
        prompts: What prompts are made of; all of them are shown.
        kinds: The kind of request (see ``core.request.RequestKind``) behind output types of this format.
    """

    title: tuple[str, ...] = ("pretty_name", "task_alias", "group_alias")
    description: str = "description"
    tags: str = "tags"
    dataset: str = "dataset_id"
    subsets: str = "subset_list"
    splits: tuple[str, ...] = ("train_split", "eval_split")
    outputs: tuple[str, ...] = ("output_types", "model_adapter")
    default_output: str = ""
    few_shot: str = "few_shot_num"
    settings: tuple[str, ...] = ("extra_params", "filters")
    prompts: tuple[str, ...] = ("system_prompt", "query_template", "prompt_template")
    kinds: Mapping[str, str] = field(default_factory=dict)


HUGGING_FACE, MODELSCOPE = "huggingface", "modelscope"
"""The hubs, as EvalScope's settings call them."""


@dataclass(frozen=True, slots=True)
class HubSource:
    """A dataset of a hub as a task names it.

    Attributes:
        path: Its id.
        name: Its configuration; ``None``: the only or default one.
        kwargs: Arguments for opening it: ``revision``, ``data_files``, and the special keys of task YAML.
        folder: The folder of the task; files that lie there are none of the hub's.
        hub: Whose it is: ``huggingface`` or ``modelscope``.
        cache_dir: Where files of ModelScope are kept.
        is_exact: Whether the task reads what is named here. Else its code chooses among the files of the dataset.
        mirrors: Further ids of the same data.
    """

    path: str
    name: str | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()
    hub: str = HUGGING_FACE
    cache_dir: Path | None = None
    is_exact: bool = True
    mirrors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file at an address that a task reads.

    Attributes:
        name: What the task calls its data.
        url: The address.
        here: The file on this machine, if it exists.
        mirrors: Further addresses of the same data.
    """

    name: str
    url: str
    here: Path | None
    mirrors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """Facts about a task that are known without running its code and without the network.

    Attributes:
        n_samples: The number of its samples; ``None`` if it is not known.
        modalities: What its prompts show: ``text``, ``image``, ``audio``, ``video``, and ``media`` for one of the last
            three; empty if it is not known.
    """

    n_samples: int | None = None
    modalities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write benchmarks, as one record of functions. Each imports what it needs, so that listings stay fast.

    Attributes:
        name: Its name in entries and specs.
        index: ``(roots, cache_dir) → catalog``: all benchmarks under the roots. Executes none of their code and
            reports what it cannot read.
        load: ``(entry, catalog) → Loaded``: the specs behind an entry. Executes none of their code, unless a file that
            the user has named computes the names. Raises PlanError if the file is broken.
        describe: ``(entry, catalog) → rows``: the resolved configuration behind an entry: key, value as it would be
            written, and the file that it comes from.
        flatten: ``(entry, catalog) → text``: a task as one text that loads without any other configuration file. Raises
            PlanError if the format has no such text.
        check: ``(entry, catalog) → problems``: what is wrong with an entry, without executing its code.
        compile: ``(spec, traits, context) → Task``: the task for a model with these traits, its dataset open. Runs its
            authors' code. Raises PlanError if that code cannot be loaded or a package is missing, DataError if the
            dataset is missing or empty, or has no such column.
        index_data: ``(roots, claims) → catalog``: the benchmarks that consist of a data file alone. Called after every
            format has indexed its own, because a data file that one of them claims is not a benchmark. ``None``: there
            are none.
        endings: Endings of files that may be named in place of the benchmarks in them (``.yaml``).
        stored_name: Its name in run folders, settings and flags, if that is another one; formats that were once one
            format share it. See ``core.names.registries.stored_format``.
        labels: The names of the format on documentation pages, by language (``en``, ``zh``); default: its stored name.
        page_keys: The configuration keys from which documentation pages take their facts.
        metrics: ``spec → names``: the metrics of all results that a task will have, as far as its configuration says
            before any of its code runs; ``None``, also as what it gives: only a run shows them.
        outline: ``spec → Outline``: for listings. Raises PlanError if the configuration is broken. ``None``: nothing is
            known.
        sources: ``(spec, context) → sources``: the datasets of hubs and the files at addresses that a task reads.
            ``None``, also as what it gives: only opening the task shows.
        code: ``spec → files``: the files of a task's authors that are loaded before its first sample, which import
            the others. ``None``: there is no code.
        get_ready: Imports what ``compile`` needs, for a moment in which a run waits anyway. It opens no data and runs
            no code of benchmarks. ``None``: there is little to import.
    """

    name: str
    index: Callable[[Sequence[Root], Path | None], Catalog]
    load: Callable[[Entry, Catalog], Loaded]
    describe: Callable[[Entry, Catalog], list[tuple[str, Any, Path]]]
    flatten: Callable[[Entry, Catalog], str]
    check: Callable[[Entry, Catalog], list[Problem]]
    compile: Callable[[TaskSpec, ModelTraits, OpenContext], Task]
    index_data: Callable[[Sequence[Root], Claims], Catalog] | None = None
    endings: tuple[str, ...] = ()
    stored_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    page_keys: PageKeys = field(default_factory=PageKeys)
    metrics: Callable[[TaskSpec], Collection[str] | None] | None = None
    outline: Callable[[TaskSpec], Outline] | None = None
    sources: Callable[[TaskSpec, OpenContext], Collection[HubSource | FileSource] | None] | None = None
    code: Callable[[TaskSpec], Collection[Path]] | None = None
    get_ready: Callable[[], None] | None = None
