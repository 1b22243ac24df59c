from collections.abc import Mapping

from architecture import arrows, rows
from pictures.picture import Picture, axes, blank, box
from pictures.picture import arrow as drawn


def rooms() -> Picture:
    """The rooms of the kit, and their imports"""
    levels = rows(arrows())
    wide = max(map(len, levels))
    figure, plot = axes(7.0, 0.95 * len(levels))
    blank(plot, 3.2 * wide, 1.5 * len(levels))
    places: dict[str, tuple[float, float]] = {}
    for depth, names in enumerate(levels):
        for number, name in enumerate(names):
            x = 1.6 * wide + 3.2 * (number - (len(names) - 1) / 2)
            places[name] = (x, 1.5 * (len(levels) - depth) - 0.75)
            box(plot, *places[name], name, width=2.6)
    for above, below in _direct(arrows()):
        (x, y), (to_x, to_y) = places[above], places[below]
        drawn(plot, (x, y - 0.45), (to_x, to_y + 0.45))
    return Picture(
        figure,
        "Boxes in rows, plugin in the first, errors and files in the last. All arrows lead down.",
        "Drawn from the imports of the code. An arrow that follows from two others is left out.",
        diagram=True,
    )


def _direct(known: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Return the arrows that do not follow from others."""
    return [
        (above, below)
        for above, below in known
        if not any((above, middle) in known and (middle, below) in known for middle, _ in known)
    ]
