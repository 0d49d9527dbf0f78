"""The Python of the documents runs as it stands, the blocks of a page one after the other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks(path: Path) -> list[str]:
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text())["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["docs/firedrake.md", "docs/loopy.md", "docs/many.md", "README.md", "python/README.md", "examples/mass.ipynb"])
def test_documents(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = blocks(ROOT / name)
    assert found
    names: dict[str, object] = {}
    for block in found:
        exec(compile(block, name, "exec"), names)
