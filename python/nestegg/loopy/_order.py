"""The order that loopy's scheduler may choose, where a kernel says more than the format's default order.

In: an instruction list with dependences, the inames of each, and priorities of loops.
Out: a linearization as the format writes it, in which each iname is one loop, as loopy schedules it.
Method: recursively over the open inames. The loop that is opened is over an iname that no other remaining iname must
enclose: by its instructions, by a priority, or by its domain. Loops and instructions side by side are sorted by their
dependences, ties by the priority of instructions, then by list order.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nestegg.errors import Unsupported

Item = tuple[str, str]


@dataclass(frozen=True)
class Step:
    """An instruction, as far as its place matters."""

    id: str
    inames: frozenset[str]
    depends_on: frozenset[str]
    priority: int


@dataclass(frozen=True)
class Nesting:
    """What is known of loops.

    Attributes
    ----------
    priority
        Inames, outer ones first, in each tuple.
    parents
        The inames that the bounds of an iname depend on.
    position
        Where an iname is declared: the last tie is broken by it.
    """

    priority: frozenset[tuple[str, ...]]
    parents: Mapping[str, frozenset[str]]
    position: Mapping[str, int]


def linearize(steps: Sequence[Step], nesting: Nesting) -> list[Item]:
    """Put instructions in an order that loopy could choose.

    Raises
    ------
    Unsupported
        If each iname cannot be one loop.
    """
    return list(_nest(list(steps), frozenset(), nesting, _closure(steps)))


def in_order(steps: Sequence[Step]) -> list[Step]:
    """Sort instructions by their dependences, ties by list order."""
    by_id = {step.id: idx for idx, step in enumerate(steps)}
    befores = [{by_id[id] for id in step.depends_on if id in by_id} for step in steps]
    order = _sort(befores, [(-step.priority, idx) for idx, step in enumerate(steps)])
    if order is None:
        raise Unsupported("the dependences of instructions form a cycle")
    return [steps[idx] for idx in order]


def with_list_order(
    depends_on: Mapping[str, Iterable[str]], accesses: Mapping[str, tuple[frozenset[str], frozenset[str]]]
) -> dict[str, list[str]]:
    """Add the dependences that list order means: of instructions that touch the same data, one of them writing.

    ``accesses`` has, for each instruction in the order of the list, all that it touches and what it writes. The list
    must be in an order that the dependences allow.
    """
    ids = list(accesses)
    at = {id: idx for idx, id in enumerate(ids)}
    before: list[int] = []
    touching: dict[str, list[tuple[int, bool]]] = {}
    found: dict[str, list[str]] = {}
    for idx, (id, (touched, written)) in enumerate(accesses.items()):
        direct = {other for other in depends_on[id] if other in at}
        reached = 0
        for place in (at[other] for other in direct):
            reached |= 1 << place | (before[place] if place < idx else 0)
        conflicts = {
            place for name in touched for place, writes in touching.get(name, ()) if writes or name in written
        }
        for place in sorted(conflicts, reverse=True):
            if not reached >> place & 1:
                direct.add(ids[place])
                reached |= 1 << place | before[place]
        before.append(reached)
        for name in touched:
            touching.setdefault(name, []).append((idx, name in written))
        found[id] = sorted(direct)
    return found


def _closure(steps: Sequence[Step]) -> dict[str, frozenset[str]]:
    """All that runs before each instruction."""
    known: dict[str, frozenset[str]] = {}
    for step in in_order(steps):
        direct = [id for id in step.depends_on if id in known]
        known[step.id] = frozenset(direct).union(*(known[id] for id in direct))
    return known


def _nest(
    steps: list[Step], opened: frozenset[str], nesting: Nesting, before: Mapping[str, frozenset[str]]
) -> Iterable[Item]:
    """The items of instructions inside loops that are open."""
    rest = {step.id: step.inames - opened for step in steps}
    blocks: list[tuple[str | None, list[Step]]] = [(None, [step]) for step in steps if not rest[step.id]]
    waiting = [step for step in steps if rest[step.id]]
    while waiting:
        iname = _outermost(waiting, rest, nesting)
        blocks.append((iname, [step for step in waiting if iname in rest[step.id]]))
        waiting = [step for step in waiting if iname not in rest[step.id]]
    block_of = {step.id: idx for idx, (_, inner) in enumerate(blocks) for step in inner}
    position = {step.id: idx for idx, step in enumerate(steps)}
    befores: list[set[int]] = []
    ties: list[tuple[int, int]] = []
    for idx, (_, inner) in enumerate(blocks):
        befores.append({block_of[id] for step in inner for id in before[step.id] if id in block_of} - {idx})
        ties.append((-max(step.priority for step in inner), min(position[step.id] for step in inner)))
    order = _sort(befores, ties)
    if order is None:
        raise Unsupported("each iname cannot be one loop: instructions in one loop depend on each other through others outside")
    for idx in order:
        over, inner = blocks[idx]
        if over is None:
            yield ("run", inner[0].id)
        else:
            yield ("for", over)
            yield from _nest(inner, opened | {over}, nesting, before)
            yield ("end", over)


def _outermost(steps: list[Step], rest: Mapping[str, frozenset[str]], nesting: Nesting) -> str:
    """An iname that no other one must enclose."""
    users: dict[str, set[str]] = {}
    for step in steps:
        for iname in rest[step.id]:
            users.setdefault(iname, set()).add(step.id)

    def must_enclose(outer: str, inner: str) -> bool:
        if not users[outer] & users[inner]:
            return False
        if users[inner] < users[outer] or outer in nesting.parents.get(inner, frozenset()):
            return True
        return any(
            outer in chain and inner in chain and chain.index(outer) < chain.index(inner) for chain in nesting.priority
        )

    candidates = [
        iname for iname in users if not any(must_enclose(other, iname) for other in users if other != iname)
    ]
    if not candidates:
        raise Unsupported(f"the loops over {', '.join(sorted(users))} cannot be nested")
    chosen = min(candidates, key=lambda iname: (-len(users[iname]), nesting.position.get(iname, 0), iname))
    for iname, of in users.items():
        if iname != chosen and of & users[chosen] and not of <= users[chosen]:
            raise Unsupported(f"the loops over {chosen} and {iname} cannot be nested")
    return chosen


def _sort(befores: Sequence[set[int]], ties: Sequence[tuple[int, int]]) -> list[int] | None:
    """A stable topological order, or nothing where there is a cycle."""
    afters: list[list[int]] = [[] for _ in befores]
    missing = [len(before) for before in befores]
    for idx, before in enumerate(befores):
        for other in before:
            afters[other].append(idx)
    ready = [(tie, idx) for idx, tie in enumerate(ties) if missing[idx] == 0]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, idx = heapq.heappop(ready)
        order.append(idx)
        for after in afters[idx]:
            missing[after] -= 1
            if missing[after] == 0:
                heapq.heappush(ready, (ties[after], after))
    return order if len(order) == len(befores) else None
