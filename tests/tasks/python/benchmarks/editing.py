"""Image editing: an image and a wish in, an image out, compared with the one that is wanted."""

from pathlib import Path

import polymeter


@polymeter.task(rows="edits.jsonl", output="image", reference="after", scorers=["psnr", {"metric": "ssim"}], id="name")
def editing(row: polymeter.Row) -> polymeter.Prompt:
    return [Path(row["before"]), f"change the background to {row['wish']}"]
