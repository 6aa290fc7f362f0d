"""Write ``docs/differences.md`` from the records of the systems: ``python -m scripts.differences``.

A test compares the page with the records, so it fails until this was run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from polymeter.core.names.parity import Difference, Stays, difference_tables
from polymeter.core.names.systems import System, systems
from scripts.markdown import table

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"
_PAGE = """# Differences from other systems

Code written for other systems runs unmodified. On equal answers, scores are equal, except for these
differences.

To reproduce a published score, use their values:

```text
polymeter run … --parity lmms-eval
```

`--parity SYSTEM` ({names}) turns on every switch in the system's table. It works with `run`, `score`, `check`, the
systems' own commands, `polymeter.evaluate(parity=…)`, `parity:` in the [settings file](settings.md) and
`POLYMETER_PARITY`; `none` turns it off. The report lists the switches. A
resumed run keeps its parity.

{sections}"""
_SECTION = """## {title}

Compared with {compared}.

{switches}
No switch changes these ({title} → Polymeter):

{others}
"""


def page() -> str:
    """Return the page: for each system, a table of the switches and a list of the other differences."""
    declared = [system for system in systems() if system.differences]
    return _PAGE.format(
        names=", ".join(f"`{system.parity_name}`" for system in declared),
        sections="\n".join(map(_section, declared)),
    )


def _section(system: System) -> str:
    rows = [row for one in difference_tables(system) for row in one.rows]
    switched = [(f"`{row.switch}`", row.rule, row.there, row.here, row.why) for row in rows if row.is_switched]
    return _SECTION.format(
        title=system.title,
        compared=f"{system.title} {system.version}".strip(),
        switches=table(("switch", "what", system.title, "Polymeter", "why"), switched),
        others="\n".join(_others(rows)),
    )


def _others(rows: Sequence[Difference]) -> Iterator[str]:
    """Yield the lines of a list of the differences without a switch, by the reason."""
    for reason in (one for one in Stays if one is not Stays.SAME):  # which make no difference to a result
        found = [row for row in rows if row.switch is reason]
        if found:
            yield f"- *{reason}*"
        for row in found:
            why = f" ({row.why})" if row.why else ""
            yield f"    - {row.rule}: {row.there} → {row.here}{why}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
