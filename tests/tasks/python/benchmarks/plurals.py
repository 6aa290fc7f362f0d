"""Few-shot: the examples stand in the prompt."""

import polymeter

SHOTS = [("house", "houses"), ("mouse", "mice"), ("leaf", "leaves")]
ROWS = [{"word": "goose", "plural": "geese"}, {"word": "knife", "plural": "knives"}, {"word": "box", "plural": "boxes"}]


@polymeter.task(
    rows=ROWS, reference="plural", scorers=[{"metric": "exact_match", "ignore_case": True}], system="Be brief."
)
def plurals(row: polymeter.Row) -> str:
    shots = "\n".join(f"{one} -> {many}" for one, many in SHOTS)
    return f"{shots}\n{row['word']} ->"
