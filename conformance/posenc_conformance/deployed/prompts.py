"""Prompts of a probe: their tokens, and the keys that their queries see."""

from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.deployed.instrument import FILLERS, UNKNOWN, Tabled
from posenc_conformance.deployed.probe_checkpoint import LARGEST_ACTIVATED, Probe
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.meaning import Group
from posenc_conformance.models.misreadings import longer

LEAST_BEFORE = 250
"""Least tokens before the first query: a query that sees few keys gives each a large share."""
DIGITS = 3
"""Tokens at the beginning of a text that encode its number."""
BEHIND = DIGITS + 2
"""Number of tokens after an encoder's last query, or before its first if the key is after the
queries; there they are the digits, a filler and a neutral key."""
LONGEST_NEAR = 64
"""Largest distance from a key that the first query of a chain measures; the last query measures
larger distances."""


@dataclass(frozen=True)
class Prompt:
    """Fillers, a key, a neutral key next to the query, and the first query of a chain."""

    layer: int
    gain: int
    key: int
    """Position of the key."""
    first: int
    """Position of the first query."""
    steps: int
    """Number of queries in the chain; those from number ``given`` on are measured."""
    given: int = 1
    """Number of queries in the prompt; the engine generates the others, and with 0 also the key."""
    serial: int = 0
    """Number of the text: texts with different numbers have different beginnings."""
    total: int = 0
    """Number of tokens in a complete text for an encoder; 0 if the engine continues the text."""
    also: tuple[int, ...] = ()
    """Further layers: their keys follow the key, and their neutral keys precede the neutral key.
    The readings of all layers add up."""
    written: bool = False
    """Whether the key, just before the first query, follows a token that makes an engine generate
    it."""

    @property
    def neutral(self) -> int:
        """Position of the neutral key: before the query, or before the keys if they are there."""
        is_near = self.key + len(self.also) == self.first - 1
        return (self.key if is_near else self.first) - 1 - self.written

    @property
    def measured(self) -> range:
        """The steps of the chain whose scores are read."""
        return range(max(self.given, 1) - 1, self.steps)

    @property
    def generated(self) -> int:
        """Number of tokens that the engine must generate."""
        return len(self.measured) + 2 * (not self.given)

    @property
    def positions(self) -> range:
        """Positions of the queries whose scores are read."""
        return range(self.first + self.measured[0], self.first + self.steps)

    @property
    def distances(self) -> range:
        """Distances of these queries from the key."""
        return range(self.positions[0] - self.key, self.positions[-1] - self.key + 1)

    @property
    def length(self) -> int:
        """Number of tokens in the whole text, including the last generated token."""
        return self.total or self.first + self.steps + 1

    @property
    def farthest(self) -> int:
        """Distance of the farthest query from the key, on either side."""
        return max(abs(self.distances[0]), abs(self.distances[-1]))

    @property
    def end(self) -> int:
        """Position of the last token of the prompt."""
        if not self.given:
            return self.key - 1
        return self.total - 1 if self.total else self.first + self.given - 1

    def moved(self, by: int) -> "Prompt":
        """Return the prompt with ``by`` more tokens before its key and its queries."""
        total = self.total + by if self.total else 0
        return replace(self, first=self.first + by, key=self.key + by, total=total)

    def tokens(self, probe: Probe) -> list[int]:
        """Return the tokens of the prompt."""
        plan = probe.plan
        digits = [self.serial // FILLERS**place for place in range(DIGITS)]
        count = self.total or self.first
        text = [plan.filler(digit) for digit in (*digits, *[0] * (count - DIGITS))]
        if isinstance(plan, Tabled):
            queries = self.steps if self.total else self.given
            return text[: self.first] + [plan.query_token(step) for step in range(queries)]
        layer = plan.numbered(self.layer, whole=bool(self.total))
        if self.total:
            chain = [plan.query_token(step) for step in range(self.steps)]
            text[self.first : self.first + self.steps] = chain
            text[self.key] = plan.key_token(layer, self.gain)
            text[self.neutral] = plan.key_token(layer, self.gain, neutral=True)
            return text
        for place, number in enumerate((layer, *self.also)):
            text[self.key + place] = plan.key_token(number, self.gain)
            text[self.neutral - place] = plan.key_token(number, self.gain, neutral=True)
        if self.written:
            text[self.key - 1] = plan.write_token(layer, self.gain)
        if not self.given:
            return text[: self.key]
        return text + [plan.query_token(step) for step in range(self.given)]

    def both_texts(self, probe: Probe) -> tuple[list[int], list[int]]:
        """Return the encoder's text and the decoder's.

        Only one of the two has keys. The decoder's begins with the padding token, as T5's does.
        """
        plan = probe.plan
        if self.total:
            begun = [plan.query_token(step) for step in range(self.given)]
            return self.tokens(probe), [UNKNOWN, *begun]
        tokens = self.tokens(probe)
        return tokens[:DIGITS], [UNKNOWN, *tokens]


def prompt_for(
    probe: Probe, group: Group, distance: int, layer: int | None = None, steps: int | None = None
) -> Prompt:
    """Make the prompt whose queries follow a key at ``distance``.

    A near distance is the first query's, a far one the last query's. Encoders are measured with
    keys on both sides: a negative distance is that of a key after the queries.
    """
    if probe.plan.encoder:
        prompt = whole_text(probe, group, distance, layer, steps)
    else:
        prompt = text_with(probe, group, distance, layer, steps)
    return with_gain(probe, group, prompt)


def with_gain(probe: Probe, group: Group, prompt: Prompt) -> Prompt:
    """Return a prompt with the largest gain at which all logits can be read."""
    return replace(prompt, gain=_gain(probe, group, prompt))


def text_with(
    probe: Probe,
    group: Group,
    distance: int,
    layer: int | None = None,
    steps: int | None = None,
    before: int = LEAST_BEFORE,
) -> Prompt:
    """Make the prompt of ``prompt_for`` for a decoder, with the smallest gain.

    At least ``before`` tokens come before its queries, and those of its number before its key: at
    position 0 nothing is rotated.
    """
    count = len(probe.plan.pairs) if steps is None else steps
    nearest = distance if distance <= LONGEST_NEAR else distance - count + 1
    first = max(before, nearest + DIGITS)
    return Prompt(
        layer=group.layers[0] if layer is None else layer,
        gain=probe.plan.gains[0],
        key=first - nearest,
        first=first,
        steps=count,
    )


def whole_text(
    probe: Probe, group: Group, distance: int, layer: int | None, steps: int | None
) -> Prompt:
    """Make the prompt of ``prompt_for`` for an encoder, with the smallest gain."""
    count = len(probe.plan.pairs) if steps is None else steps
    far = abs(distance)
    near = far <= LONGEST_NEAR and (group.reach is None or far + count - 1 <= group.reach)
    nearest = far if near else max(1, far - count + 1)
    first = max(LEAST_BEFORE, nearest)
    total = first + count + BEHIND
    key = first - nearest
    if distance < 0:
        key, first = total - 1 - key, total - first - count
    return Prompt(
        layer=group.layers[0] if layer is None else layer,
        gain=probe.plan.gains[0],
        key=key,
        first=first,
        steps=count,
        total=total,
    )


def _gain(probe: Probe, group: Group, prompt: Prompt) -> int:
    """Return the largest gain at which no logit is too large to be read."""
    seen = keys_seen(group, prompt)
    values = np.array([[_growth(group, prompt), 0.0]] * len(seen))

    def fits(gain: int) -> bool:
        shares = (1 + len(prompt.also)) * shares_of(probe.largest_score(gain) * values, seen)
        if probe.plan.encoder:
            return bool(probe.activated(gain, shares).max() <= LARGEST_ACTIVATED)
        return bool(probe.logits(gain, shares).max() <= probe.largest_read)

    gains = probe.plan.gains
    return max(gain for gain in gains if gain == gains[0] or fits(gain))


def keys_seen(group: Group, prompt: Prompt) -> Ints:
    """Compute the largest number of keys, besides its own, that each query may see."""
    positions = np.array(prompt.positions)
    if prompt.total:
        behind = prompt.total - 1 - positions
        if group.window is None:
            return np.asarray(positions + behind)
        near = np.minimum(positions, group.window) + np.minimum(behind, group.window)
        return np.asarray(near)
    if group.window is None:
        return np.asarray(positions)
    if group.attention == "chunked":
        return np.asarray(positions % group.window)
    return np.asarray(np.minimum(positions, group.window))


def shares_of(scores: Floats, seen: Ints) -> Floats:
    """Compute the attention shares of a key and a neutral one, [queries, heads, 2].

    ``scores`` are those of the key; ``seen`` counts the other keys of each query, whose scores are
    0.
    """
    raised = np.stack([np.exp(scores), np.ones_like(scores)], axis=-1)
    return np.asarray(raised / (np.exp(scores) + seen[:, np.newaxis])[..., np.newaxis])


def _growth(group: Group, prompt: Prompt) -> float:
    """Return the largest factor by which a group enlarges the scores of a prompt."""
    growth = max(abs(multiplier(group, position)) for position in prompt.positions)
    return growth * longer(group) ** 2
