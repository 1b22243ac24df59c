"""A group of layers of a deployed engine: its prompts, and the diagnosis of its answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from posenc_conformance.checks.model_adapter import page_of
from posenc_conformance.deployed.engine import Deployed
from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.http.endpoint import Gone
from posenc_conformance.deployed.instrument import Biased, Bucketed, Instrument, Tabled
from posenc_conformance.deployed.instruments.t5_instrument import described
from posenc_conformance.deployed.layer_questions import is_whole, prompt_for, scores_of
from posenc_conformance.deployed.measure import UNREADABLE, Measured, measure
from posenc_conformance.deployed.mistakes import explain
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import BEHIND, LONGEST_NEAR, Prompt
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.verdict import Blocked, Outcome, Wrong
from posenc_conformance.models.meaning import Group

MIDDLE = 200
"""Distance between query and key at which every layer and every request pattern is checked."""
MIDDLE_OF_BIASES = 24
"""The same for biases, which hide no key from any head at this distance."""
LONGER_BY = (37, 5, 1)
"""Numbers of tokens by which a text is made longer than another one, if there is room."""
BEYOND = 4
"""Distance of a key that a window must hide, in multiples of the window's reach."""
TEXTS = 3
"""Number of texts in one request, enough to show that each gets its own answer."""
FEW = 8
"""Number of pairs of channels with which every layer is checked."""
UNEXPLAINED = "no known mistake gives these scores"
GIVEN_OTHERWISE = "queries that are given in the prompt are wrong, those that are written right"
WRITTEN_OTHERWISE = "queries that are written are wrong, those that are given in the prompt right"
CAUSAL = ("causal", "a query does not see keys that come after it: the mask is causal")
Explanations = tuple[tuple[str, str], ...]
"""Ids of mistakes, and words for them."""


@dataclass(frozen=True)
class Asked:
    """A group of an engine's layers, and the limits on the texts sent to it."""

    engine: Deployed
    group: Group
    dtype: str
    length: int
    """Maximum number of tokens in a text."""
    allowed: int
    """The same for texts beyond the original context, whose frequencies may change."""
    right: dict[Prompt, Scores] = field(default_factory=dict)
    """Cached expected scores, which depend neither on a prompt's layer nor on its serial number."""

    @property
    def _encoder(self) -> bool:
        """Whether the engine reads whole texts and generates no tokens."""
        return is_whole(self.engine.probe, self.group)

    def _prompt(self, distance: int, layer: int | None = None, steps: int | None = None) -> Prompt:
        return prompt_for(self.engine.probe, self.group, distance, layer, steps)

    def _new(self, prompt: Prompt) -> Prompt:
        """Return the prompt with a new serial number: it shares no prefix with earlier texts."""
        return replace(prompt, serial=next(self.engine.serials))

    def _fits(self, prompt: Prompt) -> bool:
        """Return whether a text is short enough, and all its queries see the key."""
        reach, window = self.group.reach, self.group.window
        if prompt.length > self.length or (reach is not None and prompt.farthest > reach):
            return False
        if self.group.attention != "chunked" or window is None:
            return True
        return prompt.key // window == prompt.positions[-1] // window

    @cached_property
    def _middle(self) -> Prompt:
        """Return the prompt at the usual distance of request patterns, or another that fits."""
        distances = [MIDDLE, LONGEST_NEAR, 1]
        if isinstance(self.engine.probe.plan, Biased):
            distances.insert(0, MIDDLE_OF_BIASES)
        if isinstance(self.engine.probe.plan, Bucketed):
            distances.reverse()  # far keys all share one bucket
        return next(prompt for prompt in map(self._prompt, distances) if self._fits(prompt))

    def _measure(self, prompt: Prompt) -> Measured:
        """Measure a prompt's scores; raise Wrong if that fails, Blocked once the engine is gone."""
        if self.engine.gone:
            raise Blocked(f"the engine does not answer any more: {self.engine.gone[0]}")
        try:
            measured = measure(self.engine.probe, self.engine, prompt)
        except Misbehaviour as problem:
            if isinstance(problem, Gone):
                self.engine.gone.append(str(problem))
            raise Wrong(f"{self._place(prompt)}: {problem}") from None
        self.engine.answered.append(measured)
        return measured

    def _expected(self, prompt: Prompt) -> Scores:
        alike = replace(prompt, layer=self._prompt(1).layer, serial=0)
        if alike not in self.right:
            self.right[alike] = scores_of(self.engine.probe, self.group, alike, self.dtype)
        return self.right[alike]

    def _together(self, found: Sequence[Measured], when: str = "") -> Outcome:
        """Return the outcome of some measurements together; raise Wrong if one of them is wrong."""
        right = [self._expected(reading.prompt) for reading in found]
        ratios = [reading.ratio(scores).max() for reading, scores in zip(found, right, strict=True)]
        worst = int(np.argmax(ratios))
        lost = [place for place, reading in enumerate(found) if reading.lost]
        if not ratios[worst] <= 1 or lost:
            raise self._wrong(found, worst if not ratios[worst] <= 1 else lost[0], when)
        curve = [
            (
                reading.prompt.farthest,
                _off(self.engine.probe, reading.values, scores),
                float(scores.bound.max()),
            )
            for reading, scores in zip(found, right, strict=True)
        ]
        return Outcome(worst=float(ratios[worst]), curve=tuple(sorted(curve)))

    def _wrong(self, found: Sequence[Measured], worst: int, when: str) -> Wrong:
        """Make the failure for wrong measurements, with a description of the worst one."""
        return self._failure(found[worst], self._explanations(found, found[worst]), when)

    def _explanations(self, found: Sequence[Measured], worst: Measured) -> Explanations:
        """Return the mistakes that explain all measurements, the most special first."""
        engine = self.engine
        if worst.lost and self._is_right(replace(worst, lost="")):
            return (("written-otherwise", WRITTEN_OTHERWISE),)
        # One text by itself may match several mistakes.
        evidence = [*found, *(self._measure(self._new(each)) for each in self._telling())]
        fits = explain(engine.probe, engine.model, self.group, self.dtype, evidence)
        if not fits and not worst.seen.all():
            return (self._sight(worst),)
        one_given = worst.prompt.given == 1 and not self._encoder
        if not fits and one_given and self._is_right(worst, written=True):
            return (("given-otherwise", GIVEN_OTHERWISE),)
        if not fits and any(self._gave(each, worst) for each in engine.answered):
            return (("earlier-answer", "gives the answer to an earlier text"),)
        return tuple({each.id: each.words for each in fits}.items())

    def _telling(self) -> list[Prompt]:
        """Return texts that distinguish mistakes: the usual one, and further ones for buckets.

        Many mistakes leave the buckets of near distances unchanged. The last text has all queries
        in its prompt, since a mistake may affect only generated ones.
        """
        middle = self._middle
        if not isinstance(self.engine.probe.plan, Bucketed):
            return [middle]
        far = filter(self._fits, [self._prompt(LONGEST_NEAR)])
        if self._encoder:
            return [middle, *far]
        rows = self._expected(middle).values
        changes = np.abs(np.diff(rows, axis=0)).max(axis=1) > 0
        count = int(np.flatnonzero(changes[:-1] & changes[1:])[0]) + 2
        return [middle, *far, replace(middle, steps=count, given=count)]

    def _gave(self, earlier: Measured, later: Measured) -> bool:
        """Return whether two texts got equal scores although different ones were expected."""
        if not np.array_equal(earlier.values, later.values):
            return False
        first, second = (self._expected(measured.prompt).values for measured in (earlier, later))
        return not np.allclose(first, second)

    def _sight(self, measured: Measured) -> tuple[str, str]:
        """Return the id and words for a mask that hides keys which should be seen."""
        if measured.prompt.key > measured.prompt.positions[0] and not self._sees_ahead():
            return CAUSAL
        far = [
            abs(distance)
            for distance, seen in zip(measured.prompt.distances, measured.seen, strict=True)
            if seen
        ]
        others = {group.window for group in self.engine.model.meaning.groups if group.window}
        id = "window-everywhere" if others - {self.group.window} else "key-not-seen"
        id = "window-off" if self.group.window else id
        nearest = min(map(abs, measured.prompt.distances))
        how = f"no farther than {max(far):,}" if far else f"not at a distance of {nearest:,}"
        return id, f"sees a key {how} tokens"

    def _sees_ahead(self) -> bool:
        """Return whether a query sees the key that comes just after it."""
        return self._sees(self._prompt(-1, steps=1))

    def _sees(self, prompt: Prompt) -> bool:
        """Return whether all queries of a text see the key."""
        return bool(self._measure(self._new(prompt)).seen.all())

    def _far_beyond(self, reach: int) -> Prompt:
        """Return a text with one query, and a key far outside its window if there is room."""
        prompt = self._prompt(1, steps=1)
        first = min(BEYOND * reach, self.length - BEHIND - 1)
        return replace(prompt, first=first, key=0, total=first + 1 + BEHIND)

    def _failure(
        self,
        measured: Measured,
        explanations: Explanations,
        when: str,
        right: Scores | None = None,
    ) -> Wrong:
        """Make the failure for wrong scores; ``right`` replaces the usual expected scores."""
        prompt, right = measured.prompt, right or self._expected(measured.prompt)
        ratio = measured.ratio(right).max(axis=1)
        row = int(ratio.argmax())
        plan = self.engine.probe.plan
        pair = plan.order[prompt.given - 1 + row]
        query, bound = prompt.positions[row], float(right.bound[row].max())
        where = f"query at {query:,}"
        if not isinstance(plan, Tabled):
            where += f", key at {prompt.key:,}: distance {query - prompt.key:,}"
        text = [
            f"{explanations[0][1]} [{explanations[0][0]}]" if explanations else UNEXPLAINED,
            f"check      {self._place(prompt)}{when}",
            f"where      {plan.named(pair)}, {where}",
            f"expected   {self._in_words(prompt, row, right.values[row])}",
            f"got        {self._in_words(prompt, row, measured.values[row])}",
            f"error      {ratio[row]:.3g} times the bound of {bound:.2g}",
            f"wrong      {np.count_nonzero(ratio > 1)} of {len(ratio)} {plan.asks}",
            *(
                [f"but        {measured.lost}, before they were asked one by one"]
                * bool(measured.lost)
            ),
            f"see        {page_of(self.engine.model)}",
        ]
        outcome = Outcome(worst=float(ratio[row]), explanations=explanations)
        return Wrong("\n".join(text), outcome)

    def _in_words(self, prompt: Prompt, row: int, scores: Floats) -> str:
        """Describe the scores of one query in words."""
        probe = self.engine.probe
        if isinstance(probe.plan, Bucketed):
            return described(probe, self.group, prompt, row, scores)
        return _in_words(probe.plan, scores)

    def _is_right(self, measured: Measured, *, written: bool = False) -> bool:
        """Return whether scores are right; with ``written``, only those of generated queries."""
        right = self._expected(measured.prompt)
        return not measured.lost and bool((measured.ratio(right)[int(written) :] <= 1).all())

    def _place(self, prompt: Prompt) -> str:
        return f"layer {prompt.layer} ({self.group.id}) of {self.engine.model.title}"


def _off(probe: Probe, got: Floats, right: Scores) -> float:
    """Compute the largest difference of an angle from the right one, in radians.

    For biases and table rows, the largest difference between values that can be read.
    """
    if not probe.turns:
        read = right.bound <= UNREADABLE
        return float(np.abs(np.where(read, got - right.values, 0)).max())
    (first, second), (right_first, right_second) = got.T, right.values.T
    turned = (first + 1j * second) * np.conj(right_first + 1j * right_second)
    return float(np.abs(np.angle(turned)).max())


def _in_words(plan: Instrument, scores: Floats) -> str:
    """Describe the scores of one query in words."""
    if isinstance(plan, Tabled):
        return f"row {int(scores[0]):,}"
    if isinstance(plan, Biased):
        first, second = map(float, scores)
        return f"biases {first:.6g} and {second:.6g}, less those of the neutral key"
    return _polar(scores)


def _polar(scores: Floats) -> str:
    """Describe the two scores of a query by their angle and length."""
    if np.isposinf(scores).any():
        return "scores too large to be read"
    if np.isneginf(scores).any():
        return "the key is not seen"
    first, second = map(float, scores)
    angle, length = np.arctan2(-second, first), np.hypot(first, second)
    return f"angle {angle:.6f} rad, length {length:.6f}"
