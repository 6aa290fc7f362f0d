"""Documentation pages: what they say, what they never let through, and that making them runs nothing unasked."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from polymeter.api.offline import offline
from polymeter.catalog.pages.facts import Hider
from polymeter.catalog.pages.judging import judge_need
from polymeter.catalog.pages.markdown import code, escape, fence, paragraphs
from polymeter.catalog.pages.texts import LANGUAGES, read_words
from polymeter.catalog.pages.writing import file_names, write_pages
from polymeter.core.errors import PlanError
from tests.e2e.kit import capitals

PAGES = Path(__file__).with_name("catalog_pages")
NASTY = [
    "<script>alert(1)</script>",
    "**bold** _it_ `code` [a](javascript:x) ![b](c) ~~no~~ $x$",
    "a | b \\| c",
    "# head",
    "- item",
    "1. one",
    "> quote",
    "&lt;b&gt;",
    "``` fence",
    "a\\",
    "trailing `",
    "=== rule",
    "\u202eturned",
]

ADAPTER = """\
raise RuntimeError("nobody asked to run this")
NAMES = ["one", "two"]

@Benchmark.register(
    name="quiz",
    pretty_name="The | Quiz",
    tags=["MCQ", "a`b"],
    description=\"\"\"A <b>quiz</b>.

See https://example.org/a_b_c.\"\"\",
    dataset_id="org/quiz",
    subset_list=NAMES,
    metric_list=make_metrics(),
    few_shot_num=2,
    eval_split="test",
    prompt_template="Q: {query}\\n```\\nA:",
)
class Quiz(DataAdapter):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.llm_as_a_judge = True
"""

GOOD_ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter

@Benchmark.register(name="spelling", dataset_id="org/spelling", subset_list=["default"], eval_split="test",
                    metric_list=["AverageAccuracy"], prompt_template="Spell {query}.")
class Spelling(DataAdapter):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(self.prompt_template.format(query=input_d["word"]))
    def get_gold_answer(self, input_d):
        return input_d["word"]
    def match(self, gold, pred):
        return float(gold == pred)
"""


def render(text: str) -> str:
    return MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)


def visible(html: str) -> str:
    from html import unescape

    return unescape(re.sub(r"<[^>]*>", "", html))


def dead_links(folder: Path) -> list[str]:
    dead = []
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        html = MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text)
        for target in re.findall(r'href="([^"]+)"', html):
            if target.startswith("https://"):
                continue
            name, _, anchor = unquote(target).partition("#")
            file = page.parent / name
            if not file.is_file() or (anchor and f'<a id="{anchor}">' not in file.read_text(encoding="utf-8")):
                dead.append(f"{page.name}: {target}")
    return dead


@pytest.fixture
def home(tmp_path) -> Path:
    return capitals(tmp_path / "home", 3)


@pytest.fixture
def page(tmp_path, home):
    """Writes pages and gives the text of one."""

    def make(name: str, *patterns: str, language: str = "en", **rest) -> str:
        write_pages(patterns, include_paths=[home], output=tmp_path / "out", languages=[language], **rest)
        return (tmp_path / "out" / language / f"{name}.md").read_text(encoding="utf-8")

    return make


@pytest.mark.parametrize("text", NASTY)
def test_a_text_reads_as_it_is_written_wherever_it_stands(text):
    said = " ".join(text.replace("\u202e", "").split())
    plain = render(escape(text))
    assert re.fullmatch(r"<p>[^<]*</p>\n", plain)
    assert visible(plain).strip() == said
    assert visible(render(code(text))).strip() == said
    assert re.fullmatch(r"<p><code>[^<]*</code></p>\n", render(code(text)))
    assert visible(render(fence(f"{text}\nnext"))).strip() == f"{text.replace(chr(0x202E), '')}\nnext"
    row = render(f"| x | y |\n| --- | --- |\n| {escape(text)} | {code(text, in_table=True)} |")
    assert row.count("<td>") == 2
    assert [visible(cell).strip() for cell in re.findall(r"<td>(.*?)</td>", row)] == [said, said]


def test_only_addresses_of_the_web_become_links():
    html = render(escape("See https://example.org/a_b(c), [x](javascript:y) and file:///etc/passwd."))
    assert re.findall(r'href="([^"]+)"', html) == ["https://example.org/a_b"]


def test_paragraphs_stay_paragraphs():
    assert render(paragraphs("one\ntwo\n\n<p>three")) == "<p>one<br />\ntwo</p>\n<p>&lt;p&gt;three</p>\n"


def test_both_languages_say_everything():
    words = read_words()
    assert tuple(words) == LANGUAGES
    assert words["en"].keys() == words["zh"].keys()
    fields = [{key: sorted(re.findall(r"{\w+}", text)) for key, text in words[name].items()} for name in LANGUAGES]
    assert fields[0] == fields[1]


def test_file_names_are_safe_and_differ_without_case():
    names = ["a", "A", "index", "../x", "a/b", "a b", "…", "." * 3, "n" * 300]
    files = file_names(names)
    assert len({file.lower() for file in files.values()}) == len(names)
    assert "index.md" not in files.values()
    assert all(re.fullmatch(r"[\w-][\w.-]*\.md", file) and len(file) < 120 for file in files.values())


def test_a_page_tells_what_the_configuration_says(page):
    text = page("capitals")
    assert "| Dataset | `csv` |" in text
    assert "| Splits | `test_split`: `test` |" in text
    assert "| Output types | `generate_until` |\n| Asks the model to | generate text |" in text
    assert "| Metrics | `exact_match` |" in text
    assert "| File | `capitals.yaml` |" in text
    assert "`doc_to_text`\n\n```text\nWhat is the capital of {{country}}?\n```" in text
    assert "polymeter run --model MODEL --tasks capitals --include-path FOLDER" in text


def test_a_sample_is_shown_of_what_is_named_only(page):
    unnamed = page("capitals")
    assert "No sample is shown" in unnamed
    assert "polymeter docs capitals --include-path FOLDER" in unnamed
    named = page("capitals", "cap*")
    assert "Sample `0` of 3" in named
    assert "Role: `user`\n\n```text\nWhat is the capital of France 0?\n```" in named
    assert "→ `generate(max_new_tokens=8, temperature=0.0)`" in named
    assert "No sample is shown" in page("capitals", "cap*", has_samples=False)


@pytest.mark.needs_system("evalscope")
def test_an_adapter_is_described_without_running_it(page, home):
    (home / "quiz_adapter.py").write_text(ADAPTER)
    text = page("quiz")
    assert text.startswith("# The \\| Quiz\n\n`quiz`\n")
    assert "<p>A &lt;b&gt;quiz&lt;/b&gt;.</p>" in render(text)
    assert "<https://example.org/a_b_c>" in text
    assert "| Tags | `MCQ`, ``a`b`` |" in text
    assert "| Subsets | `one`, `two` |" in text
    assert "| Metrics | ? (known only when its code runs: `make_metrics()`) |" in text
    assert "| Few-shot examples | `2` |" in text
    assert "| Judge | needed |" in text
    assert "--tasks quiz --include-path FOLDER --judge JUDGE" in text
    assert "````text\nQ: {query}\n```\nA:\n````" in text


@pytest.mark.needs_system("evalscope")
def test_chinese_pages_hold_the_same_words_of_the_benchmark(page, home):
    (home / "quiz_adapter.py").write_text(ADAPTER)
    text = page("quiz", language="zh")
    assert "| 数据集 | `org/quiz` |" in text
    assert "| 裁判模型 | 需要 |" in text
    assert "````text\nQ: {query}" in text


@pytest.mark.needs_system("evalscope")
def test_an_adapter_whose_data_is_here_shows_a_sample(page, home):
    (home / "spelling_adapter.py").write_text(GOOD_ADAPTER)
    (home / "words").mkdir()
    (home / "words" / "test.jsonl").write_text('{"word": "cat"}\n{"word": "dog"}\n')
    assert "```text\nSpell cat.\n```" in page("spelling", "spelling", data={"org/spelling": str(home / "words")})


@pytest.mark.needs_system("evalscope")
def test_data_that_is_not_here_is_no_fault(tmp_path, home):
    (home / "spelling_adapter.py").write_text(GOOD_ADAPTER)
    (home / "hub.yaml").write_text(
        "task: hub\ndataset_path: org/data\ntest_split: test\ndoc_to_text: question\ndoc_to_target: answer\n"
    )
    written = write_pages(["spelling", "hub"], include_paths=[home], output=tmp_path / "out")
    assert written.problems == ()
    hub = (tmp_path / "out" / "en" / "hub.md").read_text()
    assert "is not on this machine" in hub
    assert "polymeter docs hub --include-path FOLDER --data org/data=FOLDER" in hub
    spelling = (tmp_path / "out" / "en" / "spelling.md").read_text()
    assert "Dataset org/spelling of ModelScope, revision master, is not on this machine" in spelling
    assert "--data org/spelling=FOLDER" in spelling


@pytest.mark.needs_system("evalscope")
def test_a_missing_package_is_no_fault(tmp_path, home):
    (home / "spelling_adapter.py").write_text("import no_such_package_at_all\n" + GOOD_ADAPTER)
    written = write_pages(["spelling"], include_paths=[home], output=tmp_path / "out")
    assert written.problems == ()
    text = (tmp_path / "out" / "en" / "spelling.md").read_text()
    assert "| Packages its code needs | `no_such_package_at_all` |" in text
    assert "no_such_package_at_all" in text.partition("## One sample")[2]


@pytest.mark.needs_system("evalscope")
def test_broken_benchmarks_are_listed_and_harm_no_other(tmp_path, home):
    (home / "quiz_adapter.py").write_text(ADAPTER)
    (home / "torn_adapter.py").write_text("@Benchmark.register(\n")
    (home / "typo.yaml").write_text(
        (home / "capitals.yaml").read_text().replace("capitals\n", "typo\ndoc_to_txt: x\n", 1)
    )
    (home / "again.yaml").write_text((home / "typo.yaml").read_text().replace("typo", "twice"))
    (home / "third.yaml").write_text((home / "typo.yaml").read_text().replace("typo", "twice"))
    written = write_pages(include_paths=[home], output=tmp_path / "out")
    found = {problem.where: problem.message for problem in written.problems}
    assert set(found) == {"typo", "twice", "torn_adapter.py:1"}
    assert "typo.yaml:2: There is no task field 'doc_to_txt'. Did you mean 'doc_to_text'?" in found["typo"]
    assert "Two files define 'twice'" in found["twice"]
    index = (tmp_path / "out" / "en" / "index.md").read_text()
    assert "[✗](typo.md#problems)" in index
    assert "- `torn_adapter.py:1`: This is not valid Python" in index
    assert "cannot be used" in (tmp_path / "out" / "en" / "typo.md").read_text()
    assert (tmp_path / "out" / "en" / "capitals.md").is_file()
    assert dead_links(tmp_path / "out") == []
    (named,) = write_pages(["quiz", "capitals"], include_paths=[home], output=tmp_path / "out").problems
    assert (named.where, "nobody asked to run this" in named.message) == ("quiz", True)


def test_all_links_lead_somewhere(tmp_path, home):
    (home / "odd.yaml").write_text(
        (home / "capitals.yaml").read_text().replace("capitals\n", "'odd | näme/x'\ntag: [t|u, '`']\n", 1)
    )
    (home / "all.yaml").write_text("group: both\ntask: [capitals, 'odd | näme/x']\n")
    written = write_pages(["both"], include_paths=[home], output=tmp_path / "out")
    assert (written.n_benchmarks, written.n_samples) == (2, 2)
    assert {file.name for file in (tmp_path / "out" / "zh").iterdir()} == {
        "index.md",
        "both.md",
        "capitals.md",
        "odd-näme-x.md",
    }
    assert dead_links(tmp_path / "out") == []
    group = (tmp_path / "out" / "en" / "both.md").read_text()
    assert "- [`capitals`](capitals.md)" in group
    html = render((tmp_path / "out" / "en" / "index.md").read_text())
    assert html.count("<tr>") == 4
    assert "<code>t|u</code>" in html.replace("&#124;", "|")


def test_pages_are_the_same_bytes_on_every_machine(tmp_path):
    made = []
    for place in ("here", "there/deep"):
        home = capitals(tmp_path / place / "home", 2)
        (home / "far.yaml").write_text(
            f"task: far\ndataset_path: {tmp_path / place}/elsewhere/data\ntest_split: test\ndoc_to_text: a\n"
            f"doc_to_target: b\ndataset_kwargs: {{data_dir: {home}/inside}}\n"
        )
        out = tmp_path / place / "out"
        write_pages(["capitals", "far"], include_paths=[home], output=out)
        made.append({file.relative_to(out): file.read_bytes() for file in sorted(out.rglob("*.md"))})
    assert made[0] == made[1]
    text = b"".join(made[0].values())
    assert b"/data`" in text
    assert str(tmp_path).encode() not in text


def test_pages_of_each_format_are_the_same_bytes_as_ever(tmp_path, home):
    """The pages in ``catalog_pages`` were written before they came from templates."""
    text = (home / "capitals.yaml").read_text()
    (home / "odd.yaml").write_text(text.replace("capitals\n", "'odd | name/x'\ntag: [t|u, '`']\n", 1))
    (home / "both.yaml").write_text("group: both\ntask: [capitals, 'odd | name/x']\n")
    (home / "typo.yaml").write_text(text.replace("capitals\n", "typo\ndoc_to_txt: x\n", 1))
    (home / "long.yaml").write_text(text.replace("capitals\n", f"long\ndescription: {'word ' * 1300}\n", 1))
    (home / "hub.yaml").write_text(
        "task: hub\ndataset_path: org/data\ntest_split: test\ndoc_to_text: question\ndoc_to_target: answer\n"
    )
    write_pages(["both", "typo", "demo_edit"], include_paths=[home], output=tmp_path / "named")
    write_pages(["hub", "long"], include_paths=[home], output=tmp_path / "unasked", languages=["en"], has_samples=False)
    kept = {file.relative_to(PAGES): file.read_bytes() for file in PAGES.rglob("*.md")}
    assert {file: (tmp_path / file).read_bytes() for file in kept} == kept


def test_places_are_said_without_the_folders_of_this_machine(tmp_path):
    hider = Hider([Path("/lib/polymeter/library")], [tmp_path])
    assert hider.hide(f"{tmp_path}/a/b.yaml:3: no /opt/x/y.csv") == "a/b.yaml:3: no …/y.csv"
    assert hider.hide("/lib/polymeter/library/demo/demo.yaml") == "polymeter/library/demo/demo.yaml"
    assert hider.hide("https://example.org/a/b and </s> and one/two/three") == (
        "https://example.org/a/b and </s> and one/two/three"
    )
    assert hider.hide_in({"a": ["/home/me/data", "</s>", 3, "org/name"]}) == {"a": ["…/data", "</s>", 3, "org/name"]}


@pytest.mark.parametrize(
    ("source", "need"),
    [
        ("def process(doc, results):\n    return {}\n", "no"),
        ("from lmms_eval.llm_judge import get_server\n", "possible"),
        ("import polymeter.judge\n", "possible"),
        ("from evalscope.metrics import LLMJudge\n", "possible"),
        ("class A:\n    def llm_match(self): ...\n", "possible"),
        ("class A:\n    llm_as_a_judge = True\n", "yes"),
        ("class A:\n    llm_as_a_judge = False\n", "no"),
        ("def broken(:\n", "no"),
    ],
)
def test_whether_a_judge_is_needed_is_read_from_the_code(tmp_path, source, need):
    (tmp_path / "code.py").write_text(source)
    assert judge_need("task", {}, [tmp_path / "code.py", tmp_path / "gone.py"]) == need


def test_of_several_classes_in_a_file_only_the_registered_one_counts(tmp_path):
    register = "@Benchmark.register(name={!r}, dataset_id='x')\nclass {}(DataAdapter):\n    pass\n"
    flagged = "class B(DataAdapter):\n    def __init__(self):\n        self.llm_as_a_judge = True\n"
    (tmp_path / "code.py").write_text(register.format("one", "A") + register.format("two", "B") + flagged)
    assert judge_need("one", {}, [tmp_path / "code.py"]) == "no"
    assert judge_need("two", {}, [tmp_path / "code.py"]) == "yes"
    assert judge_need("one", {"llm_as_a_judge": True}, []) == "yes"


def test_nothing_connects_while_offline():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with offline():
            with pytest.raises(OSError, match="without the network"):
                socket.create_connection(server.getsockname(), timeout=5)
            with socket.socket() as client, pytest.raises(OSError, match="without the network"):
                client.connect(server.getsockname())
        socket.create_connection(server.getsockname(), timeout=5).close()


def test_an_unknown_language_is_refused(tmp_path):
    with pytest.raises(PlanError, match="no pages in the language 'de'"):
        write_pages(output=tmp_path, languages=["de"])
