"""The story of one run, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any


@dataclass(frozen=True)
class Operations:
    """Floating-point operations by the rule of the kernel format.

    Attributes
    ----------
    total
        All of them.
    by_kind
        ``add``, ``mul``, ``div``, … with their numbers; kinds that do not occur are left out.
    """

    total: int
    by_kind: Mapping[str, int]

    def __int__(self) -> int:
        """All of them."""
        return self.total


@dataclass(frozen=True)
class Report:
    """The story of one run: operations, temporaries, rules, and the reasons to trust the result.

    ``print`` shows it as the command line does; notebooks show it as tables.

    Attributes
    ----------
    text
        What ``print`` shows.
    json
        What ``nestegg optimize --report json`` writes.
    """

    text: str
    json: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """The same as dictionaries and lists."""
        return dict(json.loads(self.json))

    @property
    def before(self) -> Operations:
        """Operations of the input."""
        return Operations(**self.data["before"])

    @property
    def after(self) -> Operations:
        """Operations of the result."""
        return Operations(**self.data["after"])

    @property
    def ratio(self) -> float:
        """Operations of the result over operations of the input; 1 where the input has none."""
        return self.after.total / self.before.total if self.before.total else 1.0

    @property
    def seconds(self) -> float:
        """Seconds of all stages together."""
        return float(sum(stage["seconds"] for stage in self.data["stages"]))

    def __str__(self) -> str:
        """The story as the command line tells it."""
        return self.text.rstrip("\n")

    @property
    def summary(self) -> str:
        """Operations before and after, on one line."""
        before, after = self.before.total, self.after.total
        return f"{before} → {after} operations, {self.ratio:.3g} of the input ({self.data['strategy']})"

    def _repr_html_(self) -> str:
        before, after = self.before.by_kind, self.after.by_kind
        kinds = [*before, *(kind for kind in after if kind not in before)]
        counts = [[kind, str(before.get(kind, 0)), str(after.get(kind, 0))] for kind in kinds]
        temporaries = [
            [
                temporary["name"] + (f"[{', '.join(temporary['shape'])}]" if temporary["shape"] else ""),
                " ".join(temporary["loops"]) or "–",
                str(temporary["uses"]),
                "" if temporary["saved"] is None else str(temporary["saved"]),
                temporary["definition"],
            ]
            for temporary in self.data["temporaries"]
        ]
        parts = [
            f"<p><b>{escape(self.data['kernel'])}</b>: {escape(self.summary)}</p>",
            _table(["operations", "before", "after"], counts),
        ]
        if temporaries:
            parts.append(_table(["temporary", "loops", "uses", "saved", "definition"], temporaries))
        parts.append(f"<details><summary>the whole report</summary><pre>{escape(str(self))}</pre></details>")
        return "\n".join(parts)

    def _repr_markdown_(self) -> str:
        return f"**{self.data['kernel']}**: {self.summary}\n\n```text\n{self}\n```\n"


def _table(header: list[str], rows: list[list[str]]) -> str:
    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + row(header, "th") + "".join(row(cells, "td") for cells in rows) + "</table>"
