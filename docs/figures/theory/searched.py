from pages import module_of
from pictures.picture import COLOURS, Picture, axes, legend


def searched() -> Picture:
    """Cosine of two positions by distance, before and after a search"""
    module = module_of("claims", "theory/searched.md")
    assert module is not None
    _, cosines = module._drawn()
    figure, plot = axes(height=3.2)
    shown = {
        "the paper's frequencies": module._cosines(module.PAPER),
        "as distinct as possible": cosines[module._most_distinct()],
        "near means similar": cosines[module._best_falling()],
    }
    for (name, values), colour in zip(shown.items(), COLOURS, strict=False):
        plot.plot(values[:129], color=colour, label=name, linewidth=1.3)
    plot.set(xlabel="distance", ylabel="cosine")
    legend(plot, fontsize=9, loc="upper right", bbox_to_anchor=(1, 1.15), ncols=3)
    return Picture(
        figure,
        "Three curves from distance 0 to 128. The paper's frequencies give fast waves from 0 to "
        "0.95. The most distinct set gives fast irregular waves between minus 0.45 and 0.83. The "
        "third curve falls smoothly from 1 to minus 0.2 within thirty positions and then goes up "
        "and down slowly, below 0.4.",
        "8 channels, 512 positions, of which 128 are shown. Each searched curve is the best of "
        "5,000 by its own question.",
    )
