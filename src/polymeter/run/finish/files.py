"""Files that answers and scores depend on: recorded with them, and compared when a run resumes.

Inside a run a medium of the dataset is identified by its place, and a completed sample is not rolled out again. So an
answer carries the states of the files that its sample had read by then, and a completed sample those of its score. If a
file has changed meanwhile, nothing from it is reused: the sample is rolled out again, and the model is asked again if
its input differs.

An answer about media that its request identifies by place is reused only if the media's content is unchanged. The
fingerprint stays the same either way, so journals of unchanged files are read as before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from polymeter.core.acting.episodes import Act
from polymeter.core.content import Text
from polymeter.core.errors import DataError, PolymeterError, boundary
from polymeter.core.machine.opened_files import FileState, Noted, is_current, is_of_row, states_of
from polymeter.core.request import OwnPrompt, Step
from polymeter.run.schedule.running_samples import PendingRequest, RunningSample
from polymeter.store.journal import SEAL_SEPARATOR, Journal
from polymeter.store.wire import FilesBehind, read_files, read_states, write_states

_REMEMBERED = 100_000
_MOST_SHARED = 32


class FilesOfRun:
    """The files behind one run's answers and scores. Thread-safe.

    Args:
        run_folder: The run folder; files that the run writes there are not data.
        is_replay_only: Whether no model is asked, so that an answer about a deleted file still counts.
    """

    def __init__(self, run_folder: Path, *, is_replay_only: bool = False) -> None:
        self._own = f"{os.path.abspath(run_folder)}{os.sep}"
        self._is_replay_only = is_replay_only
        self._seen: dict[FileState, bool] = {}

    def behind_answer(self, asked: PendingRequest) -> FilesBehind | None:
        """The files that a new answer rests on; ``None`` if there are none.

        Raises:
            DataError: if a medium that the model was shown can no longer be read.
        """
        noted = asked.running.files
        response = asked.response
        if isinstance(asked.request, OwnPrompt) and response is not None:
            for message in response.messages or ():
                for part in message.parts:
                    if not isinstance(part, Text):
                        part.note_files(noted)
        if asked.may_show:
            for medium in asked.request.media():
                medium.note_files(noted)
        if not noted:
            return None
        shown = _shown_media(asked.request)  # first: the digest of an image's bytes is that of its file, too
        states = self._states(noted)
        return FilesBehind(states, shown) if states else None

    def seal(self, running: RunningSample, doc: str) -> str:
        """Return the mark of a completed sample: its task's completion digest, and the states of the files that it
        depends on.

        Args:
            running: The sample.
            doc: Its row as text.
        """
        task, noted = running.task, running.files
        if not noted and not task.shared_files:
            return task.completion_digest
        if len(task.shared_files) < _MOST_SHARED:
            fresh = {path: noted[path] for path in list(noted) if path not in task.shared_files}
            task.shared_files.update({path: state for path, state in fresh.items() if not is_of_row(path, doc)})
        # Where every row opens files under names of their own making, none of them is shared.
        shared = task.shared_files if len(task.shared_files) < _MOST_SHARED else {}
        sources = {str(file) for file in task.task.spec.sources}
        states = [state for state in self._states({**shared, **noted}) if state.path not in sources]
        return f"{task.completion_digest}{SEAL_SEPARATOR}{write_states(states)}" if states else task.completion_digest

    def holds(self, body: str, asked: PendingRequest) -> bool:
        """Return whether a stored answer is about what would be asked about now; notes its files for the sample."""
        files = read_files(body)
        if files is None:
            return True
        if all(map(self._is_current, files.states)):
            for state in files.states:
                asked.running.files.setdefault(state.path, (state.size, state.mtime_ns))
            return True
        if isinstance(asked.request, OwnPrompt):
            return self._is_replay_only
        if self._is_replay_only and not all(os.path.exists(state.path) for state in files.states):
            return True
        with suppress(PolymeterError):  # an unreadable file is reported when it is shown
            return _shown_media(asked.request) == files.shown
        return False

    def is_outdated(self, body: str) -> bool:
        """Return whether a file behind a stored answer has changed."""
        files = read_files(body)
        return files is not None and not all(map(self._is_current, files.states))

    def changed(self, journal: Journal, task: str, completion_digest: str) -> Iterator[tuple[int, str]]:
        """Completed samples of a task that rest on a file that has changed: index, and the path of the first."""
        for index, text in journal.files(task, completion_digest):
            path = next((state.path for state in _states_in(text) if not self._is_current(state)), None)
            if path is not None:
                yield index, path

    def _states(self, noted: Noted) -> tuple[FileState, ...]:
        return tuple(states_of({path: noted[path] for path in list(noted) if not path.startswith(self._own)}))

    def _is_current(self, state: FileState) -> bool:
        known = self._seen.get(state)
        if known is None:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            known = self._seen[state] = is_current(state)
        return known


def _shown_media(request: Step) -> tuple[str, ...]:
    """Digests of the media that a request, or the scene of an act, identifies by their place in the dataset."""
    media = request.scene.images if isinstance(request, Act) else request.media()
    with boundary(DataError, "Reading the model's input"):
        return tuple(medium.content_hash() for medium in media if medium.key is not None)


def _states_in(text: str) -> Iterable[FileState]:
    try:
        return read_states(text)
    except (ValueError, TypeError):  # a damaged row: nothing is known of the files
        return (FileState("a file that its row no longer names", -1, 0, None),)
