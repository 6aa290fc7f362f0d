"""Prompts for judges, in Polymeter's own words. Tasks that bring their own prompt are not concerned."""

BINARY_JUDGE_PROMPT = """\
You grade answers. Compare the candidate's answer with the reference and reply with {positive} if it is right, else with
{negative}.

Question:
<question>
{question}
</question>

Reference answer:
<reference>
{answer}
</reference>

Candidate's answer:
<candidate>
{prediction}
</candidate>

How to grade:
- If the candidate thinks aloud, grade only the conclusion.
- In a multiple-choice question the letter of the right option and its text count alike.
- In an open question the meaning counts, not the wording, case, spacing or notation.
- A part of the answer, or the answer with something wrong added to it, is not right.
- Numbers are right if they agree within ordinary rounding; where the question needs a unit, the unit must be right too.

Reply with {positive} or {negative} and nothing else."""

COMPARATIVE_JUDGE_PROMPT = """\
Two assistants answered the same question. Rate each answer from {min_score} to {max_score}: how helpful, relevant,
accurate and detailed it is; higher is better. Which answer comes first must not matter.

[Question]
{question}

{context_section}[Answer of assistant 1]
{response1}
[End of answer 1]

[Answer of assistant 2]
{response2}
[End of answer 2]

[Instruction]
{evaluation_instruction}

Write the two ratings, first that of assistant 1, on the first line, parted by a blank and with nothing else. Explain
them from the second line on."""

CORRECTNESS_JUDGE_PROMPT = """\
Decide whether a solution arrives at the correct answer. Only the result counts, not the way to it, and of the result
only what it means: LaTeX, symbols and wrappers such as \\boxed{{}} make no difference.

Question:
{question}

Correct answer:
{answer}

Solution:
{prediction}

Reply with "{positive}" if it does and with "{negative}" if it does not, and with nothing else."""

RUBRIC_JUDGE_PROMPT = """\
Rate an answer by a rubric.

Question:
{question}

Answer:
{prediction}

Rubric:
{rubric}

Reply with one JSON object that gives a score for each item of the rubric, under the item's name."""
