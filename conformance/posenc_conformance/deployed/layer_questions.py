"""The prompt and the right scores for a group of layers, for each kind of positions."""

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
    """Return whether a group reads complete texts: whether it is an encoder's."""
    if isinstance(probe.plan, Bucketed):
        return t5_instrument.is_whole(group)
    return probe.plan.encoder


def prompt_for(
    probe: Probe, group: Group, distance: int, layer: int | None = None, steps: int | None = None
) -> Prompt:
    """Make the prompt whose first query is at ``distance``; if that is far, the last query.

    The distance is from a key, or for a table from its beginning.
    """
    if isinstance(probe.plan, Tabled):
        return learned_instrument.prompt_for(probe, distance, steps)
    if isinstance(probe.plan, Biased):
        return alibi_instrument.prompt_for(probe, group, distance, layer, steps)
    if isinstance(probe.plan, Bucketed):
        return t5_instrument.prompt_for(probe, group, distance, layer, steps)
    return prompts.prompt_for(probe, group, distance, layer, steps)


def scores_of(probe: Probe, group: Group, prompt: Prompt, dtype: str) -> Scores:
    """Compute the scores of a right engine, and their bounds."""
    if isinstance(probe.plan, Tabled):
        return learned_instrument.expected(group, prompt)
    if isinstance(probe.plan, Biased):
        return alibi_instrument.expected(probe, group, prompt, dtype)
    if isinstance(probe.plan, Bucketed):
        return t5_instrument.expected(probe, group, prompt, dtype)
    return expected_scores.expected(probe, group, prompt, dtype)
