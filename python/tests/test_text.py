"""What works without loopy, and what goes wrong."""

from __future__ import annotations

import concurrent.futures
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import nestegg

ROOT = Path(__file__).parents[2]

FORCE = (ROOT / "examples/force.knl").read_text()

LARGE = (ROOT / "fixtures/coffee/ffc_helmholtz_3d_nf2_q3.json").read_text()


def test_a_result_has_its_texts() -> None:
    result = nestegg.optimize_text(FORCE, rules=[ROOT / "examples/factor.rules"])
    assert (int(result.before), int(result.after)) == (300, 200)
    assert result.before.by_kind == {"add": 100, "mul": 200}
    assert result.report.data["rules"] == {"factor": 1}
    assert "300 -> 200 operations" in str(result.report)
    assert nestegg.to_text(result.json) == result.kernel_text == str(result)
    assert "force" in result.c
    assert "force" in result.header
    assert nestegg.validate_text(FORCE, result.json)
    assert repr(result) == "<nestegg.Result force: 300 → 200 operations, 0.667 of the input (O1)>"


def test_another_process_gets_all_texts() -> None:
    result = nestegg.optimize_text(FORCE)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert hash(again) == hash(result)
    assert (again.kernel_text, again.c, again.header) == (result.kernel_text, result.c, result.header)
    assert again != nestegg.optimize_text(FORCE, level="O0")


def test_reports_are_shown_in_notebooks() -> None:
    report = nestegg.optimize_text((ROOT / "examples/weighted_mass.knl").read_text()).report
    html, markdown = report._repr_html_(), report._repr_markdown_()
    assert html.startswith("<p><b>weighted_mass</b>")
    assert html.count("<table>") == html.count("</table>") == 2
    assert "<details>" in html
    assert "**weighted_mass**" in markdown
    assert str(report) in markdown


def test_counts() -> None:
    found = nestegg.count((ROOT / "examples/weighted_mass.knl").read_text())
    assert (found.total, found.by_kind) == (135000, {"add": 45000, "mul": 90000})
    assert found.by_depth == {3: 27000, 4: 108000}
    assert int(found) == found.total
    assert str(found).startswith("weighted_mass\n")
    assert nestegg.count((ROOT / "examples/weighted_mass.knl").read_text(), parameters={"n": 2000}).total == 2 * found.total


def test_verdicts() -> None:
    assert nestegg.validate_text(FORCE, FORCE)
    other = FORCE.replace("+", "-")
    assert other != FORCE
    verdict = nestegg.validate_text(FORCE, other)
    assert not verdict
    assert str(verdict).startswith("not equal; ")


def test_errors_have_the_text() -> None:
    with pytest.raises(nestegg.Error) as caught:
        nestegg.optimize_text("kernel k\narg A : float64[3] write\nA[0] = B\n", name="k.knl")
    error = caught.value
    assert "k.knl:3" in str(error)
    assert "A[0] = B" in str(error)
    assert "\x1b[" not in str(error), "no colours"
    assert error.code == "dump::unknown_name"
    assert [(label.file, label.line, label.column) for label in error.labels] == [("k.knl", 3, 8)]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code) == (str(error), error.code)
    unsupported = pickle.loads(pickle.dumps(nestegg.Unsupported("complex numbers", "argument x")))
    assert (str(unsupported), unsupported.reason) == ("argument x: complex numbers", "complex numbers")
    assert isinstance(unsupported, nestegg.Error)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"float": "wild"}, "`float` cannot be `wild`"),
        ({"cost": "beauty"}, "`cost` cannot be `beauty`"),
        ({"machine": "abacus"}, "`machine` cannot be `abacus`"),
        ({"batch": 3}, "`batch` cannot be `3`"),
        ({"level": "O9"}, "no strategy `O9`"),
        ({"rules": ["nowhere.rules"]}, "cannot read `nowhere.rules`"),
        ({"parameters": {"q": 1}}, "no parameter `q`"),
    ],
)
def test_options_are_checked(options: dict[str, object], words: str) -> None:
    with pytest.raises(nestegg.Error, match=words):
        nestegg.optimize_text(FORCE, **options)  # type: ignore[arg-type]


def test_options_reach_the_driver() -> None:
    assert nestegg.optimize_text(FORCE, level="O0").report.data["strategy"] == "O0"
    assert nestegg.optimize_text(FORCE, cost="time").report.data["estimate"]["machine"]
    assert nestegg.optimize_text(FORCE, validate=False).report.data["validation"].keys() == {"not_compared"}
    assert nestegg.optimize_text(FORCE, float="strict").report.data["float"] == "strict"


def test_progress_is_told() -> None:
    stages = []
    nestegg.optimize_text(FORCE, progress=lambda stage, seed: stages.append(stage))
    assert stages[0] == "read"
    assert "saturate" in stages
    with pytest.raises(ZeroDivisionError):
        nestegg.optimize_text(FORCE, progress=lambda stage, seed: 1 / 0)


def test_threads_run_meanwhile() -> None:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: nestegg.optimize_text(FORCE, threads=1).kernel_text, range(4)))
    assert len(set(done)) == 1


def test_processes_fork() -> None:
    expected = nestegg.optimize_text(FORCE)
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        results = list(pool.map(nestegg.optimize_text, [FORCE] * 2))
    assert [(result.kernel_text, result.c) for result in results] == [(expected.kernel_text, expected.c)] * 2


def test_control_c_interrupts() -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    # Whoever starts the tests in the background ignores the signal, and so do they then.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            nestegg.optimize_text(LARGE, level="O3")
    finally:
        signal.signal(signal.SIGINT, before)


def test_without_loopy() -> None:
    """Everything but loopy works, and what needs it says so."""
    code = """
import sys
sys.modules["loopy"] = None
import nestegg
assert int(nestegg.optimize_text(sys.argv[1]).before) == 300
assert int(nestegg.count(sys.argv[1])) == 300
try:
    nestegg.optimize_text(sys.argv[1]).kernel
except ImportError:
    print("no loopy")
"""
    done = subprocess.run([sys.executable, "-c", code, FORCE], check=True, capture_output=True, text=True)
    assert done.stdout == "no loopy\n"
