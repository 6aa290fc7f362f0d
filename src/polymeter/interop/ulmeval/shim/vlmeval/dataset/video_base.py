"""Stand-in for ``vlmeval.dataset.video_base``: its classes can be named and not used."""

from polymeter.guests.refused import absent_class

__all__ = ["VideoBaseDataset"]

VideoBaseDataset = absent_class(
    "VideoBaseDataset",
    "A benchmark over videos is written as task YAML (doc_to_visual may give videos).",
    kit="VLMEvalKit",
)
