"""The families of schemes, as the site and the README list them."""

from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Scheme

FAMILIES = {
    "absolute": "Absolute",
    "combination": "Combined with embeddings",
    "relative": "Relative scores",
    "bias": "Biases",
    "rotary": "Rotary",
    "convolutional": "Convolutional",
    "sparse": "Sparse patterns",
    "attention": "Attention",
    "position-ids": "Position ids",
}
"""Title of each family, in the order of display."""

LISTED_IN = {"tupe": "relative"}
"""The family under which a reader looks for a scheme, where it is not the scheme's own family."""

LEARNED_FIRST = (
    *("integer", "normalized", "binary", "sinusoidal", "learned", "timestep", "sincos-2d"),
    *("embedding-sum", "concatenation", "hybrid", "shaw", "transformer-xl", "deberta", "tupe"),
    *("t5-bias", "alibi", "clipped-bias", "kerple", "fire", "relative-table-2d", "log-cpb"),
    *("rope", "position-interpolation", "ntk-aware", "dynamic-ntk", "yarn", "llama3", "longrope"),
    *("p-rope", "xpos", "mla", "rope-2d", "axial-rope", "m-rope", "causal-mask", "sliding-window"),
    *("dilated-window", "strided", "fixed", "chunked", "bigbird", "attention", "nope"),
)
"""The schemes in learning order; schemes that are missing here are listed last."""


def by_family() -> dict[str, list[Scheme]]:
    """Return the schemes of each family in learning order."""
    place = {id: number for number, id in enumerate(LEARNED_FIRST)}
    ordered = sorted(load_all(), key=lambda scheme: place.get(scheme.id, len(place)))
    return {
        name: [scheme for scheme in ordered if LISTED_IN.get(scheme.id, scheme.family) == name]
        for name in FAMILIES
    }
