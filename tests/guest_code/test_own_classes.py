"""Polymeter's own classes among those that derive from them."""

from polymeter.guests.own_classes import definer, is_own_class, own_class


@own_class
class Ours:
    def score(self) -> int:
        return 1


class Theirs(Ours):
    def prompt(self) -> str:
        return ""


def test_the_mark_is_not_inherited() -> None:
    assert is_own_class(Ours)
    assert not is_own_class(Theirs)
    assert (definer(Theirs, "score"), definer(Theirs, "prompt"), definer(Theirs, "missing")) == (Ours, Theirs, None)
