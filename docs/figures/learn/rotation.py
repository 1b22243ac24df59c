from pages import figures_of
from pictures.animations import Moving
from pictures.picture import Picture


def arrows() -> Picture:
    """One pair of a query and of a key, turned by their positions"""
    figure: Picture = figures_of("schemes/rope.md").arrows()
    return figure


def turning() -> Moving:
    """Four pairs of a query and a key, turned by their positions"""
    figure: Moving = figures_of("schemes/rope.md").turning()
    return figure
