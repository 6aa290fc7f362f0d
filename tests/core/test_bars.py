"""Bars of other packages, which are hidden on the threads that ask for it."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest
from tqdm.auto import tqdm

from polymeter.core.machine.bars import is_quiet, without_bars


def test_bars_are_hidden_on_this_thread_alone_and_drawn_again_afterwards() -> None:
    elsewhere = []
    with without_bars():
        with without_bars():
            assert tqdm(disable=None).disable
        assert tqdm(disable=False).disable
        thread = threading.Thread(target=lambda: elsewhere.append(tqdm(disable=False).disable))
        thread.start()
        thread.join()
    assert elsewhere == [False]
    assert not tqdm(disable=False).disable


def test_a_tqdm_without_a_switch_draws_its_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bar:
        def __init__(self, total: int) -> None:
            self.total = total

    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=Bar))
    with without_bars():
        assert (Bar(3).total, is_quiet()) == (3, True)
