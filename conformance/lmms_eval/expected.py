"""Differences from lmms-eval that are deliberate, by the row of docs/differences.md that states them."""

from conformance.comparing import Expected

_MEDIA = "media of `doc_to_visual`, for chat wrappers"
_TEXT = "`doc_to_visual` that returns a text, for chat wrappers"
_REASONING = "reasoning in an answer, with `metric_list`"
_SEEN = "prompts of chat models"
_WRONG_NAME = "an unknown key, metric, aggregation, argument or column"

EXPECTED: tuple[Expected, ...] = (
    Expected("standard error of a function aggregation", names="value:*_stderr,*"),
    Expected("blank line as stop string", names="settings"),
    # Recordings: there they are videos, and of a cell that is left undecoded the name alone goes to chat models.
    Expected(_MEDIA, names="prompt", there='{"type": "video", "url": {"array": '),
    Expected(_MEDIA, names="prompt", there='{"type": "video", "url": "tone.wav"}'),
    # Its doc_to_visual returns a column that holds images; where rows are made it may hold a text.
    Expected(_TEXT, tasks="egoplan2", names="prompt", stays=True),
    Expected(_SEEN, tasks="mathcanvas*", names="prompt"),
    # Made texts stand for the paths of their media.
    Expected(_MEDIA, names="failure", here="is no image, audio or video by its name or its content"),
    # Its filter looks for the options of the question, which the reasoning names too.
    Expected(_REASONING, tasks="metavqa", models="messy"),
    # Tasks that leave the words of the judge's question to lmms-eval: another question gets another verdict.
    Expected("default judge prompts", tasks="mathverse_testmini*"),
    Expected("default judge prompts", tasks="mathvision_*"),
    Expected("default judge prompts", tasks="k12"),
    # It names an aggregation that does not exist, for a metric that its code never gives.
    Expected(_WRONG_NAME, tasks="aime24_figures", names="failure", stays=True),
    Expected("two tasks with the same name", tasks="mmbench_en_dev_reasoning", names="failure"),
    # Which file is the later one depends there on the order in which the file system lists folders.
    Expected("two tasks with the same name", tasks="mmbench_en_dev_reasoning", names="prompt", stays=True),
    Expected("two tasks with the same name", tasks="mmvetv2", names="failure"),
    Expected("two tasks with the same name", tasks="mmmu_val_reasoning", names="failure"),
)

EXPECTED_OF_GROUPS: tuple[Expected, ...] = (
    Expected("a group's metric", names="value:*acc_norm*"),
    Expected("a group's standard error", names="value:*_stderr,*"),
)
"""The same for the numbers of groups."""
