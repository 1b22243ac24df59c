"""Schemes whose calls are not tried, and names that speak of them."""

import re

OTHERS = {
    "axial-rope": r"axial(?!_cis)",
    "cope": r"(^|_)cope($|_)|contextual_pos",
    "deberta": r"deberta|disentangled",
    "fire": r"(^|_)fire($|_)",
    "fope": r"(^|_)fope($|_)|fourier_position",
    "fourier-features": r"(random|gaussian)_fourier|fourier_feat",
    "kerple": r"kerple",
    "laplacian": r"laplacian_(pos|pe|enc|eig)|(^|_)lap_pe",
    "learned": r"learned_pos|learnable_pos",
    "log-cpb": r"(^|_)cpb($|_)|continuous_(relative_)?pos",
    "longrope": r"long_?rope|su_scaled",
    "m-rope": r"multi_?modal_(rot|rope)|(^|_)m_?rope",
    "randomized-positions": r"randomi[sz]ed_pos",
    "rope-2d": r"axial_cis|(rope|rotary|cis)\w*_2d|2d_(rope|rotary)|vision_rot|(rope|rotary)_?2d",
    "sandwich": r"(^|_)sandwich",
    "shaw": r"(^|_)shaw",
    "time2vec": r"time_?2_?vec",
    "transformer-xl": r"(rel|relative)_?shift",
    "xpos": r"(^|_)x_?pos($|_)",
}
"""Patterns of names in snake case."""


def scheme_told(name: str) -> str:
    """Return the scheme of which a name speaks and whose calls are not tried; empty if none."""
    return next((scheme for scheme, told in OTHERS.items() if re.search(told, name)), "")
