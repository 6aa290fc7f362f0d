"""Keys and values in place are those of tensors that are made anew for each change."""

from __future__ import annotations

import random
from typing import Any

import pytest

from polymeter.models.hf.answers import roomy_layer


def read(n_rows: int, width: int) -> Any:
    """A layer as a prompt leaves it; keys and values differ in size, as in some architectures."""
    import torch
    from transformers.cache_utils import DynamicLayer

    layer = DynamicLayer()
    layer.update(torch.randn(n_rows, 2, width, 4), torch.randn(n_rows, 2, width, 3))
    return layer


@pytest.mark.parametrize("seed", range(8))
def test_rows_enter_grow_and_leave(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    torch.manual_seed(seed)
    monkeypatch.setattr(roomy_layer, "COLUMNS_OF_ROOM", 5)
    generator = random.Random(seed)
    layer = roomy_layer.RoomyLayer(read(1, 3), 3)
    rows: list[Any] = []  # each row's own keys and values
    for _ in range(60):
        change = generator.choice(("add", "grow", "grow", "keep")) if rows else "add"
        if change == "add":
            width = generator.randint(1, 12)
            new = read(2, 14)
            chosen = generator.sample(range(2), generator.randint(1, 2))
            layer.add(new, torch.tensor(chosen), width)
            rows += [(new.keys[row, :, 14 - width :], new.values[row, :, 14 - width :]) for row in chosen]
        elif change == "grow":
            more = torch.randn(len(rows), 2, 1, 4), torch.randn(len(rows), 2, 1, 3)
            layer.update(*more)
            rows = [
                tuple(torch.cat([own, new[row]], dim=1) for own, new in zip(rows[row], more, strict=True))
                for row in range(len(rows))
            ]
        else:
            order = list(range(generator.randint(1, len(rows))))
            order[generator.randrange(len(order))] = len(rows) - 1
            order = order if len(set(order)) == len(order) else list(range(len(order)))
            rows = [rows[row] for row in order]
            layer.keep(order, max(own.shape[1] for own, _ in rows))
        assert layer.get_seq_length() == max(own.shape[1] for own, _ in rows)
        for held, part in ((layer.keys, 0), (layer.values, 1)):
            assert len(held) == len(rows)
            assert bool(held.isfinite().all())
            for row, own in enumerate(rows):
                assert torch.equal(held[row, :, held.shape[2] - own[part].shape[1] :], own[part])


def test_a_token_is_written_where_there_is_room() -> None:
    import torch

    layer = roomy_layer.RoomyLayer(read(1, 3), 2)
    layer.add(read(2, 3), torch.tensor([0, 1]), 3)
    places = set()
    for _ in range(roomy_layer.COLUMNS_OF_ROOM):
        keys, _ = layer.update(torch.randn(2, 2, 1, 4), torch.randn(2, 2, 1, 3))
        places.add(keys.data_ptr())
    assert len(places) == 1
