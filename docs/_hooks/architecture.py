"""The rooms of the kit and the imports between them, read from the code."""

import importlib
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

import grimp

KIT = "posenc_conformance"
Arrows = Mapping[tuple[str, str], int]


@lru_cache(maxsize=1)
def arrows() -> Arrows:
    """Count the imports from each room to each other room."""
    graph = grimp.build_graph(KIT, exclude_type_checking_imports=True, cache_dir=None)
    counts: Counter[tuple[str, str]] = Counter()
    for module in graph.modules - {KIT}:
        for other in graph.find_modules_directly_imported_by(module) - {KIT}:
            pair = module.split(".")[1], other.split(".")[1]
            if pair[0] != pair[1]:
                counts[pair] += 1
    return dict(sorted(counts.items()))


def rows(known: Arrows) -> list[list[str]]:
    """Arrange the rooms in rows, the top row first.

    Each room is directly above the highest room that it imports.
    """
    height = dict.fromkeys((room for pair in known for room in pair), 0)
    for _ in height:
        for above, below in known:
            height[above] = max(height[above], height[below] + 1)
    levels: dict[int, list[str]] = {}
    for room, level in sorted(height.items(), key=lambda item: (-item[1], item[0])):
        levels.setdefault(level, []).append(room)
    return list(levels.values())


def purpose(room: str) -> str:
    """Return the purpose of a room: the first line of the docstring of its package or module."""
    text = importlib.import_module(f"{KIT}.{room}").__doc__ or ""
    return text.strip().partition("\n")[0]
