"""``make regressions`` takes nothing for a proof that is none."""

from pathlib import Path

from scripts.regressions import GREEN, RED, SKIPPED, UNREADY, Outcome, judged, read_report

REPORT = """<testsuites><testsuite>
<testcase classname="tests.regressions.test_x" name="test_right"/>
<testcase classname="tests.regressions.test_x" name="test_wrong"><failure message="assert 1 == 2"/></testcase>
<testcase classname="tests.regressions.test_x" name="test_broken"><error message="failed on setup"/></testcase>
<testcase classname="tests.regressions.test_x" name="test_left_out"><skipped/></testcase>
<testcase classname="tests.regressions.test_x" name="test_kept">
<properties><property name="control" value="true"/></properties></testcase>
</testsuite></testsuites>"""


def test_an_error_of_a_fixture_is_not_the_red_of_a_test(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text(REPORT)

    became = {name.partition("::")[2]: outcome for name, outcome in read_report(file).items()}

    assert became == {
        "test_right": Outcome(GREEN),
        "test_wrong": Outcome(RED),
        "test_broken": Outcome(UNREADY),
        "test_left_out": Outcome(SKIPPED),
        "test_kept": Outcome(GREEN, is_control=True),
    }


def test_only_red_before_and_green_now_is_a_proof() -> None:
    def verdict(before: str, now: str, *, is_control: bool = False) -> str:
        return judged([Outcome(before, is_control)], [Outcome(now, is_control)])

    assert verdict(RED, GREEN) == "red before and green here"
    assert verdict(UNREADY, GREEN) == verdict(GREEN, GREEN) == verdict(RED, RED) == "wrong"
    assert verdict(GREEN, GREEN, is_control=True) == "controls, green in both"
    assert verdict(RED, GREEN, is_control=True) == "wrong"
