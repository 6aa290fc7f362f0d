"""Quiz, a system of an outside package."""

from polymeter.extend import System, Target

SYSTEM = System(
    name="quiz",
    title="Quiz",
    summary="text files of questions and answers",
    formats={"quiz": Target("quiz_system.format:FORMAT", "quiz_system", summary="*.quiz files")},
)
