"""Recordings as a rule states: rate, channels, length."""

import io
import wave

import numpy as np
import pytest

from polymeter.core.content import Audio
from polymeter.core.errors import DataError
from polymeter.core.media.showing import AudioRule
from polymeter.data.audio import samples, wav_bytes
from polymeter.data.showing import encoded_audio, shown_audio
from polymeter.data.showing.digests import sent_digest

OWN = AudioRule()
RATE = 8000


def tone(seconds=2.0, channels=1, rate=RATE):
    one = np.sin(np.arange(int(seconds * rate)) * 0.3).astype("float32") * 0.5
    return {"array": np.stack([one * (1 - 0.5 * k) for k in range(channels)]), "sampling_rate": rate}


def test_rate_and_channels():
    audio = Audio(tone(channels=2), rule=AudioRule(rate=4000))
    (sound,) = shown_audio(audio, AudioRule(rate=16000, channels=1))
    assert (sound.samples.shape, sound.rate) == ((8000,), 4000)
    np.testing.assert_array_equal(sound.samples, samples(audio, rate=4000)[0])
    assert audio.sent.before == {"rate": 8000, "channels": 2, "seconds": 2.0}
    assert audio.sent.sent == {"rate": 4000, "channels": 1, "seconds": 2.0, "format": "samples"}
    (sound,) = shown_audio(Audio(tone()), AudioRule(channels=2))
    np.testing.assert_array_equal(sound.samples[0], sound.samples[1])


def test_a_long_recording_is_an_error_unless_it_is_to_be_cut():
    with pytest.raises(DataError, match=r"lasts 2\.00 s, longer than 0\.75 s.*long: cut"):
        shown_audio(Audio(tone()), AudioRule(max_seconds=0.75))
    audio = Audio(tone(), rule=AudioRule(max_seconds=0.75, long="cut"))
    (sound,) = shown_audio(audio, OWN)
    assert sound.samples.shape == (6000,)
    assert audio.sent.notes == ("It lasts 2.00 s, and was cut off after 0.75 s.",)
    audio = Audio(tone(channels=2), rule=AudioRule(max_seconds=0.75, long="chunk"))
    pieces = shown_audio(audio, OWN)
    assert [piece.samples.shape for piece in pieces] == [(2, 6000), (2, 6000), (2, 4000)]
    assert (audio.sent.sent["pieces"], audio.sent.sent["seconds"]) == (3, 2.0)
    assert shown_audio(Audio(tone()), AudioRule(max_seconds=2))[0].samples.shape == (16000,)


def test_an_endpoint_gets_the_same_bytes_unless_a_rule_changes_them():
    pytest.importorskip("soundfile")
    data = wav_bytes(tone()["array"], RATE)
    for rule in (OWN, AudioRule(rate=RATE, channels=1, max_seconds=60)):
        audio = Audio(data, rule=rule)
        assert [(file.data, file.mime) for file in encoded_audio(audio, OWN)] == [(data, "audio/wav")]
        facts = {"rate": RATE, "channels": 1, "seconds": 2.0}
        assert audio.sent.before == facts
        assert audio.sent.sent == {**facts, "format": "wav", "bytes": len(data)}
    audio = Audio(data, rule=AudioRule(rate=4000, max_seconds=1.5, long="chunk"))
    made = encoded_audio(audio, OWN)
    assert [samples(piece.data)[0].shape for piece in made] == [(6000,), (2000,)]
    assert audio.sent.sent["bytes"] == sum(len(piece.data) for piece in made)
    assert audio.sent.digest != ""


@pytest.mark.parametrize("channels", [None, 1])
def test_a_file_that_is_decoded_block_by_block_is_sent_as_if_it_were_decoded_whole(channels):
    pytest.importorskip("soundfile")
    n_samples = 2 * 65536 + 1000  # two blocks and a rest
    array = np.random.default_rng(1).uniform(-0.5, 0.5, (2, n_samples)).astype(np.float32)
    rule = AudioRule(channels=channels, max_seconds=10, long="chunk")
    audio = Audio(wav_bytes(array, RATE), rule=rule)
    heard = shown_audio(audio, OWN)
    made = encoded_audio(audio, OWN)
    assert [piece.data for piece in made] == [wav_bytes(sound.samples, sound.rate) for sound in heard]
    assert audio.sent.before == {"rate": RATE, "channels": 2, "seconds": n_samples / RATE}
    assert audio.sent.sent["pieces"] == 2
    assert audio.sent.digest == sent_digest(*(piece.data for piece in made))


@pytest.mark.parametrize("rate", ["fast", float("nan"), float("inf"), -1, [8000, 1]])
def test_a_sampling_rate_that_is_no_number_is_an_error(rate):
    with pytest.raises(DataError, match="has the sampling_rate"):
        shown_audio(Audio({"array": np.zeros(10), "sampling_rate": rate}), OWN)


def test_an_empty_recording_is_an_error():
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
    for source in (buffer.getvalue(), {"array": np.zeros(0), "sampling_rate": RATE}, b""):
        for show in (shown_audio, lambda audio, own: encoded_audio(audio, AudioRule(rate=RATE))):
            with pytest.raises(DataError, match="is empty"):
                show(Audio(source), OWN)
