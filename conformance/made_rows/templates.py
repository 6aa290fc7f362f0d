"""What a Jinja template reads of a row, followed through attributes, items, loops and assignments.

`schema.columns_of` looks at names and what stands right beside them; the templates of lm-eval reach further in:
``{{choices.label.index(answer)}}``, ``{{['A', 'B'][answer - 1]}}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from conformance.made_rows.schema import Use

if TYPE_CHECKING:
    from jinja2 import nodes

_OF_TEXT = {"strip", "split", "lower", "upper", "replace", "rstrip", "lstrip", "format", "startswith", "endswith"}


def read_template(text: str, row: Use) -> None:
    """Add what a template reads to what is known of a row; a template that Jinja cannot parse reads nothing."""
    import jinja2

    environment = jinja2.Environment(autoescape=True)
    try:
        tree = environment.parse(text)
    except jinja2.TemplateSyntaxError:
        return
    _Reader(row).read(tree)


class _Reader:
    """Walks a syntax tree with the values that names stand for."""

    def __init__(self, row: Use) -> None:
        self.row = row
        self.known: dict[str, Use | None] = dict.fromkeys(("range", "loop", "namespace", "dict", "cycler", "lipsum"))

    def read(self, node: nodes.Node) -> None:
        from jinja2 import nodes

        if isinstance(node, nodes.For):
            self.read(node.iter)
            items = self.use_of(node.iter)
            for name in node.target.find_all(nodes.Name) if not isinstance(node.target, nodes.Name) else [node.target]:
                self.known[name.name] = items.item if items is not None and name is node.target else None
            for part in (*node.body, *node.else_):
                self.read(part)
            return
        if isinstance(node, nodes.Assign):
            self.read(node.node)
            if isinstance(node.target, nodes.Name):
                self.known[node.target.name] = self.use_of(node.node)
            return
        if isinstance(node, nodes.Compare):
            self._compare(node)
        elif isinstance(node, (nodes.Add, nodes.Sub)):
            self._add(node)
        elif isinstance(node, (nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Call, nodes.Filter)):
            self.use_of(node)
        for child in node.iter_child_nodes():
            self.read(child)

    def use_of(self, node: Any) -> Use | None:
        """What an expression stands for, if it is of the row."""
        from jinja2 import nodes

        if isinstance(node, nodes.Name):
            return self.known[node.name] if node.name in self.known else self.row.key(node.name)
        if isinstance(node, nodes.Getattr):
            base = self.use_of(node.node)
            return None if base is None else self._attribute(base, node.attr)
        if isinstance(node, nodes.Getitem):
            return self._item(node)
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
            if node.node.attr == "index" and isinstance(node.node.node, nodes.List) and node.args:
                self._compare_all(node.args[0], node.node.node.items)
            base = self.use_of(node.node.node)
            return base if base is not None and node.node.attr in _OF_TEXT - {"split"} else None
        if isinstance(node, nodes.Filter) and node.node is not None:
            return self._filtered(node)
        return None

    def _attribute(self, base: Use, name: str) -> Use | None:
        if name in _OF_TEXT:
            base.calls.add(f".{name}")
            return base
        if name == "index":
            _ = base.item
            return None
        if name in {"items", "keys", "values", "get", "append"}:
            base.calls.add(f".{name}")
            return None
        return base.key(name)

    def _item(self, node: Any) -> Use | None:
        from jinja2 import nodes

        if isinstance(node.node, nodes.Dict):
            self._compare_all(node.arg, [pair.key for pair in node.node.items])
        elif isinstance(node.node, nodes.List):
            self._positions(node.arg, len(node.node.items))
        elif (position := self.use_of(node.arg)) is not None:
            position.calls.add("position")
        base = self.use_of(node.node)
        if base is None:
            return None
        if isinstance(node.arg, nodes.Slice):
            base.calls.add("[:]")
            return base
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return base.key(node.arg.value)
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, int):
            base.least = max(base.least, node.arg.value + 1)
        return base.item

    def _compare_all(self, node: Any, values: Sequence[Any]) -> None:
        """An expression is one of some constants."""
        from jinja2 import nodes

        if (use := self.use_of(node)) is not None:
            for value in values:
                if isinstance(value, nodes.Const):
                    use.compare(value.value)

    def _positions(self, node: Any, count: int) -> None:
        """An expression is a position in a list that is written down, from 0, or from what is taken off it."""
        from jinja2 import nodes

        first = 0
        if isinstance(node, nodes.Sub) and isinstance(node.right, nodes.Const):
            node, first = node.left, int(node.right.value)
        is_text = isinstance(node, nodes.Filter) and node.name == "int"
        if (use := self.use_of(node)) is not None:
            for position in range(first, first + count):
                use.compare(str(position) if is_text else position)

    def _filtered(self, node: Any) -> Use | None:
        base = self.use_of(node.node)
        if base is None:
            return None
        if node.name in {"int", "float", "abs", "round"}:
            base.calls.add(node.name)
        elif node.name in {"join", "first", "last", "list", "sort", "unique"}:
            _ = base.item
        elif node.name in {"trim", "lower", "upper", "replace", "capitalize", "title", "regex_replace"}:
            base.calls.add(".strip")
        return base if node.name not in {"join", "first", "last"} else None

    def _compare(self, node: Any) -> None:
        from jinja2 import nodes

        for operand in node.ops:
            for one, other in ((node.expr, operand.expr), (operand.expr, node.expr)):
                use = self.use_of(one) if isinstance(other, (nodes.Const, nodes.List, nodes.Tuple)) else None
                if use is None:
                    continue
                if isinstance(other, nodes.Const) and operand.op == "in" and isinstance(other.value, str):
                    values: Sequence[Any] = [nodes.Const(letter) for letter in other.value]  # ``key in 'ABCD'``
                else:
                    values = [other] if isinstance(other, nodes.Const) else other.items
                for value in values:
                    if isinstance(value, nodes.Const) and value.value is not None:
                        use.compare(value.value)

    def _add(self, node: Any) -> None:
        from jinja2 import nodes

        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(other, nodes.Const) and (use := self.use_of(one)) is not None:
                use.calls.add("+text" if isinstance(other.value, str) else "+number")
