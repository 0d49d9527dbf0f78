from collections.abc import Callable, Sequence
from os import PathLike
from typing import TypedDict

__VERSION__: str

class Options(TypedDict):
    level: str
    level_file: tuple[str, str] | None
    rules: Sequence[tuple[str, str]]
    float: str | None
    traps: str
    cost: str
    machine: str | None
    machine_file: tuple[str, str] | None
    parameters: Sequence[tuple[str, int]]
    max_statements: int | None
    memory: int | None
    accuracy: float | None
    batch: int | None
    batch_shared: Sequence[str]
    batch_layout: str
    validate: bool
    threads: int | None

class Optimized:
    kernel_text: str
    json: str
    report_text: str
    report_json: str
    c: tuple[str, str] | None
    shared_c: str | None
    c_refused: str | None
    warnings: list[str]
    from_cache: bool

def optimize(
    text: str,
    name: str,
    options: Options,
    progress: Callable[[str, str | None], object] | None = None,
    cache: str | None = None,
    shares_file: bool = False,
) -> Optimized: ...
def default_cache() -> PathLike[str] | None: ...
def cache_size(folder: str, clears: bool) -> tuple[int, int]: ...
def count(text: str, name: str, given: Sequence[tuple[str, int]]) -> tuple[str, str]: ...
def validate(
    first: tuple[str, str], second: tuple[str, str], given: Sequence[tuple[str, int]]
) -> tuple[bool, str]: ...
def convert(text: str, name: str, to_json: bool) -> str: ...
def linearize(text: str, name: str) -> str: ...
def strategies() -> list[tuple[str, str]]: ...
