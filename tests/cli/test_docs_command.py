"""``polymeter docs`` as a user types it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from polymeter.cli.main import main
from tests.e2e.kit import capitals

ROOT = Path(__file__).parents[2]
HEAVY = ("datasets", "pandas", "pyarrow", "torch", "transformers", "PIL", "huggingface_hub")


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return capitals(tmp_path / "home", 2)


def test_docs_writes_both_languages_where_it_says(home, tmp_path, capsys):
    assert main(["docs", "capitals", "--include-path", str(home)]) == 0
    said = capsys.readouterr().out
    assert said == (
        "1 benchmark, 1 with a sample\npages  docs/benchmarks/en/index.md\npages  docs/benchmarks/zh/index.md\n"
    )
    pages = sorted(str(file.relative_to(tmp_path)) for file in (tmp_path / "docs").rglob("*.md"))
    assert pages == [
        f"docs/benchmarks/{language}/{name}.md" for language in ("en", "zh") for name in ("capitals", "index")
    ]


def test_docs_writes_one_language(home, tmp_path):
    assert main(["docs", "capitals", "--include-path", str(home), "--language", "zh", "--output", "x"]) == 0
    assert [folder.name for folder in (tmp_path / "x").iterdir()] == ["zh"]
    assert "en/" not in (tmp_path / "x" / "zh" / "capitals.md").read_text(encoding="utf-8")
    assert main(["docs", "--language", "de"]) == 2


def test_docs_chooses_by_tag(home, tmp_path):
    assert main(["docs", "--tag", "reading", "--no-samples", "--output", "x"]) == 0
    names = {file.stem for file in (tmp_path / "x" / "en").iterdir()}
    assert {"demo_signs", "demo_page"} <= names
    assert not {"capitals", "mmlu_pro", "demo_vlm_choice"} & names


def test_docs_names_what_is_unknown(home, capsys):
    assert main(["docs", "capitols", "--include-path", str(home)]) == 2
    assert "Did you mean 'capitals'" in capsys.readouterr().err
    assert main(["docs", "--tag", "reeding"]) == 2
    assert "Did you mean 'reading'" in capsys.readouterr().err


def test_docs_ends_with_1_where_something_is_broken(home, capsys):
    (home / "torn.yaml").write_text("task: torn\nnonsense: 1\ndataset_path: json\n")
    assert main(["docs", "--include-path", str(home)]) == 1
    assert "torn.yaml:2: There is no task field 'nonsense'" in capsys.readouterr().err


def test_docs_imports_nothing_that_it_does_not_need(home):
    """Nor does it run code that nobody named."""
    (home / "hooks_adapter.py").write_text("raise SystemExit(3)\nBenchmark.register(name='hooks', dataset_id='a/b')\n")
    script = (
        "import sys\nfrom polymeter.cli.main import main\n"
        f"assert main(['docs', '--include-path', {str(home)!r}]) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stderr


def test_the_script_of_the_guide_is_the_command(home, tmp_path):
    script = [sys.executable, str(ROOT / "docs" / "generate_dataset_md.py"), "--output", "pages", "demo_signs"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Read the sign." in (tmp_path / "pages" / "en" / "demo_signs.md").read_text(encoding="utf-8")
