"""What goes wrong, as exceptions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Label:
    """A place that an error is about.

    Attributes
    ----------
    text
        What is said of the place.
    file
        The name of the text.
    line, column
        Where it is, from 1.
    """

    text: str | None
    file: str | None
    line: int | None
    column: int | None


class Error(Exception):
    """Something is wrong with a kernel, a rule or an option, or no result holds.

    The message is the diagnostic of the command line, with the part of the text that it is about.

    Attributes
    ----------
    code
        A stable name such as ``dump::unknown_name``; none for errors of usage.
    summary
        The first line, without the text that it is about.
    help
        The way out, where one is known.
    labels
        The places.
    """

    def __init__(self, message: str, details: str = "{}") -> None:
        super().__init__(message)
        found: dict[str, Any] = json.loads(details)
        self._details = details
        self.code: str | None = found.get("code")
        self.summary: str = found.get("message", message)
        self.help: str | None = found.get("help")
        self.labels: list[Label] = [
            Label(label["text"], label["file"], label["line"], label["column"]) for label in found.get("labels", [])
        ]

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        """Errors travel between processes with all that they say."""
        return type(self), (str(self), self._details)


class Unsupported(Error):
    """The kernel format cannot hold something that a kernel uses.

    Attributes
    ----------
    reason
        What it is, in one sentence.
    place
        The instruction, argument or iname that uses it.
    """

    def __init__(self, reason: str, place: str | None = None) -> None:
        super().__init__(reason if place is None else f"{place}: {reason}")
        self.reason = reason
        self.place = place

    def __reduce__(self) -> tuple[type[Unsupported], Any]:
        """Errors travel between processes with all that they say."""
        return type(self), (self.reason, self.place)


class NotValidated(UserWarning):
    """A better result failed validation, and the next best one was taken; or a rule is worth a warning."""
