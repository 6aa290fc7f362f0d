"""Bundles: the viewer's pages in a folder, with links that lead somewhere, and nothing that asks a server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from polymeter.api.viewing import bundle
from polymeter.core.errors import PlanError
from polymeter.store.folder import RunFolder
from polymeter.viewer import shelf as shelf_module
from polymeter.viewer.bundle import rewriting
from polymeter.viewer.bundle.places import BundlePage, FileNames, place_of
from polymeter.viewer.bundle.private import Private
from polymeter.viewer.bundle.rewriting import STATIC_POLICY, Surroundings, static_page
from polymeter.viewer.bundle.snapshot import CopiedShelf
from polymeter.viewer.bundle.target import MARKER
from polymeter.viewer.notes import leave_note
from tests.helpers.bundles import Elements, dead_links, pages, unreached
from tests.helpers.viewed_runs import HOSTILE, TASK, hostile_sample, sample, write_run
from tests.helpers.viewing import write_viewed_runs


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYMETER_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def viewed(tmp_path_factory) -> Path:
    """Runs of several kinds, with a note."""
    folder = write_viewed_runs(tmp_path_factory.mktemp("bundled") / "runs")
    leave_note(folder / "first", TASK, "row-0003", "the label is wrong", ("label",), "Ada")
    return folder


@pytest.fixture(scope="module")
def written(viewed, tmp_path_factory) -> Path:
    """A bundle of them."""
    target = tmp_path_factory.mktemp("bundle") / "site"
    bundle([viewed], target)
    return target


def two_runs(folder: Path, n: int = 6) -> Path:
    write_run(folder / "first", [sample(index) for index in range(n)], model="small")
    write_run(folder / "second", [sample(index, right=bool(index % 2)) for index in range(n)], model="large")
    return folder


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# --- every page -----------------------------------------------------------------------------------------------------


def test_every_link_leads_to_a_file_and_every_page_is_reached(written):
    assert dead_links(written) == []
    assert unreached(written) == set()


def test_nothing_asks_a_server(written):
    for path, page in pages(written):
        metas = [attributes for tag, attributes in page.found if tag == "meta" and "http-equiv" in attributes]
        assert metas == [{"http-equiv": "content-security-policy", "content": STATIC_POLICY}], path
        for tag, attributes in page.found:
            assert "style" not in attributes, (path, tag)
            assert not [name for name in attributes if name.startswith(("on", "hx-"))], (path, tag, attributes)
            assert tag != "form" or attributes == {"method": "dialog"}, path
            assert attributes.get("type") != "module", path
            if tag == "script" and attributes.get("type") != "application/json":
                assert (attributes.get("src") or "").endswith(".js"), path
    assert not list(written.rglob("htmx*"))


def test_each_kind_of_page_is_there(written):
    for name in ("index", "leaderboard", "compare", "run/first/index", "run/first/manifest"):
        assert (written / f"{name}.html").is_file(), name
    task = written / "run/first/capitals"
    assert len(list(task.glob("sample-*.html"))) == 120
    assert {path.name for path in task.glob("[!s]*")} == {"index.html", "index-2.html", "index-3.html", "plots.html"}
    assert (written / "compare/first--second/capitals/sample-3.html").is_file()
    assert "McNemar" in text(written / "compare/first--second/capitals/index.html")
    assert not list(written.rglob("*export*"))


def test_steps_lead_from_sample_to_sample(written):
    links = dict.fromkeys(
        address for _, address in Elements(text(written / "run/first/capitals/sample-5.html")).links()
    )
    assert {"sample-4.html", "sample-6.html", "index.html"} <= links.keys()
    last = {address for _, address in Elements(text(written / "run/first/capitals/sample-119.html")).links()}
    assert {"sample-118.html", "index-3.html"} <= last


def test_a_failure_leads_to_its_example(written):
    """The viewer links to the sample by its id, and leads on to its index."""
    links = {address for _, address in Elements(text(written / "run/failing/index.html")).links()}
    assert any(re.fullmatch(r"capitals/sample-\d+\.html", address) for address in links)


def test_an_unfinished_run_shows_how_far_it_was(written):
    page = text(written / "run/going/index.html")
    assert "was not complete when these pages were written" in page
    assert "10 of 40 samples" in page
    assert "last written" not in page


# --- hostile texts, and private ones --------------------------------------------------------------------------------


def test_hostile_texts_stay_texts(written):
    page = text(written / "run/hostile/capitals/sample-1.html")
    assert "&lt;script&gt;window.hacked = 1&lt;/script&gt;" in page
    for path, elements in pages(written):
        assert not [tag for tag, attributes in elements.found if tag == "svg" and "onload" in attributes], path
        assert not [attributes for tag, attributes in elements.found if tag == "img" and attributes.get("src") == "x"]
        inline = [attributes for tag, attributes in elements.found if tag == "script" and "src" not in attributes]
        assert all(attributes == {"type": "application/json"} for attributes in inline), path
    assert len(HOSTILE) == 9


@pytest.mark.parametrize("value", ["/run/first", "/static/base.css", "//evil.example/x", "/\\evil.example", "http://e"])
def test_a_text_that_looks_like_an_address_stays_a_text(value):
    around = Surroundings(lambda address: "inside.html", lambda address: None)
    page = static_page(f"<p>{value}</p><a href='{value}'>{value}</a>", around)
    assert page.startswith(f"<p>{value}</p>")
    assert value not in {address for _, address in Elements(page).links()}


def test_names_of_the_machine_its_users_and_keys_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecretkey-123456")
    runs = tmp_path / "ada" / "runs"
    write_run(
        runs / "first",
        [sample(0, explanation=f"read from {runs}/first with sk-verysecretkey-123456, and /home/grace/x.png")],
        command="polymeter run --model-args api_key=sk-other-456789 --output /home/grace/work/runs/first",
        sessions=[{"status": "complete", "host": "graces-laptop", "process": 4321}] * 2,
        include_paths=[{"path": "/home/grace/tasks"}],
    )
    bundle([runs], tmp_path / "site")
    for path, _ in pages(tmp_path / "site"):
        found = text(path)
        for private in (str(tmp_path), "grace", "laptop", "verysecret", "sk-other", "4321"):
            assert private not in found, (path, private)
    assert "polymeter run" in text(tmp_path / "site/run/first/manifest.html")


def test_the_script_of_a_list_has_no_private_texts(tmp_path, monkeypatch):
    """In small letters, at a cut, as a name or as a choice."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-VerySecretKey-123456")
    runs = tmp_path / "Ada" / "runs"
    texts = [f"{runs}/first/x.png", "sk-VerySecretKey-123456", "x" * 970 + f" {runs}/first/x.png", "plain"]
    write_run(
        runs / "first",
        [
            sample(
                index,
                target=text,
                answer=text,
                subset=(f"{runs}/{index % 2}",),
                doc={"file": f"{runs}/{index % 2}"},
                scores={("exact_match", "none"): 1.0, (f"{runs}/f1", "none"): 0.5},
            )
            for index, text in enumerate(texts * 3)
        ],
    )
    bundle([runs], tmp_path / "site")
    script = text(tmp_path / "site/run/first/capitals/samples.js")
    samples = json.loads(script.removeprefix("window.SAMPLES = ").rstrip().removesuffix(";"))
    assert samples["choices"]["Subset"]["values"] == ["runs/0", "runs/1"]
    assert any(name.startswith("runs/f1") for name in samples["metrics"])
    for private in ("/ada", "verysecret"):
        assert private not in script.lower(), private


def test_other_paths_in_samples_stay(tmp_path):
    private = Private([tmp_path / "runs"], [{"file": "/home/ada/tasks/a.yaml"}])
    assert private.hidden("cat /home/user/notes.txt /etc/passwd") == "cat /home/user/notes.txt /etc/passwd"
    assert private.hidden(f"{tmp_path}/runs/a and /home/ada/x, /home/adams/y") == "runs/a and ~/x, /home/adams/y"
    assert private.hidden("https://example.org/home/ada/x") == "https://example.org/home/ada/x"
    assert private.manifest({"file": "/mnt/disk/tasks/a.yaml", "host": "x"}) == {"file": "…/a.yaml"}


# --- options --------------------------------------------------------------------------------------------------------


def test_notes_are_included_or_not(viewed, written, tmp_path):
    sample_page = "run/first/capitals/sample-3.html"
    assert "the label is wrong" in text(written / sample_page)
    bundle([viewed / "first"], tmp_path / "site", has_notes=False)
    assert not [path for path, _ in pages(tmp_path / "site") if "the label is wrong" in text(path)]


def test_each_medium_is_copied_once(viewed, written):
    kept = {path.suffix for path in (written / "media").iterdir()}
    assert kept <= {".png", ".jpg"}
    sources = list((written / "run/drawn").rglob("sample-*.html"))
    links = {address for page in sources for name, address in Elements(text(page)).links() if name == "src"}
    assert any("media/" in address for address in links)
    assert len({path.read_bytes() for path in (written / "media").iterdir()}) == len(
        list((written / "media").iterdir())
    )


def test_without_media_pages_say_so(viewed, tmp_path):
    bundle([viewed / "drawn"], tmp_path / "site", has_media=False)
    assert not (tmp_path / "site/media").exists()
    assert dead_links(tmp_path / "site") == []
    assert "Media are not included." in text(tmp_path / "site/index.html")
    for page in (tmp_path / "site").rglob("sample-*.html"):
        assert "media not included" in text(page)
        assert not [attributes for tag, attributes in Elements(text(page)).found if tag == "img"]


def test_samples_are_limited_and_the_pages_say_so(tmp_path):
    found = bundle([two_runs(tmp_path / "runs", 60)], tmp_path / "site", limit_samples=7)
    assert found.n_left_out == 106
    assert dead_links(tmp_path / "site") == []
    folder = tmp_path / "site/run/first/capitals"
    assert len(list(folder.glob("sample-*.html"))) == 7
    assert "The first 7 of 60 samples of Capitals are included." in text(folder / "index.html")
    assert "106 samples are left out" in text(tmp_path / "site/index.html")
    compared = tmp_path / "site/compare/first--second/capitals"
    assert {int(path.stem.split("-")[1]) for path in compared.glob("sample-*.html")} == {*range(7)}


def test_a_bundle_of_too_many_samples_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("polymeter.viewer.bundle.plan._MOST_PAGES", 10)
    with pytest.raises(PlanError, match=r"would have 12 pages of samples; at most 10"):
        bundle([two_runs(tmp_path / "runs")], tmp_path / "site")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "runs"]


def test_pairs_are_limited_and_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("polymeter.viewer.bundle.plan.MOST_PAIRS", 1)
    runs = two_runs(tmp_path / "runs")
    write_run(runs / "third", [sample(index) for index in range(6)])
    bundle([runs], tmp_path / "site")
    assert "2 more pairs of runs share tasks" in text(tmp_path / "site/compare.html")
    assert len(list((tmp_path / "site/compare").iterdir())) == 1


def four_runs(folder: Path) -> Path:
    """Runs of which the fourth answered other samples, so that it can be compared with none."""
    two_runs(folder)
    write_run(folder / "third", [sample(n, right=n < 3) for n in range(6)], started="2026-05-05T10:00:00+00:00")
    other = [sample(n, id=f"other-{n}") for n in range(6)]
    write_run(folder / "fourth", other, started="2026-05-06T10:00:00+00:00")
    return folder


def test_three_runs_are_compared(tmp_path):
    bundle([four_runs(tmp_path / "runs")], tmp_path / "site")
    compared = tmp_path / "site/compare"
    pairs = {"first--second", "first--third", "second--third"}
    assert {path.name for path in compared.iterdir()} == {*pairs, "first--second--third"}
    listed = text(tmp_path / "site/compare.html")
    assert "first, second and third</strong>" in listed
    assert "3 comparisons cannot be made" in listed
    page = text(compared / "first--second--third/capitals/index.html")
    assert page.count("<h4>") == 3 * 6
    assert "Holm" in page
    assert "first, second and third" in text(compared / "first--third/capitals/index.html")
    links = {address for _, address in Elements(page).links()}
    assert {f"../../{pair}/capitals/index.html" for pair in pairs} <= links
    one = text(compared / "first--second--third/capitals/sample-3.html")
    assert one.count('<section class="column"') == 3
    assert dead_links(tmp_path / "site") == []
    assert unreached(tmp_path / "site") == set()


def test_triples_are_limited_to_those_of_the_newest_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("polymeter.viewer.bundle.plan.MOST_TRIPLES", 1)
    for number in range(4):
        samples = [sample(index, right=index < number) for index in range(4)]
        write_run(tmp_path / "runs" / f"run-{number}", samples, started=f"2026-05-0{number + 1}T10:00:00+00:00")
    bundle([tmp_path / "runs"], tmp_path / "site")
    assert "3 more triples of runs share tasks" in text(tmp_path / "site/compare.html")
    names = [path.name for path in (tmp_path / "site/compare").iterdir()]
    assert [name for name in names if name.count("--") == 2] == ["run-1--run-2--run-3"]


# --- the folder -----------------------------------------------------------------------------------------------------


def test_names_of_files_are_safe_and_do_not_collide(tmp_path):
    names = FileNames()
    tasks = ["a", "A", "a b", "a-b", "con", "..", "ß", "x" * 300, "x" * 301, "a/b", "nul", "_a", "a."]
    files = [names.file(BundlePage("samples", ("r",), task)) for task in tasks]
    assert len({file.lower() for file in files}) == len(tasks)
    for file in files:
        folder = file.split("/")[2]
        assert re.fullmatch(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?", folder), folder
        assert len(folder) < 64
        assert folder not in ("con", "nul")
    assert files == [names.file(BundlePage("samples", ("r",), task)) for task in tasks]


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("/", BundlePage("runs")),
        ("/?page=2", BundlePage("runs", number=2)),
        ("/?q=x", None),
        ("/run/a/samples?task=t&page=2", BundlePage("samples", ("a",), "t", 2)),
        ("/run/a/samples?task=t&state=wrong", None),
        ("/run/a/sample?task=t&state=wrong&index=4", BundlePage("sample", ("a",), "t", 4)),
        ("/run/a/sample.json?index=4", None),
        ("/run/a/export.csv", None),
        ("/compare", BundlePage("comparisons")),
        ("/compare?run=a&run=b&task=t", BundlePage("comparison", ("a", "b"), "t")),
        ("/compare?run=a&run=b&run=c&task=t&page=2", BundlePage("comparison", ("a", "b", "c"), "t", 2)),
        ("/compare?run=a&run=b&task=t&show=differ", None),
        ("/run/a/sample?index=x", None),
        ("/nothing", None),
    ],
)
def test_addresses_of_pages(address, place):
    assert place_of(address) == place


def test_another_folder_is_not_overwritten(tmp_path):
    runs = two_runs(tmp_path / "runs")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/mine.txt").write_text("mine")
    with pytest.raises(PlanError, match="is not empty"):
        bundle([runs], tmp_path / "site")
    with pytest.raises(PlanError, match="is a file"):
        bundle([runs], tmp_path / "site/mine.txt")
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_an_earlier_bundle_is_replaced_as_a_whole(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr("polymeter.viewer.bundle.target._exchanged", lambda first, second: False)
    (tmp_path / "site").mkdir()  # an empty folder is no obstacle
    runs = two_runs(tmp_path / "runs")
    bundle([runs], tmp_path / "site")
    bundle([runs / "first"], tmp_path / "site")
    assert json.loads(text(tmp_path / "site" / MARKER))["runs"] == ["first"]
    assert not (tmp_path / "site/run/second").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "runs", "site"]


def test_a_killed_writer_leaves_the_earlier_bundle(tmp_path):
    runs = two_runs(tmp_path / "runs")
    bundle([runs / "first"], tmp_path / "site")
    before = text(tmp_path / "site" / MARKER)
    code = (
        "import os, sys; from pathlib import Path; from polymeter.api.viewing import bundle;"
        "from polymeter.viewer.bundle import writing;"
        "writing._Writer.write = lambda self: os._exit(9);"
        "bundle([Path(sys.argv[1])], Path(sys.argv[2]))"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(runs), str(tmp_path / "site")], env={**os.environ})
    assert ended.returncode == 9
    assert text(tmp_path / "site" / MARKER) == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".site")]
    bundle([runs], tmp_path / "site")
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".site")]


def test_a_bundle_that_was_moved_away_by_a_killed_writer_comes_back(tmp_path):
    runs = two_runs(tmp_path / "runs")
    bundle([runs], tmp_path / "site")
    (tmp_path / "site").rename(tmp_path / ".site.earlier-bundle")
    with pytest.raises(PlanError, match="No run was found"):
        bundle([tmp_path / "cache"], tmp_path / "site")
    assert (tmp_path / "site" / MARKER).is_file()


def test_an_error_leaves_nothing_behind(tmp_path, monkeypatch):
    runs = two_runs(tmp_path / "runs")
    bundle([runs / "first"], tmp_path / "site")
    before = text(tmp_path / "site" / MARKER)
    monkeypatch.setattr("polymeter.viewer.bundle.writing._Writer.write", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bundle([runs], tmp_path / "site")
    assert text(tmp_path / "site" / MARKER) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "runs", "site"]


def test_a_hostile_run_alone(tmp_path):
    write_run(tmp_path / "runs" / "a b", [hostile_sample(n) for n in range(2)])
    bundle([tmp_path / "runs"], tmp_path / "site")
    assert dead_links(tmp_path / "site") == []


@pytest.mark.parametrize(
    "text",
    [
        "<!doctype html><html lang=en><head></head><body><p class=\"a b\">x &amp; y<br>z</p></body></html>",
        "<p title='a \"b\"' hidden data-x=1>a</p><input type=checkbox>",
        "<svg viewBox=\"0 0 1 1\"><path d=\"M0 0\"/></svg>",
        "<script type=\"application/json\">{\"a\": \"b > c\"}</script><!-- a comment -->",
        "<style>a > b {}</style><a href='/x'>x</a>",
        "<p>1 < 2, not a tag</p><a href=\"/x\" download>y</a>",
        "<form action=\"/x\"><select name=a><option value=\"/run/1\">b</select><p>left</p></form><ul><li>a<li>b</ul>",
        "<a href=/x>unquoted</a><P>upper</P><img src=\"/x\" alt>",
    ],
)  # fmt: skip
def test_pages_are_read_as_the_parser_of_python_reads_them(text, monkeypatch):
    around = Surroundings(lambda address: "inside.html", lambda address: None)
    fast = static_page(text, around)
    monkeypatch.setattr(rewriting, "_tokens", lambda text: None)
    assert fast == static_page(text, around)


def test_single_samples_are_read_ahead(tmp_path, monkeypatch):
    run = write_run(tmp_path / "one", [sample(n) for n in range(60)])
    shelf = CopiedShelf([tmp_path])
    opened = []
    read = shelf_module.read_some
    monkeypatch.setattr(shelf_module, "read_some", lambda *words: opened.append(words[2]) or read(*words))
    found = [shelf.read_some(RunFolder(run), TASK, [n])[0]["id"] for n in range(60)]
    assert found == [f"row-{n:04}" for n in range(60)]
    assert len(opened) == 3
    assert [one["index"] for one in shelf.read_some(RunFolder(run), TASK, [7])] == [7]
    assert shelf.read_some(RunFolder(run), TASK, [99]) == []


def test_the_lists_of_a_comparison_read_all_of_its_samples(tmp_path, monkeypatch):
    """Its pages of single samples, which come after the whole list, open no journal."""
    opened = []
    read = shelf_module.read_some
    monkeypatch.setattr(shelf_module, "read_some", lambda *words: opened.append(words[2]) or read(*words))
    bundle([two_runs(tmp_path / "runs", 45)], tmp_path / "site")
    assert len(list((tmp_path / "site/compare/first--second/capitals").glob("sample-*.html"))) == 45
    of_comparison = 2 * 3  # two runs, three pages of the list
    of_runs = 2 * 2  # for each run a page of the list, and one sample that is read ahead of its neighbours
    assert len(opened) <= of_comparison + of_runs
