from pages import figures_of
from pictures.animations import Moving


def squeezed() -> Moving:
    """Tokens of a text on a wave whose beginning was seen in training"""
    figure: Moving = figures_of("schemes/position-interpolation.md").squeezed()
    return figure
