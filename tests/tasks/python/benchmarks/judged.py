"""Free answers that a judge compares with the reference."""

import polymeter
from polymeter.judge import LLMJudge

judge = LLMJudge()


@polymeter.scorer(bounds=(0, 1))
def correct(answer: str, reference: str, row: polymeter.Row) -> float:
    """The judge's grade."""
    return judge.get_score(judge(judge.build_prompt(answer, reference, row["question"])))


@polymeter.task(
    rows=[{"question": "Why is the sky blue?", "fact": "Rayleigh scattering"}], reference="fact", scorers=correct
)
def judged(row: polymeter.Row) -> str:
    return str(row["question"])
