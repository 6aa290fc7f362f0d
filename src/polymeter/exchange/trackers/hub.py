"""The Hugging Face Hub: results and samples as a dataset repository, and results as metadata of a model's card.

A repository collects runs. Each run has its own folder, and the card lists each task's samples as a configuration for
``load_dataset``. The card of a model changes through a pull request, which its owner accepts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.records.tracker import TrackedNumber, TrackedRun, sample_limit

_UNFIT = re.compile(r"[^\w.-]+", re.ASCII)
"""Characters that the name of a configuration or folder may not contain."""
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_OWN_ID = re.compile(r"(?:[\w.-]+/)?[\w.-]+", re.ASCII)
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")
_CARD = "README.md"
_MODEL_CARD = "model-card.md"


class HubTracker:
    """A tracker that pushes runs to a dataset repository.

    Args:
        repo: The dataset repository, as ``organisation/name``, or ``name`` for one of the token's owner. It is created
            if it does not exist.
        folder: A local folder. Everything is written there and nothing is sent.
        private: Whether a new repository is private.
        samples: The number of samples of each task to push, or ``all``.
        samples_repo: Another repository for the samples; default: the same.
        results: Whether the results are pushed.
        model: The repository of the model, to propose its results for the model's card.
        task_type: The Hub's name of the model's task, for that card.
        create_pr: Whether the model's card is changed by a pull request; otherwise at once.
        gated: Whether readers of the samples must ask for access.
        leaderboard_url: For the card of the dataset.
        point_of_contact: For the card of the dataset.
        token: The token; default: that of ``hf auth login`` or ``HF_TOKEN``. Prefer these two.

    Raises:
        PlanError: if neither a repository nor a folder is given, or the token is missing.
    """

    def __init__(  # noqa: PLR0913  (each is an argument of the command line)
        self,
        *,
        repo: str = "",
        folder: str = "",
        private: bool = True,
        samples: int | str = "all",
        samples_repo: str = "",
        results: bool = True,
        model: str = "",
        task_type: str = "image-text-to-text",
        create_pr: bool = True,
        gated: bool = False,
        leaderboard_url: str = "",
        point_of_contact: str = "",
        token: str = "",
    ) -> None:
        from huggingface_hub import get_token

        for name, pattern in ((repo, _OWN_ID), (samples_repo, _OWN_ID), (model, _HUB_ID)):
            if name and not pattern.fullmatch(name):
                raise PlanError(f"{name!r} is not the name of a repository.", hint="Write organisation/name.")
        if not repo and not folder:
            raise PlanError("The tracker 'hub' needs a repository.", hint="Write hub:repo=organisation/name")
        if not folder and not (token or get_token()):
            raise PlanError("The token for the Hugging Face Hub is missing.", hint="Log in with: hf auth login")
        self._repo = repo
        self._folder = folder
        self._token = token or None
        self._samples_repo = samples_repo or repo
        self._limit = sample_limit(samples)
        self._has_results = results
        self._private = private
        self._gated = gated
        self._model = model
        self._task_type = task_type
        self._create_pr = create_pr
        about = {"leaderboard_url": leaderboard_url, "point_of_contact": point_of_contact}
        self._about = {name: text for name, text in about.items() if text}

    def send(self, run: TrackedRun) -> str:
        if self._folder:
            return self._write(run, Path(self._folder))
        places = {repo: self._push(run, repo) for repo in dict.fromkeys((self._repo, self._samples_repo))}
        place = f"{_endpoint()}/datasets/{places[self._repo]}"
        if self._model:
            self._propose(run, place)
        return place

    def _write(self, run: TrackedRun, folder: Path) -> str:
        self._stage(run, folder, has_results=self._has_results, has_samples=self._limit != 0)
        self._finish_card(run, folder, folder / _CARD if (folder / _CARD).is_file() else None)
        if self._model:
            from huggingface_hub import metadata_save

            (folder / _MODEL_CARD).unlink(missing_ok=True)
            place = f"{_endpoint()}/datasets/{self._repo}" if self._repo else None
            metadata_save(folder / _MODEL_CARD, self._model_index(run, place))
        return str(folder)

    def _push(self, run: TrackedRun, repo: str) -> str:
        """Push a run to a repository and return the repository's full name."""
        from huggingface_hub import HfApi, hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError

        api = HfApi(token=self._token)
        named = str(api.create_repo(repo, repo_type="dataset", private=self._private, exist_ok=True).repo_id)
        if self._gated and repo == self._samples_repo:
            api.update_repo_settings(named, repo_type="dataset", gated="auto")
        with TemporaryDirectory() as stage:
            try:
                old = Path(hf_hub_download(named, _CARD, repo_type="dataset", token=self._token))
            except EntryNotFoundError:
                old = None
            self._stage(
                run,
                Path(stage),
                has_results=self._has_results and repo == self._repo,
                has_samples=self._limit != 0 and repo == self._samples_repo,
            )
            self._finish_card(run, Path(stage), old)
            message = f"Add the results of {run.model} from the run {run.name}"
            api.upload_folder(folder_path=stage, repo_id=named, repo_type="dataset", commit_message=message)
        return named

    def _stage(self, run: TrackedRun, folder: Path, *, has_results: bool, has_samples: bool) -> None:
        """Write the files of a run, without the card."""
        own = folder / _fit(run.name)
        own.mkdir(parents=True, exist_ok=True)
        if has_results:
            (own / "results.json").write_bytes((run.folder / "results.json").read_bytes())
            _write_numbers(run, own / "numbers.parquet")
            for name, path in run.further.items():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        if has_samples:
            run.write_tables(own / "samples", self._limit)

    def _finish_card(self, run: TrackedRun, folder: Path, old: Path | None) -> None:
        """Write the card: the earlier configurations stay, and those of this run are added."""
        from huggingface_hub import DatasetCard, metadata_load, metadata_save

        metadata: dict[str, Any] = {} if old is None else metadata_load(old) or {}
        text = "" if old is None else _without(DatasetCard.load(old, ignore_metadata_errors=True).text, run.name)
        configs = {one["config_name"]: one for one in metadata.get("configs") or ()}
        own = folder / _fit(run.name)
        if (own / "numbers.parquet").is_file():
            configs["results"] = _config("results", "results", "*/numbers.parquet")
        for path in sorted(own.glob("samples/*.parquet")):
            name = _fit(f"{run.name}.{path.stem}")
            configs[name] = _config(name, "samples", path.relative_to(folder).as_posix())
        tags = [*dict.fromkeys([*(metadata.get("tags") or ()), "evaluation", "polymeter"])]
        metadata |= {"tags": tags, "configs": list(configs.values()), **self._about}
        (folder / _CARD).write_text(f"{text.strip() or '# Evaluation results'}\n\n{_section(run)}", encoding="utf-8")
        metadata_save(folder / _CARD, metadata)

    def _propose(self, run: TrackedRun, place: str) -> None:
        """Propose the results for the model's card."""
        from huggingface_hub import metadata_update

        metadata_update(
            self._model,
            self._model_index(run, place),
            overwrite=True,
            create_pr=self._create_pr,
            commit_message=f"Add results measured with Polymeter ({run.name})",
            token=self._token,
        )

    def _model_index(self, run: TrackedRun, source: str | None) -> dict[str, Any]:
        from huggingface_hub import EvalResult
        from huggingface_hub.repocard_data import eval_results_to_model_index

        results = [
            EvalResult(
                task_type=self._task_type,
                dataset_type=_dataset(run, number),
                dataset_name=str(run.tasks.get(number.owner, {}).get("title") or number.owner),
                dataset_config=str(run.tasks.get(number.owner, {}).get("dataset_config") or "") or None,
                dataset_split=str(run.tasks.get(number.owner, {}).get("split") or "") or None,
                metric_type=number.metric,
                metric_name=number.name,
                metric_value=number.value,
                metric_args=_uncertainty(number),
                source_name="Polymeter" if source else None,
                source_url=source,
            )
            for number in run.numbers
        ]
        name = self._model.rpartition("/")[2]
        return {"model-index": eval_results_to_model_index(name, results)} if results else {}


def _endpoint() -> str:
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


def _fit(name: str) -> str:
    return _UNFIT.sub("_", name).strip(".") or "run"


def _config(name: str, split: str, path: str) -> dict[str, Any]:
    return {"config_name": name, "data_files": [{"split": split, "path": path}]}


def _dataset(run: TrackedRun, number: TrackedNumber) -> str:
    """Return the dataset's id on the Hub if the task names one, else the name of the task."""
    place = str(run.tasks.get(number.owner, {}).get("dataset") or "")
    return place if _HUB_ID.fullmatch(place) and not Path(place).exists() else number.owner


def _uncertainty(number: TrackedNumber) -> dict[str, Any]:
    interval = None if number.low is None or number.high is None else [number.low, number.high]
    known = {"n": number.n, "stderr": number.stderr, "interval_95": interval}
    return {name: value for name, value in known.items() if value is not None}


def _write_numbers(run: TrackedRun, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.float64()
    kinds = {
        **dict.fromkeys(("value", "stderr", "low", "high"), number),
        "n": pa.int64(),
        "higher_is_better": pa.bool_(),
    }
    names = ["run", "model", *TrackedNumber.__dataclass_fields__]
    schema = pa.schema([(name, kinds.get(name, text)) for name in names])
    rows = [{"run": run.name, "model": run.model, **asdict(one)} for one in run.numbers]
    rows += [
        {"run": run.name, "model": run.model, "name": name, "kind": "usage", "value": float(value)}
        for name, value in run.usage.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


def _section(run: TrackedRun) -> str:
    rows = [
        [
            one.name,
            f"{one.value:.6g}",
            "" if one.stderr is None else f"{one.stderr:.4g}",
            _interval(one),
            str(one.n or ""),
        ]
        for one in run.numbers
    ]
    headings: Sequence[Sequence[str]] = (("score", "value", "stderr", "95 % interval", "n"), ("---",) * 5)
    lines = [*headings, *([_escaped(cell) for cell in row] for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    begin, end = _marks(run.name)
    return f"{begin}\n## {_escaped(run.model)}: {_escaped(run.name)}\n\n{table}\n{end}\n"


def _marks(name: str) -> tuple[str, str]:
    """Return the comments around a run's part of the card. They let a second push replace that part."""
    return f"<!-- polymeter {_fit(name)} -->", f"<!-- /polymeter {_fit(name)} -->"


def _without(text: str, name: str) -> str:
    begin, end = map(re.escape, _marks(name))
    return re.sub(r"\n{3,}", "\n\n", re.sub(f"{begin}.*?{end}\n?", "", text, flags=re.DOTALL))


def _interval(number: TrackedNumber) -> str:
    return "" if number.low is None or number.high is None else f"{number.low:.4g} to {number.high:.4g}"


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
