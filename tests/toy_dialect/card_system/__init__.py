"""Cards, a dialect of an outside package."""

from polymeter.extend import System, Target

SYSTEM = System(
    name="cards",
    title="Cards",
    summary="question cards",
    formats={"cards": Target("card_system.dialect:FORMAT", "card_system", summary="cards: task YAML in other words")},
    dialects=("card_system.dialect:DIALECT",),
)
