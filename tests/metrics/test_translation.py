"""Corpus metrics of translation with a sacreBLEU whose inside is another than the one that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polymeter.metrics import translation
from polymeter.stats.additive import Additive
from polymeter.stats.bootstrap import bootstrap, bootstrap_additive

_PAIRS = [
    ("the cat sat on the mat", "the cat sat on a mat"),
    ("there is a red square here", "there is a square"),
    ("two blue dots and a line", "two blue dots and one line"),
    (("a b c d e", "a b c d f"), "a b c d f"),
]


@pytest.mark.parametrize("scorer", [translation._bleu, translation._chrf, translation._ter])
def test_another_version_of_sacrebleu_gives_the_same_values(
    scorer: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = translation.corpus_score(scorer)
    monkeypatch.setattr(translation, "version", lambda name: "3.0.0")
    unknown = translation.corpus_score(scorer)
    assert isinstance(known, Additive)
    assert not isinstance(unknown, Additive)
    assert unknown(_PAIRS) == known(_PAIRS)
    drawn = [np.random.default_rng(1), np.random.default_rng(1)]
    fast = bootstrap_additive(known, known.terms(_PAIRS), generator=drawn[0], resamples=50)
    np.testing.assert_allclose(bootstrap(unknown, _PAIRS, generator=drawn[1], resamples=50), fast)
