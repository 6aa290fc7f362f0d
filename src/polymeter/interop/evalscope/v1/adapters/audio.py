"""``AudioLanguageAdapter``: a helper for prompts with sounds."""

from __future__ import annotations

import io

from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.utils.packages import check_import


class AudioLanguageAdapter(DefaultDataAdapter):
    """A benchmark with sounds."""

    @staticmethod
    def _to_wav(raw_bytes: bytes) -> bytes:
        """Return a sound of any format that libsndfile reads as WAV.

        Raises:
            ImportError: if the package ``soundfile`` is not installed.
        """
        check_import("soundfile", raise_error=True, feature_name="AudioLanguageAdapter")
        import soundfile

        samples, rate = soundfile.read(io.BytesIO(raw_bytes))
        wave = io.BytesIO()
        soundfile.write(wave, samples, rate, format="WAV")
        return wave.getvalue()
