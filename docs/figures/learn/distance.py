from pages import figures_of
from pictures.animations import Moving


def stairs() -> Moving:
    """The bucket of each distance to a key before the query"""
    figure: Moving = figures_of("schemes/t5-bias.md").stairs()
    return figure


def attention() -> Moving:
    """How a head of ALiBi spreads its attention over keys that are all alike"""
    figure: Moving = figures_of("schemes/alibi.md").attention()
    return figure
