"""Files of images that several processes write into one folder."""

import subprocess
import sys
from pathlib import Path

import pytest

WRITES = """
import os, sys
from pathlib import Path
from polymeter.tasks.table.files.image_files import write_images
from tests.helpers.toy_datasets import png_base64

def held_up(finish):
    def finish_later(*arguments):
        print("about to finish", flush=True)
        sys.stdin.readline()
        return finish(*arguments)
    return finish_later

os.link, Path.replace = held_up(os.link), held_up(Path.replace)
(file,) = write_images(1, png_base64(sys.argv[2], (8, 8)), None, Path(sys.argv[1]))
print(file, flush=True)
"""


@pytest.mark.parametrize("other", ["red", "blue"])
def test_each_of_two_processes_is_given_its_own_image(tmp_path: Path, other: str) -> None:
    slow, fast = (
        subprocess.Popen(
            [sys.executable, "-c", WRITES, str(tmp_path), colour],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for colour in ("red", other)
    )
    assert slow.stdout is not None
    assert slow.stdout.readline() == "about to finish\n"
    theirs = Path(fast.communicate("\n" * 3)[0].splitlines()[-1])
    content = theirs.read_bytes()
    own = Path(slow.communicate("\n" * 3)[0].splitlines()[-1])
    assert theirs.read_bytes() == content
    assert (own == theirs) is (other == "red")
    assert (own.read_bytes() == content) is (other == "red")
    assert {file.name for file in tmp_path.iterdir()} == {own.name, theirs.name}
