"""Media as models are shown them: the rule of the task or run applied, and a record of what came of it.

A model passes its own settings; what a medium's rule states wins over them. Every function here leaves a
``ShownMedium`` on the part (``part.sent``), which the run records.
"""

from polymeter.data.showing.images import encoded_image, shown_image, unchanged_image
from polymeter.data.showing.sounds import ShownSound, SoundFile, as_wav, encoded_audio, shown_audio
from polymeter.data.showing.videos import ShownVideo, shown_video

__all__ = [
    "ShownSound",
    "ShownVideo",
    "SoundFile",
    "as_wav",
    "encoded_audio",
    "encoded_image",
    "shown_audio",
    "shown_image",
    "shown_video",
    "unchanged_image",
]
