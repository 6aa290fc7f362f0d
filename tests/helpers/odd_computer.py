"""What a host runs in another process for a test: it answers with what it is told to."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from polymeter.core.acting.tools import Call
from polymeter.core.request import Output, Response
from polymeter.run.dispatch.replicas.hosts import Computed, Work

_ONLY_HERE = "a_module_of_the_child_alone"


@dataclass(frozen=True)
class OddSetup:
    """Sent to the child.

    Attributes:
        is_loadable: Whether it can be loaded; if not, its error is of a class that only the child has.
    """

    is_loadable: bool = True

    def made(self) -> OddComputer:
        return OddComputer(self.is_loadable)


class OddComputer:
    """Answers ``text`` with a text of a class that only the child has, ``thing`` with such an object, ``pid`` with the
    number of its process, ends at ``exit``, and answers everything else with itself.
    """

    def __init__(self, is_loadable: bool) -> None:
        self._is_loadable = is_loadable
        self._classes = ModuleType(_ONLY_HERE)
        sys.modules[_ONLY_HERE] = self._classes
        code = "from polymeter.core.errors import PlanError\nclass Own(str): pass\nclass Torn(PlanError): pass\n"
        exec(code, self._classes.__dict__)

    def load(self) -> None:
        if not self._is_loadable:
            raise self._classes.Torn("The weights are torn.")

    def prepare(self, work: Work) -> Any:
        return None

    def compute(self, work: Work, preparation: Any = None) -> Computed:
        return Computed(work.lease, [self._answer(one) for group in work.groups for one in group])

    def close(self) -> None:
        return None

    def _answer(self, text: str) -> Response:
        if text == "text":
            return Response((Output(self._classes.Own("mine")),))
        if text == "pid":
            return Response.of_text(str(os.getpid()))
        if text == "exit":
            os._exit(3)
        if text == "thing":
            return Response((Output("x", calls=(Call("1", "f", {"call": self._classes.Own}, ""),)),))
        return Response.of_text(text)
