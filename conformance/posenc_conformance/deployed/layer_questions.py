"""What is asked of a group of layers, and what is right, whatever kind its positions are of."""

from posenc_conformance.deployed import expected_scores, prompts
from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.instrument import Biased, Bucketed, Tabled
from posenc_conformance.deployed.instruments import (
    alibi_instrument,
    learned_instrument,
    t5_instrument,
)
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt
from posenc_conformance.models.meaning import Group


def is_whole(probe: Probe, group: Group) -> bool:
    """Return whether a group reads texts that are given as a whole: it is of an encoder."""
    if isinstance(probe.plan, Bucketed):
        return t5_instrument.is_whole(group)
    return probe.plan.encoder


def prompt_for(
    probe: Probe, group: Group, distance: int, layer: int | None = None, steps: int | None = None
) -> Prompt:
    """Make the prompt whose first query, or the last if it is far, stands at a distance.

    That is the distance from a key, or of a table from its beginning.
    """
    if isinstance(probe.plan, Tabled):
        return learned_instrument.prompt_for(probe, distance, steps)
    if isinstance(probe.plan, Biased):
        return alibi_instrument.prompt_for(probe, group, distance, layer, steps)
    if isinstance(probe.plan, Bucketed):
        return t5_instrument.prompt_for(probe, group, distance, layer, steps)
    return prompts.prompt_for(probe, group, distance, layer, steps)


def scores_of(probe: Probe, group: Group, prompt: Prompt, dtype: str) -> Scores:
    """Compute what a right engine gives, and how far it may be off."""
    if isinstance(probe.plan, Tabled):
        return learned_instrument.expected(group, prompt)
    if isinstance(probe.plan, Biased):
        return alibi_instrument.expected(probe, group, prompt, dtype)
    if isinstance(probe.plan, Bucketed):
        return t5_instrument.expected(probe, group, prompt, dtype)
    return expected_scores.expected(probe, group, prompt, dtype)
