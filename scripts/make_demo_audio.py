"""Speak the digits of the `demo_audio` benchmark and write them as a parquet file.

Run by hand, rarely: the file it writes is committed, so neither tests nor runs need a synthesiser.
Every sample draws its random numbers from (seed, index). The same seed gives the same recordings only with the same
versions of the synthesisers. It needs numpy, scipy, soundfile, datasets and these Debian packages:

    apt-get install -y flite espeak-ng

Usage:

    python scripts/make_demo_audio.py [--out src/polymeter/library/demo_audio/data] [--seed 7]
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, resample_poly, sosfilt

DEFAULT_OUT = Path(__file__).resolve().parents[1] / "src" / "polymeter" / "library" / "demo_audio" / "data"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RATE = 16_000
N_SAMPLES = 54
PAUSE_S = 0.2
_PEAK = 12_000
_DROPPED_BITS = 4  # of 16: inaudible below the noise, and FLAC stores what is left in half the space

Waveform = NDArray[np.float64]
Row = dict[str, Any]

# Free voices: the first four were made from recordings of people, the others are formant synthesis.
VOICES = ("flite:slt", "flite:rms", "flite:awb", "flite:kal16", "espeak-ng:en-us+f3", "espeak-ng:en-gb")


def spoken(text: str, voice: str, stretch: float) -> Waveform:
    """Return what a synthesiser says, at ``RATE`` and with the same peak for all voices."""
    import soundfile

    program, _, name = voice.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/spoken.wav"
        if program == "flite":
            command = ["flite", "-voice", name, "--setf", f"duration_stretch={stretch}", "-t", text, "-o", file]
        else:
            command = ["espeak-ng", "-v", name, "-s", str(round(150 / stretch)), "-w", file, text]
        subprocess.run(command, check=True)
        samples, rate = soundfile.read(file)
    samples = resample_poly(samples, RATE, rate)
    return np.asarray(samples / np.abs(samples).max() * _PEAK)


def noisy(rng: np.random.Generator, speech: Waveform, decibels: float) -> Waveform:
    """Add white noise that lies so many decibels below the speech."""
    level = np.sqrt(np.mean(speech[np.abs(speech) > _PEAK / 50] ** 2)) / 10 ** (decibels / 20)
    return np.asarray(speech + rng.normal(0, level, speech.size))


def telephone(rng: np.random.Generator, speech: Waveform) -> Waveform:
    """Keep the band of a telephone line, 300 to 3,400 Hz."""
    return np.asarray(sosfilt(butter(4, (300, 3400), "bandpass", fs=RATE, output="sos"), noisy(rng, speech, 40)))


# name: (stretch of every sound, what happens to the recording)
CONDITIONS: dict[str, tuple[float, Callable[[np.random.Generator, Waveform], Waveform]]] = {
    "clear": (1.0, lambda rng, speech: noisy(rng, speech, 50)),
    "slow": (1.3, lambda rng, speech: noisy(rng, speech, 50)),
    "fast": (0.75, lambda rng, speech: noisy(rng, speech, 50)),
    "quiet": (1.0, lambda rng, speech: noisy(rng, speech, 40) / 8),
    "telephone": (1.0, telephone),
    "noise": (1.0, lambda rng, speech: noisy(rng, speech, 18)),
}


def flac(samples: Waveform) -> bytes:
    """Return the recording as a FLAC file, without the bits below the noise."""
    import soundfile

    step = 1 << _DROPPED_BITS
    whole = (np.round(samples / step) * step).clip(-32768, 32767 - step).astype("<i2")
    buffer = io.BytesIO()
    soundfile.write(buffer, whole, RATE, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def sample(seed: int, index: int) -> Row:
    """Return one row: all voices are equally frequent in all, and every voice meets every condition."""
    rng = np.random.default_rng((seed, index))
    condition = list(CONDITIONS)[index % len(CONDITIONS)]
    voice = VOICES[(index + index // len(CONDITIONS)) % len(VOICES)]
    digits = rng.integers(0, 10, int(rng.integers(2, 6)))
    stretch, change = CONDITIONS[condition]
    speech = np.pad(spoken(" ".join(WORDS[digit] for digit in digits), voice, stretch), int(PAUSE_S * RATE))
    audio = {"bytes": flac(change(rng, speech)), "path": f"{index:02}.flac"}
    return {
        "id": f"digits-{index:02}",
        "audio": audio,
        "digits": " ".join(map(str, digits)),
        "voice": voice,
        "condition": condition,
    }


def main() -> int:
    """Write `<out>/digits.parquet`."""
    import datasets
    import pyarrow
    from pyarrow import parquet

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    text = datasets.Value("string")
    columns = datasets.Features(
        {"id": text, "audio": datasets.Audio(), "digits": text, "voice": text, "condition": text}
    )
    rows = [sample(arguments.seed, index) for index in range(N_SAMPLES)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "digits.parquet"
    # Written by Arrow: `datasets` hands recordings to another package before it stores them, encoded or not.
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=columns.arrow_schema), path)
    print(f"{path}: {len(rows)} samples, {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
