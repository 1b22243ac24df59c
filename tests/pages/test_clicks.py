"""From what a reader sees to its cause in three clicks: the page, a symptom, a group."""

import pytest
from blocks import symptom_blocks

SEEN = {
    "converted weights answer differently": ("converted-weights", "layout-swapped", "rope"),
    "a GGUF file of Llama talks nonsense": ("saved", "not-permuted", "permute-qk"),
    "differences in bfloat16 grow": ("bfloat16", "low-precision-angles", "rope"),
    "decoding with a cache differs": ("cache", "queries-from-zero", "alibi"),
    "left padding changes the answer": ("batch", "padding-counted", "position-ids"),
    "packed texts see each other's positions": ("batch", "boundaries-ignored", "rope-kernel"),
    "the table starts one row late": ("off-by-one", "positions-shifted", "sinusoidal"),
    "the loss is too low to be true": ("future", "inverted", "causal-mask"),
    "wrong with pictures of another size": ("images", "axes-swapped", "sincos-2d"),
    "wrong from 4,096 on, at once": ("edge", "window-off-by-one", "sliding-window"),
    "worse and worse behind 4,096": ("long-texts", "wrong-base", "rope"),
    "right to the trained length alone": ("trained-length", "scaling-missing", "llama3"),
    "short prompts got worse with a scaling": ("scaling-worse", "always-full", "dynamic-ntk"),
    "NaN in the first row": ("exception", "itself-hidden", "sliding-window"),
    "the second token is wrong already": ("second-token", "head-dim-frequencies", "rope"),
    "slopes of 12 heads are wrong": ("sizes", "slopes-spread-wrongly", "alibi"),
    "the gradient check fails": ("gradients", "backward-is-forward", "rope"),
    "only queries are turned": ("no-order", "keys-unrotated", "rope-kernel"),
    "before and after are confused": ("backwards", "sign-flipped", "rope"),
    "T5 looks at the wrong side": ("reach", "direction-swapped", "t5-bias"),
}
"""Ten required symptoms and ten more, with the cause that must be shown."""


def shown(symptom: str, scheme_of: str, mistake: str) -> bool:
    """Return whether a group of a symptom names a mistake in a scheme."""
    (described,) = (entry for entry in symptom_blocks.symptoms() if entry.id == symptom)
    return any(
        candidate.id == mistake and scheme_of in {scheme.id for scheme, _ in candidate.where}
        for families in symptom_blocks.GROUPS.values()
        for candidate in symptom_blocks.shown(symptom_blocks.candidates(described, families))
    )


@pytest.mark.parametrize("words", SEEN)
def test_a_cause_is_three_clicks_away(words: str) -> None:
    symptom, mistake, scheme = SEEN[words]
    assert shown(symptom, scheme, mistake)


def test_a_cause_is_not_named_under_any_symptom() -> None:
    assert not shown("trained-length", "rope", "layout-swapped")


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ("It is 0.5 wide. It is wrong.", "It is 0.5 wide."),
        ("Only one", "Only one"),
        ("Rows are moved to the right: zeros end it.", "Rows are moved to the right."),
        ("All channels are permuted, although few turn.", "All channels are permuted."),
        ("Added to queries, but not to keys.", "Added to queries, but not to keys."),
        ("Wrong: b is 2.", "Wrong: b is 2."),
    ],
    ids=["two-sentences", "one", "reason", "condition", "alternative", "too-short"],
)  # fmt: skip
def test_a_candidate_is_described_in_one_clause(described: str, said: str) -> None:
    assert symptom_blocks.main_clause(described) == said
