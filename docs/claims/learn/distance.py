import numpy as np

import posenc
from posenc_conformance.models.file import load_all, model_named


def who_learns() -> None:
    """The schemes of GPT-2, BERT and the image models are learned tables."""
    scheme = {model.id: {group.scheme for group in model.meaning.groups} for model in load_all()}
    images = ("vit-base-patch16-224", "deit-base-distilled-patch16-224", "dinov2-base")
    for name in ("gpt2", "bert-base", *images, "siglip-base-patch16-224"):
        assert scheme[name] == {"learned"}, name


def bert() -> None:
    """Rows and channels of BERT base, from its model file."""
    (group,) = model_named("bert-base").meaning.groups
    assert (group.parameters["rows"], group.parameters["dim"]) == (512, 768)


def who_bites() -> None:
    """With the page's numbers, "bites" gives most weight to the word before it, in both orders."""
    rows = np.array([[2, 0, 1, 0], [0, 2, 0, 1], [2, 0, 0, 1]])
    bias = np.array([[0.0, -2, 0], [2, 0, -2], [0, 2, 0]])
    for order in ([0, 1, 2], [2, 1, 0]):
        scores = rows[order][:, [1, 0, 2, 3]] @ rows[order].T / 2 + bias
        weights = np.exp(scores[1]) / np.exp(scores[1]).sum()
        assert weights[0] > 0.9


def first_slope() -> None:
    """Slopes of 8 heads: the first is one half, and each is half of the one before."""
    slopes = posenc.alibi_slopes(8)
    assert slopes[0] == 0.5
    assert (slopes[1:] == slopes[:-1] / 2).all()


def last_head() -> str:
    """How far back a key has half the weight of an equal one at the query: the last of 8 heads."""
    slope = posenc.alibi_slopes(8)[-1]
    behind = int(np.log(2) / slope)
    assert np.exp(-slope * behind) > 0.5 > np.exp(-slope * (behind + 1))
    return f"it is {behind} words back"
