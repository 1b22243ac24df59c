from pages import figures_of
from pictures.animations import Moving


def squeezed() -> Moving:
    """Where the tokens of a text stand on a wave of which training has seen the beginning"""
    found: Moving = figures_of("schemes/position-interpolation.md").squeezed()
    return found
