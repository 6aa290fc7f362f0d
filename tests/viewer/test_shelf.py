"""The runs of a folder: which are found, when they are read again, and that nothing outside is."""

from __future__ import annotations

import json
import os

import pytest

from polymeter.core.errors import PlanError
from polymeter.viewer.shelf import Shelf
from tests.helpers.viewed_runs import add_media, sample, write_run


def test_runs_are_found_at_any_depth_the_newest_first(runs):
    assert [run.name for run in Shelf([runs]).runs()] == ["nested/second", "failing", "first", "hostile"]
    assert [run.name for run in Shelf([runs / "first"]).runs()] == ["first"]


def test_a_run_is_read_again_when_it_changes(runs):
    shelf = Shelf([runs])
    assert shelf.run("first").status == "complete"
    manifest = json.loads((runs / "first" / "run.json").read_text())
    (runs / "first" / "run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    assert shelf.run("first").status == "interrupted"


def test_folders_of_one_name_are_told_apart(tmp_path):
    for place in ("a/runs", "b/runs"):
        write_run(tmp_path / place / "first", [sample(0)])
    shelf = Shelf([tmp_path / "a" / "runs", tmp_path / "b" / "runs", tmp_path / "a" / "runs"])
    assert len({run.key for run in shelf.runs()}) == 2
    assert {shelf.run(run.key).path for run in shelf.runs()} == {tmp_path / "a/runs/first", tmp_path / "b/runs/first"}
    other = Shelf([tmp_path / "a", tmp_path / "b"])
    assert {run.name for run in other.runs()} == {"a/runs/first", "b/runs/first"}


def test_keys_of_similar_names_differ(tmp_path):
    for name in ("a/b", "a-b", "a b", "ä b"):
        write_run(tmp_path / "runs" / name, [sample(0)])
    keys = [run.key for run in Shelf([tmp_path / "runs"]).runs()]
    assert len({*keys}) == 4
    assert all(key.isascii() and "/" not in key for key in keys)


def test_a_damaged_run_is_listed_with_what_is_wrong(runs):
    (runs / "first" / "run.json").write_text("{")
    found = Shelf([runs]).run("first")
    assert found.status == "unreadable"
    assert "run.json is damaged" in found.trouble


@pytest.mark.parametrize("name", ["journal.db", "results.json", "run.json", "samples", "media", "notes.jsonl"])
def test_a_link_out_of_the_folder_is_not_followed(runs, tmp_path, name):
    outside = write_run(tmp_path / "outside", [sample(0)])
    (outside / "media").mkdir()
    (outside / "samples").mkdir()
    (outside / "notes.jsonl").touch()
    place = runs / "first" / name
    place.unlink(missing_ok=True)
    place.symlink_to(outside / name)
    shelf = Shelf([runs])
    (run,) = (run for run in shelf.runs() if run.name == "first")
    assert run.status == "unreadable"
    with pytest.raises(PlanError, match="leads out of the viewed folder"):
        shelf.open(run)


def test_a_link_to_a_run_outside_is_no_run(runs, tmp_path):
    outside = write_run(tmp_path / "outside", [sample(0)])
    (runs / "linked").symlink_to(outside)
    assert "linked" not in [run.name for run in Shelf([runs]).runs()]


def test_a_journal_elsewhere_needs_its_folder_named(runs, tmp_path):
    run = runs / "first"
    manifest = json.loads((run / "run.json").read_text())
    elsewhere = tmp_path / "journals"
    elsewhere.mkdir()
    (run / "run.json").write_text(json.dumps({**manifest, "journal_dir": str(elsewhere)}))
    shelf = Shelf([runs])
    assert shelf.open(shelf.run("first")).journal_dir is None
    assert shelf.journal_is_elsewhere(shelf.run("first")) == str(elsewhere)
    named = Shelf([runs], [elsewhere])
    assert named.open(named.run("first")).journal_dir == elsewhere
    assert named.journal_is_elsewhere(named.run("first")) == ""


@pytest.mark.parametrize(
    "address",
    [
        "/run/%2e%2e",
        "/run/..%2Foutside",
        "/run/outside",
        "/run/first%2F..%2F..%2Foutside",
        "/static/..%2Fsite.py",
        "/static/%2e%2e/site.py",
        "/run/first/media/..%2Frun.json",
        "/run/first/media/%2e%2e",
        "/run/first/media/run.json",
        "/run/first/media/a%00b",
    ],
)
def test_no_address_leads_out_of_the_folder(client, runs, tmp_path, address):
    write_run(tmp_path / "outside", [sample(0)], model="secret-model")
    answer = client.get(address)
    assert answer.status_code in (404, 307)
    assert "secret-model" not in answer.text
    assert "class Services" not in answer.text


def test_media_that_are_links_out_are_not_served(client, runs, tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"\x89PNG\r\n\x1a\nsecret")
    place = add_media(runs / "first", "ab12.png", b"")
    place.unlink()
    os.symlink(secret, place)
    answer = client.get("/run/first/media/ab12.png")
    assert answer.status_code == 404
    assert b"secret" not in answer.content
