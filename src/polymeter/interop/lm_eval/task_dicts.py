"""Tasks that a script gives as dicts: each is written into a file, which runs like any other.

The file lies in the cache folder under a name made from its content, so a run that is resumed finds it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.machine.places import stored_at
from polymeter.core.media.sources import digest
from polymeter.core.names.catalog import Catalog
from polymeter.core.options import RunOptions
from polymeter.run.plan.plan import cache_folder

_WHERE = "tasks"


def task_file(config: Mapping[str, Any], catalog: Catalog) -> Path:
    """The file of a whole task or group.

    Args:
        config: Its fields, as a YAML file has them.
        catalog: The tasks that have names.

    Raises:
        PlanError: if it has no name, its name is that of another task, or a field is a function or another object.
    """
    import yaml

    name = config.get("group", config.get("task"))
    if not isinstance(name, str):
        raise PlanError("A task is given as a dict without a name.", where=_WHERE, hint="Give it a 'task'.")
    if name in catalog.entries:
        raise PlanError(
            f"A task is given as a dict with the name of another, {name!r}.",
            where=_WHERE,
            hint="To change a task, write a YAML file that includes it; for a task of your own, choose another name.",
        )
    try:
        text = yaml.safe_dump(dict(config), allow_unicode=True, sort_keys=False)
    except yaml.YAMLError as error:
        raise PlanError(
            f"The task {name!r} is given as a dict with a function or another object in it: {error.args[-1]!r:.80}.",
            where=_WHERE,
            hint="Write it into a YAML file that names the function (!function FILE.NAME), and name that file.",
        ) from None
    folder = cache_folder(RunOptions()) / "tasks" / digest(text.encode())[:16]
    file = folder / "task.yaml"
    with stored_at(file, "Writing the task"):
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return file
