"""Subtitles in both formats, whole and between frames."""

import pytest

from polymeter.core.errors import DataError
from polymeter.data.showing.subtitles import Subtitle, interleaved, on_screen, read_subtitles, whole, within

SRT = """\ufeff1\r
00:00:01,000 --> 00:00:02,500\r
<i>Hello</i> &amp; welcome\r
to the {\\an8}show.\r
\r
2\r
00:00:03,000 --> 00:00:04,000\r
Second\r
3\r
00:01:00,250 --> 00:01:02,000\r
Third\r
"""
VTT = """WEBVTT - a title

NOTE made by hand

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.500 align:start position:0%
<v Anna>Hello <00:01.500>there

01:00:00.000 --> 01:00:01.000
Late
"""


def test_srt():
    assert read_subtitles(SRT) == [
        Subtitle(1.0, 2.5, "Hello & welcome to the show."),
        Subtitle(3.0, 4.0, "Second"),
        Subtitle(60.25, 62.0, "Third"),
    ]


def test_webvtt(tmp_path):
    file = tmp_path / "a.vtt"
    file.write_text(VTT, encoding="utf-8")
    expected = [Subtitle(1.0, 2.5, "Hello there"), Subtitle(3600.0, 3601.0, "Late")]
    assert read_subtitles(file) == read_subtitles(str(file)) == read_subtitles(VTT) == expected


def test_whole_and_interleaved():
    cues = [Subtitle(0, 1, "a"), Subtitle(1, 3, "b"), Subtitle(3, 4, "b"), Subtitle(8, 9, "c")]
    assert whole(cues) == "a\nb\nc"
    assert interleaved(cues, [0.0, 2.1, 4.0]) == ["", "a\nb", "b", "c"]
    assert interleaved([Subtitle(0, 1, "before")], [5.0]) == ["before", ""]
    assert interleaved([], [1.0]) == ["", ""]
    assert interleaved([Subtitle(0, 2, "on it")], [0.0, 1.0, 2.0]) == ["", "", "on it", ""]
    assert on_screen(cues, [0.5, 1.0, 2.0, 4.0]) == cues[:2]
    assert within(cues, 1.0, 8.0) == cues[1:3]
    assert within(cues, None, None) == cues


def test_bad_files(tmp_path):
    assert read_subtitles("") == read_subtitles("WEBVTT\n\nNOTE nothing\n") == []
    with pytest.raises(DataError, match="have no times"):
        read_subtitles("1\nsome words\n")
    with pytest.raises(DataError, match="The time of a subtitle is"):
        read_subtitles("1\nsoon --> later\nwords\n")
    with pytest.raises(DataError, match="does not exist"):
        read_subtitles(tmp_path / "none.srt")
    (tmp_path / "odd.srt").write_bytes(b"\xff\xfe\xfa1")
    with pytest.raises(DataError, match="UTF-8"):
        read_subtitles(tmp_path / "odd.srt")
