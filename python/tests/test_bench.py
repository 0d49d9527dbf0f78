"""The programs that measure do run; no test asserts a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_seconds_beside_loopy() -> None:
    command = [sys.executable, "-W", "ignore", "python/bench/loopy.py", "--rounds", "1", "--level", "O2", "matvec"]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), check=True, capture_output=True, text=True)
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| matvec ")]
    assert len(rows) == 1
    assert all(float(cell.strip(" |")) > 0 for cell in rows[0][1:])
    assert "wall seconds, nestegg / loopy: median" in done.stdout
