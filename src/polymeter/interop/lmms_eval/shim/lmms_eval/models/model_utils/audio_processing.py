"""Stand-in for ``lmms_eval.models.model_utils.audio_processing``: another rate, and pieces of a given length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polymeter.data.audio import samples

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def downsample_audio(audio_array: NDArray[Any], original_sr: int, target_sr: int) -> NDArray[np.float32]:
    """Samples of shape ``(n,)`` or ``(channels, n)`` at another rate (Hz), resampled as ``polymeter.data.audio`` does:
    the same whether or not librosa is installed.
    """
    import numpy as np

    found = np.asarray(audio_array, dtype=np.float32)
    part = {"array": found, "sampling_rate": original_sr}
    return samples(part, rate=target_sr, mono=found.ndim == 1)[0]


def split_audio(audio_arrays: NDArray[Any], chunk_lim: int) -> list[NDArray[Any]]:
    """Pieces of ``chunk_lim`` samples, the last one shorter."""
    return [audio_arrays[start : start + chunk_lim] for start in range(0, len(audio_arrays), chunk_lim)]
