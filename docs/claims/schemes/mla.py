import numpy as np

import posenc


def factor() -> str:
    """What posenc makes of ones under DeepSeek-V3's YaRN, over what it makes of them without."""
    q, k, position = np.ones((1, 1, 192)), np.ones((1, 1, 128)), np.ones((1, 64))
    plain = posenc.mla_scores(q, k, position)[0, 0, 0]
    longer = posenc.mla_scores(q, k, position, factor=40.0, original_max_position_embeddings=4096)
    return f"{longer[0, 0, 0] / plain:.3f}"


def absorbed() -> str:
    """The root of 576 channels over that of the 192 that posenc divides ones by."""
    logit = posenc.mla_scores(np.ones((1, 1, 192)), np.ones((1, 1, 128)), np.ones((1, 64)))
    assert abs(192 / logit[0, 0, 0] - 192**0.5) < 1e-12
    return f"{(576 / 192) ** 0.5:.2f}"
