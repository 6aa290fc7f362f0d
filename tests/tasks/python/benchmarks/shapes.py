"""A visual question: which shape is in the image?"""

import polymeter


@polymeter.task(rows="shapes", reference="answer", scorers=["exact_match", "anls"], cluster="picture")
def shapes(row: polymeter.Row) -> polymeter.Prompt:
    """Questions about drawn shapes."""
    return [row["image"], f"{row['question']}\nAnswer with one word."]
