import numpy as np

import posenc
from posenc_conformance.models import file as models


def alike() -> None:
    """Both fields are equal in the configurations of all DeepSeek models here with MLA and YaRN."""
    scalings = {
        entry.title: entry.config["rope_scaling"]
        for entry in models.load_all()
        if entry.repository.startswith("deepseek-ai/") and "rope_scaling" in entry.config
        if "qk_rope_head_dim" in entry.config
    }
    assert scalings.keys() >= {"DeepSeek-V2 Lite", "DeepSeek-V3"}
    assert all(entry["mscale"] == entry["mscale_all_dim"] for entry in scalings.values())


def factor() -> str:
    """posenc's logit of ones with DeepSeek-V3's YaRN, divided by the one without."""
    q, k, position = np.ones((1, 1, 192)), np.ones((1, 1, 128)), np.ones((1, 64))
    plain = posenc.mla_scores(q, k, position)[0, 0, 0]
    longer = posenc.mla_scores(q, k, position, factor=40.0, original_max_position_embeddings=4096)
    return f"{longer[0, 0, 0] / plain:.3f}"


def absorbed() -> str:
    """The root of 576 channels divided by the root of 192, which posenc divides logits by."""
    logit = posenc.mla_scores(np.ones((1, 1, 192)), np.ones((1, 1, 128)), np.ones((1, 64)))
    assert abs(192 / logit[0, 0, 0] - 192**0.5) < 1e-12
    return f"{(576 / 192) ** 0.5:.2f}"
