"""``is_offline``: nothing is fetched for data; what lies on this machine is used."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from polymeter import evaluate
from polymeter.core.errors import DataError
from tests.helpers.file_server import Reply, serve

TABLE = b"index\tprompt\n1\ta red circle\n2\tone green square\n"
SOURCE = """\
from ulmeval.dataset.text_base import TextBaseDataset


class Remote(TextBaseDataset):
    TYPE = "T2I"
    DATASET_URL = {{"Remote": "{url}/Remote.tsv"}}
    DATASET_MD5 = {{"Remote": "{md5}"}}

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        return {{"drawn": len(prediction) == 1}}
"""


@pytest.mark.needs_system("ulmeval")
def test_offline_fetches_nothing_and_uses_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    with serve({"/Remote.tsv": Reply(TABLE)}) as server:
        source = tmp_path / "remote.py"
        source.write_text(SOURCE.format(url=server.url, md5=hashlib.md5(TABLE).hexdigest()))
        with pytest.raises(DataError, match="offline"):
            evaluate("mock", str(source), is_offline=True, output=tmp_path / "refused")
        assert not server.asked
        assert evaluate("mock", str(source), output=tmp_path / "fetched").value("Remote", "drawn") == 1.0
        assert server.asked["/Remote.tsv"] == 1
        again = evaluate("mock", str(source), is_offline=True, output=tmp_path / "kept")
        assert again.value("Remote", "drawn") == 1.0
        assert server.asked["/Remote.tsv"] == 1
    assert "HF_HUB_OFFLINE" not in os.environ
