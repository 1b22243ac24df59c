from pages import figures_of
from pictures.animations import Moving


def stairs() -> Moving:
    """The bucket of each distance to a key before the query"""
    found: Moving = figures_of("schemes/t5-bias.md").stairs()
    return found


def attention() -> Moving:
    """How a head of ALiBi spreads its attention over keys that are all alike"""
    found: Moving = figures_of("schemes/alibi.md").attention()
    return found
