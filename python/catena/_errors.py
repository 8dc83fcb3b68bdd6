"""Exceptions: what the library refuses, in the words that the command prints."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One problem of a file: its place, the keys that lead to it, and what is wrong."""

    file: str
    line: int
    column: int
    key: str
    text: str


class Error(Exception):
    """What the library refuses.

    ``status`` names its kind ("bad scene", "bad configuration", ...), ``findings`` lists the problems of a file, up to 20;
    ``file``, ``line``, ``column`` and ``key`` are those of the first one: "", 0, 0 and "" where there is no place.
    """

    def __init__(self, message: str, status: str = "", findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.findings = tuple(findings)
        self.file, self.line, self.column, self.key = self.findings[0][:4] if self.findings else ("", 0, 0, "")

    def __reduce__(self):
        return type(self), (str(self), self.status, self.findings)


class SceneError(Error, ValueError):
    """A file is malformed or unphysical; the message lists every problem, one a line."""


class ArgumentError(Error, ValueError):
    """A configuration value or an argument is out of its range."""


class UnavailableError(Error):
    """A known feature that this version, build or machine does not have, or that does not go together with another."""


class FileError(Error):
    """A file could not be read or written."""


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory."""


class FrozenError(Error):
    """A world could not be stepped and rests at its last good state; the others have made their steps.

    ``statistics`` [worlds] says which, where and why, if there were steps of a batch."""

    statistics = None


class InterruptedCallError(Error):
    """A call ended early; nothing has changed."""


_classes = {
    "bad scene": SceneError,
    "bad configuration": ArgumentError,
    "bad argument": ArgumentError,
    "unavailable": UnavailableError,
    "no memory": OutOfMemoryError,
    "input/output": FileError,
    "frozen": FrozenError,
    "interrupted": InterruptedCallError,
}


def error_of(status: str, message: str, findings: list[Finding]) -> Error:
    """The exception of a status of the library."""
    return _classes.get(status, Error)(message, status, tuple(findings))
