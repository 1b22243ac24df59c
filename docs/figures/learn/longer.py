from pages import figures_of
from pictures.animations import Moving


def squeezed() -> Moving:
    """Tokens of a text on a wave whose beginning was seen in training"""
    found: Moving = figures_of("schemes/position-interpolation.md").squeezed()
    return found
