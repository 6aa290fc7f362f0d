"""Differences from lmms-eval that are deliberate, by the row of docs/differences.md that states them."""

from conformance.comparing import Expected

EXPECTED: tuple[Expected, ...] = (
    Expected("standard error of a function aggregation", names="value:*_stderr,*"),
    Expected("empty line as stop string", names="settings"),
    # Cells that hold samples of sound and a path: there, only the path's name goes to chat models.
    Expected(
        "an undecoded recording (`Audio(decode=False)`) for a chat wrapper, without `doc_to_messages`",
        tasks="fleurs_*",
        names="prompt",
        stays=True,
    ),
    Expected("two tasks with the same name", tasks="mmbench_en_dev_reasoning", names="failure"),
    Expected("two tasks with the same name", tasks="mmvetv2", names="failure"),
    Expected("two tasks with the same name", tasks="mmmu_val_reasoning", names="failure"),
)
