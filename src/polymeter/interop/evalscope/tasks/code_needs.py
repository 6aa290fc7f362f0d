"""Packages and data that an adapter's code only needs while answers are scored, found before the first request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.parity import Parity
from polymeter.guests.reading.uses import uses_behind

_BLEU, _ALGEBRA = "bleu_ngram_one_sample", "math_equal"
_NAMES = (_BLEU.encode(), _ALGEBRA.encode())


def check_code_needs(file: Path, sources: Sequence[Path], parity: Parity) -> None:
    """Check that what an adapter's code calls has the packages and data that it needs: NLTK for BLEU at parity, and
    those for algebra. Nothing is run.

    Args:
        file: The adapter's file.
        sources: That file and those that it imports.
        parity: The system whose values are used where Polymeter differs.

    Raises:
        PlanError: if something is missing.
    """
    from polymeter.interop.evalscope.tasks.scoring.metrics import words_of_nltk
    from polymeter.metrics.symbolic import check_algebra

    contents = {source: source.read_bytes() for source in sources}
    if not any(name in content for content in contents.values() for name in _NAMES):
        return
    # In a checkout, EvalScope's own functions are among the sources; what is imported are those of the shim.
    own = [source for source, content in contents.items() if not any(b"def " + name in content for name in _NAMES)]
    for use in uses_behind(own, [(file, "")]):
        try:
            if use.name == _BLEU and parity.on("bleu-words"):
                words_of_nltk("One sentence.")
            elif use.name == _ALGEBRA:
                check_algebra()
        except PlanError as error:
            raise PlanError(error.what, where=use.where, hint=error.hint) from error
