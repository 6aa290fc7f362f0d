"""What the viewer's pages say, what they link to, and that nothing of a run becomes markup."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from polymeter.store.folder import RunFolder
from polymeter.store.journal_writer import JournalWriter
from tests.helpers.viewed_runs import HOSTILE, TASK, hostile_sample, sample, write_run

SECOND = "nested-second"
ALLOWED_SCRIPTS = re.compile(r"/static/[\w./-]+\.js")


class Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def second(client) -> str:
    return re.search(rf"/run/({SECOND}-\w+)", client.get("/").text)[1]


def addresses(client) -> list[str]:
    key = second(client)
    pair = f"run=first&run={key}"
    return [
        *("/", "/leaderboard", "/compare", f"/compare?{pair}", f"/compare/summary?{pair}"),
        f"/compare/sample?{pair}&index=4",
        *(
            f"/run/{run}{page}"
            for run in ("first", "failing", "hostile")
            for page in ("", "/samples", "/plots", "/manifest")
        ),
        *(f"/run/{run}/sample?index=1" for run in ("first", "failing", "hostile")),
        *("/run/first/progress", "/run/first/progress/short", f"/run/first/manifest?against={key}"),
    ]


def test_every_page_can_be_shown_and_holds_no_script_or_style_of_its_own(client):
    for path in addresses(client):
        answer = client.get(path)
        assert answer.status_code == 200, path
        for tag, attributes in Elements(answer.text).found:
            assert "style" not in attributes, (path, tag)
            assert not [name for name in attributes if name.startswith("on")], (path, tag, attributes)
            if tag == "script" and attributes.get("type") != "application/json":
                assert ALLOWED_SCRIPTS.fullmatch(attributes.get("src") or ""), (path, attributes)
            for name in ("href", "src", "action", "formaction", "hx-get"):
                address = attributes.get(name) or ""
                assert not address.lower().lstrip().startswith(("javascript:", "http", "//", "\\")), (
                    path,
                    tag,
                    address,
                )


def test_hostile_texts_are_shown_as_text(client):
    """Each line of them can be read on the page of the sample, and none of them is an element."""
    page = client.get("/run/hostile/sample?index=1").text
    for line in HOSTILE[:6]:
        assert html.escape(line).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page, line
    assert "\u202e" not in page
    elements = Elements(page).found
    assert not [tag for tag, attributes in elements if tag == "svg" and "onload" in attributes]
    assert not [attributes for tag, attributes in elements if tag == "img" and attributes.get("src") == "x"]


def test_an_answer_of_a_megabyte_is_shown(runs, open_viewer):
    write_run(runs / "long", [hostile_sample(0, text=f"{HOSTILE[1]} {'x' * 1_000_000} end of it")])
    client = open_viewer(runs)
    assert len(client.get("/run/long/samples").content) < 200_000
    answer = client.get("/run/long/sample?index=0")
    assert answer.status_code == 200
    assert "more characters" in answer.text
    stored = client.get("/run/long/sample.json?index=0")
    assert stored.json()["answer"].endswith("end of it")
    assert stored.headers["content-disposition"].startswith("attachment")
    assert "1 sample" in client.get("/run/long/samples?q=window.hacked").text


def test_a_run_says_its_numbers_why_samples_failed_and_what_it_took(client):
    page = client.get("/run/failing").text
    assert "5 of 30" in page
    assert "the endpoint failed for 1" in page
    assert f"/run/failing/samples?task={TASK}&amp;status=error" in page
    assert "95th percentile" in page


def test_links_of_failures_lead_to_the_samples(client):
    answer = client.get(f"/run/failing/sample?task={TASK}&id=row-0001&status=error")
    assert answer.status_code == 303
    page = client.get(answer.headers["location"])
    assert "row-0001" in page.text
    assert "the endpoint failed for 1" in page.text


def test_the_list_of_runs_is_searched(client):
    assert "nested/second" in client.get("/?q=LARGE+capitals").text
    assert "nested/second" not in client.get("/?q=small").text
    assert "No run matches" in client.get("/?q=no-such-run").text
    assert "1 run<" in client.get("/?q=failing&status=complete").text


def test_the_manifest_differs_from_that_of_another_run(client):
    page = client.get(f"/run/first/manifest?against={second(client)}").text
    differing = page[page.index("record differently") :]
    assert "small" in differing
    assert "large" in differing


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("/run/nothing", "Run not found"),
        ("/run/first/samples?task=none", "Not found"),
        ("/run/first/sample?index=9999", "Not found"),
        ("/run/first/sample?id=none", "Not found"),
        ("/no/page", "Not found"),
    ],
)
def test_what_is_not_there_is_said(client, path, heading):
    answer = client.get(path)
    assert answer.status_code == 404
    assert f"<h1>{heading}</h1>" in answer.text


def test_a_damaged_run_says_so_on_its_page(runs, client):
    (runs / "first" / "run.json").write_text("{")
    answer = client.get("/run/first")
    assert answer.status_code == 500
    assert "run.json is damaged" in answer.text


def test_samples_are_read_from_their_file_where_the_journal_is_gone(runs, open_viewer):
    from polymeter.store.exports.export import sample_lines, write_samples
    from polymeter.store.journal import Journal

    folder = RunFolder(runs / "first")
    journal = Journal(folder.journal)
    write_samples(folder, journal, TASK)
    assert sum(1 for _ in sample_lines(journal, TASK)) == 120
    journal.close()
    folder.journal.unlink()
    client = open_viewer(runs)
    assert "90 samples" in client.get("/run/first/samples?state=right").text
    page = client.get("/run/first/sample?index=17").text
    assert "capital of country 17" in page
    assert "18 of 120" in page


def test_a_run_that_goes_on_says_how_far_it_is_and_what_its_numbers_are_so_far(runs, open_viewer, monkeypatch):
    from polymeter.viewer import indexes

    monkeypatch.setattr(indexes, "_LEAST_AGE_S", 0.0)
    monkeypatch.setattr(indexes, "_TIMES_ITS_WORK", 0.0)
    run = write_run(runs / "going", [sample(n) for n in range(10)], status="running", n_planned=40)
    client = open_viewer(runs)
    part = client.get("/run/going/progress", headers={"hx-request": "true"}).text
    assert "10 of 40 samples" in part
    assert "exact_match" in part
    assert "<html" not in part
    assert "10 of 40 samples ended" in client.get("/run/going/progress/short").text
    assert "PARTIAL" in client.get("/run/going").text
    writer = JournalWriter(run / "journal.db", [TASK])
    number = writer.task_ids[TASK]
    writer.put("scores", [(number, 10, "d", 1, '{"values":[["exact_match","none",0.0]]}')])
    writer.put("samples", [(number, 10, "row-0010", "", None, "ok", None, "{}", None, None)])
    writer.close()
    assert "11 of 40 samples" in client.get("/run/going/progress", headers={"hx-request": "true"}).text
    assert "11 samples" in client.get("/run/going/samples").text


def test_a_run_that_failed_says_why(runs, open_viewer):
    session = {"status": "failed", "reason": "Model 'm' cannot do <that>."}
    write_run(runs / "lost", [sample(n) for n in range(10)], status="failed", n_planned=40, sessions=[session])
    client = open_viewer(runs)
    part = client.get("/run/lost/progress", headers={"hx-request": "true"}).text
    assert "its status is <strong>failed</strong>. Model &#39;m&#39; cannot do &lt;that&gt;." in part
    assert "tries again when the cause is removed" in part
    assert "lost" in client.get("/?status=failed").text
    assert "PARTIAL: this run failed" in client.get("/run/lost").text


def test_a_large_run_that_goes_on_is_shown_before_its_numbers_are_there(runs, open_viewer, monkeypatch):
    import threading

    from polymeter.viewer import indexes

    monkeypatch.setattr(indexes, "_SMALL_BYTES", 0)
    write_run(runs / "going", [sample(n) for n in range(10)], status="running", n_planned=40)
    client = open_viewer(runs)
    assert "are being computed from many samples" in client.get("/run/going").text
    for thread in threading.enumerate():
        if thread.name.startswith("partial results"):
            thread.join(60)
    assert "PARTIAL" in client.get("/run/going").text


def test_a_folder_is_given_as_it_is_when_a_run_appears(runs, client):
    assert "later" not in client.get("/").text
    write_run(runs / "later", [sample(0)])
    assert "later" in client.get("/").text
    assert client.get("/run/later").status_code == 200


def test_comparing_shows_what_differs_first(client):
    key = second(client)
    page = client.get(f"/compare?run=first&run={key}&show=differ").text
    differing = [n for n in range(120) if (n % 4 != 0) != (n % 3 != 0)]
    assert f"<strong>{len(differing)} samples</strong> of 120" in page
    assert "What is the capital of country 3?" in page
    assert "sample row-0003" in page
    assert "row-0001" not in page
    won = client.get(f"/compare?run=first&run={key}&show=won:first").text
    assert "row-0003" in won
    assert "row-0004" not in won
    summary = client.get(f"/compare/summary?run=first&run={key}").text
    assert "exact_match" in summary
    assert "better in 20</span>" in summary
    assert "worse in 30</span>" in summary


def test_the_numbers_of_small_runs_come_with_the_page(client):
    page = client.get(f"/compare?run=first&run={second(client)}").text
    assert "No difference between nested/second and first is shown on Capitals (p = 0.161)." in page
    assert page.index("No difference between") < page.index("Samples by outcome")
    assert "hx-trigger" not in page[page.index("<main") :]


def test_large_runs_show_their_values_until_the_test_is_done(client, monkeypatch):
    from polymeter.viewer.pages import compare

    monkeypatch.setattr(compare, "_QUICK", 100)
    address = f"/compare?run=first&run={second(client)}"
    page = client.get(address).text
    assert "first 0.750, nested/second 0.667" in page
    assert "95 % interval 0.650 to 0.850" in page
    assert 'hx-trigger="load"' in page
    assert "No difference between" not in page
    client.get(address.replace("/compare", "/compare/summary"), headers={"hx-request": "true"})
    assert "No difference between" in client.get(address).text  # what was computed once is remembered


def write_elsewhere(runs):
    """A run of a task that no other run has."""
    write_run(runs / "other", [sample(0)], model="elsewhere")
    manifest = json.loads((runs / "other" / "run.json").read_text())
    manifest["tasks"][0]["name"] = "rivers"
    (runs / "other" / "run.json").write_text(json.dumps(manifest))


def test_runs_that_share_a_task_are_offered(client, runs):
    write_elsewhere(runs)
    key = second(client)
    page = client.get("/compare").text
    assert f"/compare?run=first&amp;run={key}" in page  # the newer run against the older one
    assert "run=other" not in page
    page = client.get("/compare?run=first").text
    assert '<option value="first" selected>' in page
    assert '<option value="other" disabled>' in page
    assert f'<option value="{key}" disabled>' not in page
    assert "Runs that share a task with first" in page


def test_the_selectors_stay_when_a_pair_cannot_be_compared(client, runs):
    page = client.get("/compare?run=first&run=failing").text
    assert "first and failing cannot be compared." in page
    assert "90 samples only in first" in page
    assert '<option value="failing" selected>' in page
    assert "allow=samples" in re.search(r'href="([^"]*)">Compare them all the same', page)[1]
    assert "cannot be compared" not in client.get("/compare?run=first&run=failing&allow=samples").text
    write_elsewhere(runs)
    page = client.get("/compare?run=first&run=other").text
    assert "first and other cannot be compared: they have no task in common." in page
    assert page.count(" selected>") == 2


def test_samples_are_paired_by_their_prompts_or_their_order(client, runs):
    """The samples of the other run have other names and the opposite order."""
    renamed = [replace(sample(n), id=f"x/{n}", index=119 - n) for n in reversed(range(120))]
    write_run(runs / "renamed", renamed, model="renamed")
    page = client.get("/compare?run=first&run=renamed").text
    assert "0 are in both" in page
    (link,) = re.findall(r'href="([^"]*)">Pair the samples by prompt</a>', page)
    page = client.get(html.unescape(link)).text
    assert "cannot be compared" not in page
    assert '<option value="prompt" selected>' in page
    assert "better in renamed <strong>30</strong>" in page
    assert "equal <strong>90</strong>" in page
    one = client.get("/compare/sample?run=first&run=renamed&pair=prompt&index=4").text
    assert one.count("What is the capital of country 4?") >= 2
    assert "row-0004" in one
    page = client.get("/compare?run=first&run=renamed&pair=order").text
    assert "were sent different prompts" in page
    assert (
        "What is the capital of country 115?"
        in client.get("/compare/sample?run=first&run=renamed&pair=order&index=4").text
    )
    page = client.get("/compare?run=first&run=failing&pair=order").text
    assert "their order does not pair them" in page
    assert "all <strong>30</strong>" in page


def test_a_missing_score_makes_no_run_better(client):
    pair = "run=first&run=failing&allow=samples"
    page = client.get(f"/compare?{pair}").text
    counts = {words: int(n) for words, n in re.findall(r">([a-z ]+) <strong>(\d+)</strong></a>", page)}
    assert counts["all"] == 30
    assert counts["without a score in one"] > 0
    outcomes = ("better in failing", "worse in failing", "equal", "without a score in one")
    assert sum(counts.get(words, 0) for words in outcomes) == 30
    assert "no score in failing" in client.get(f"/compare?{pair}&show=unscored").text


def test_large_runs_are_compared_by_another_process(runs, monkeypatch):
    from polymeter.api import viewing
    from polymeter.core.errors import PlanError

    pair = [runs / "first", runs / "nested" / "second"]
    here = viewing.services().compare(pair, ["prompts"], "order")
    monkeypatch.setattr(viewing, "_LARGE_BYTES", 0)
    apart = viewing.services().compare(pair, ["prompts"], "order")
    assert apart["others"][0]["scores"] == json.loads(json.dumps(here["others"][0]["scores"]))
    with pytest.raises(PlanError, match="named twice"):
        viewing.services().compare([pair[0], pair[0]], [], "id")


def test_two_or_three_runs_are_compared(client):
    for query in ("", "run=first", "run=first&run=first"):
        assert client.get(f"/compare?{query}").status_code == 200
    many = client.get(f"/compare?run=first&run=hostile&run=failing&run={second(client)}")
    assert many.status_code == 400
    assert "A comparison needs two or three runs, not 4." in many.text
    assert client.get("/compare?run=first&run=nosuch").status_code == 404
    assert client.get("/compare/summary?run=first").status_code == 400


def test_the_leaderboard_ranks_what_is_chosen(client):
    every = client.get("/leaderboard").text
    assert "large" in every
    assert "broken" in every
    chosen = client.get(f"/leaderboard?run=first&run={second(client)}").text
    assert "broken" not in chosen
    assert "2 selected runs" in chosen


def test_heads_of_the_leaderboard_sort_without_a_script(client):
    page = client.get(f"/leaderboard?run=first&run={second(client)}").text
    assert "2 models, best first by Capitals." in page
    link = html.unescape(re.search(r'href="([^"]*sort=model[^"]*)"', page)[1])
    assert link.startswith(f"/leaderboard?run=first&run={second(client)}&sort=model")
    by_name = client.get(link).text
    assert "2 models, by name." in by_name
    assert by_name.index(">large<") < by_name.index(">small<")
    assert by_name.count('aria-sort="ascending"') == 1
    usual = re.search(r'href="([^"]*sort=capitals%3Aexact_match[^"]*)"', page)[1]
    around = client.get(html.unescape(usual)).text
    assert "2 models, worst first by Capitals." in around


def test_pages_are_found_by_being_there():
    from polymeter.viewer.site import find_pages

    pages = find_pages()
    assert len({(page.path, page.method) for page in pages}) == len(pages)
    assert [page.tab for page in sorted(pages, key=lambda page: page.order) if page.tab] == [
        "Summary", "Samples", "Plots", "Manifest",
    ]  # fmt: skip


def test_a_manifest_of_another_tool_is_shown(runs, client):
    manifest = json.loads((runs / "first" / "run.json").read_text())
    manifest["imported"] = {"title": "lm-eval", "version": "0.4.9", "settings": {"x": "<b>"}, "files": []}
    (runs / "first" / "run.json").write_text(json.dumps(manifest))
    assert "imported from lm-eval 0.4.9" in client.get("/run/first").text
