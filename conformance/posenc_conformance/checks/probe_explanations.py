"""A group of layers of a deployed engine: its prompts, and the diagnosis of its answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.checks.model_adapter import page_of
from posenc_conformance.checks.probe_measurements import (
    Measuring,
)
from posenc_conformance.deployed.engine import can_cache, with_cache
from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.instrument import HEADS, Biased, Bucketed, Tabled
from posenc_conformance.deployed.instruments.t5_instrument import described
from posenc_conformance.deployed.kv_cache import CACHES
from posenc_conformance.deployed.layer_questions import scores_of
from posenc_conformance.deployed.measure import UNREADABLE, Measured
from posenc_conformance.deployed.mistakes import Explanation, explain
from posenc_conformance.deployed.pair_rates import described as described_rates
from posenc_conformance.deployed.pair_rates import rates
from posenc_conformance.deployed.pictured import angle_errors, pictures_of
from posenc_conformance.deployed.position_errors import drift
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import DIGITS, LONGEST_NEAR, Prompt
from posenc_conformance.deployed.table_ends import end_of_positions
from posenc_conformance.judge.arrays import Flags, Floats
from posenc_conformance.judge.verdict import Outcome, Wrong
from posenc_conformance.models.cost import multiplier

TEXTS = 3
"""Number of texts in one request, enough to show that each gets its own answer."""
ROWS_LISTED = 4
"""Number of rows that a description lists."""
LAYERS_MISTAKEN = ("layers-mistaken", "layers treated like those of another group")
UNEXPLAINED = "no known mistake gives these scores"
GIVEN_OTHERWISE = "queries that are given in the prompt are wrong, those that are written right"
NEW_OTHERWISE = "a text is wrong when it is new, and right after another that begins alike"
QUERIES_WRONG = (
    "queries-wrong",
    "scores are wrong, and those queries that are right place the key",
)
WRITTEN_OTHERWISE = "queries that are written are wrong, those that are given in the prompt right"
ROUNDED_LIKE = {"tf32": "float16"}
"""Formats of products whose significands have as many bits as those of a dtype."""
ROUNDINGS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "float32": (
        ("tf32", "float16", "products in TF32"),
        ("float16", "float16", "float16"),
        ("bfloat16", "bfloat16", "bfloat16"),
    ),
    "float16": (("bfloat16", "bfloat16", "bfloat16"),),
}
"""For each claimed dtype shorter formats that it may be taken for: the name to claim, the dtype
with the same errors, and a description."""
LEAST_OF_LENGTHS = 1 / 16
"""Least part of the squared errors that rounding causes in the lengths of pairs."""
FARTHEST_MEAN = 4.0
"""Largest mean of errors of lengths, in units of its standard deviation, that rounding has."""
SHARPER = 4.0
"""Least factor by which a mistake must explain scores better than a rounding does."""
CAUSAL = ("causal", "a query does not see keys that come after it: the mask is causal")
Explanations = tuple[tuple[str, str], ...]
"""Ids of mistakes, and words for them."""


@dataclass(frozen=True)
class Evidence:
    """The measurements by which a mistake is named."""

    readings: Sequence[Measured]
    worst: Measured
    usual: Measured
    """That of the usual text, in the layer of the worst one."""

    @property
    def of_layer(self) -> list[Measured]:
        """The measurements of the layer of the worst one."""
        layer = self.worst.prompt.layer
        return [reading for reading in self.readings if reading.prompt.layer == layer]


@dataclass(frozen=True)
class Asked(Measuring):
    """A group of an engine's layers, and the explanations of what is wrong with it."""

    def _together(self, found: Sequence[Measured], when: str = "") -> Outcome:
        """Return the outcome of some measurements together; raise Wrong if one of them is wrong."""
        right = [self._expected(reading.prompt) for reading in found]
        ratios = [reading.ratio(scores).max() for reading, scores in zip(found, right, strict=True)]
        worst = int(np.argmax(ratios))
        lost = [place for place, reading in enumerate(found) if reading.lost]
        if not ratios[worst] <= 1 or lost:
            raise self._wrong(found, worst if not ratios[worst] <= 1 else lost[0], when)
        for reading in found:
            self._require_count(reading, when)
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
        evidence = self._evidence(found, worst)
        return self._known(evidence) or self._symptoms(evidence)

    def _evidence(self, found: Sequence[Measured], worst: Measured) -> Evidence:
        """Add texts that tell mistakes apart: one text by itself may match several."""
        layer = worst.prompt.layer
        telling = [replace(text, layer=layer) for text in self._telling()]
        more = [self._measure_new(text) for text in telling]
        return Evidence((*found, *more), worst, more[0])

    def _known(self, evidence: Evidence) -> Explanations:
        """Return the known mistakes, or the roundings, that explain all measurements."""
        engine, worst = self.engine, evidence.worst
        if worst.lost and self._is_right(replace(worst, lost="")):
            return self._of_lost(worst.prompt)
        readings, of_layer = evidence.readings, evidence.of_layer
        fits = explain(engine.probe, engine.model, self.group, self.dtype, readings)
        rounding = self._roundings(readings, fits)
        if rounding or fits or len(of_layer) == len(readings):
            return rounding or _named(fits)
        fits = explain(engine.probe, engine.model, self.group, self.dtype, of_layer)
        return self._in_layers(_named(fits), [worst.prompt.layer])

    def _symptoms(self, evidence: Evidence) -> Explanations:
        """Say what is right beside wrong scores that no known mistake explains."""
        worst, usual = evidence.worst, evidence.usual
        given = self._given_alone(worst)
        if not given and (like := self._like_others(evidence)):
            return (like,)
        if not worst.seen.all():
            return given or (self._sight(worst),)
        part = self._end_of_positions(evidence) or self._wrong_part(evidence)
        if part:
            return (part,)
        if given:
            return given
        if any(map(self._is_of_another, evidence.of_layer)):
            return (("earlier-answer", "gives the answer to an earlier text"),)
        if self._is_right_when_given(usual):
            return (self._written_otherwise(usual),)
        return ()

    def _written_otherwise(self, measured: Measured) -> tuple[str, str]:
        """Say that only queries that are written are wrong, and where they stand if that shows."""
        off = ""
        if self.group.turns:
            off = drift(self.engine.probe, self.group, self.dtype, measured)
        return "written-otherwise", f"{WRITTEN_OTHERWISE}{': ' * bool(off)}{off}"

    def _end_of_positions(self, evidence: Evidence) -> tuple[str, str] | None:
        """Say at which position positions end, if that explains all scores of the layer."""
        if self._encoder or not self.group.turns:
            return None
        end = end_of_positions(self.engine.probe, self.group, self.dtype, evidence.of_layer)
        if end and self._is_right_when_given(evidence.usual):
            return end[0], f"{end[1]}, in what the engine writes"
        return end

    def _given_alone(self, wrong: Measured) -> Explanations:
        """Say that the only query in the prompt is wrong, if those that are written are right."""
        count, several = wrong.prompt.given, len(wrong.values) > 1
        if count == 1 and several and not self._encoder and self._is_right(wrong, written=True):
            return (("given-otherwise", GIVEN_OTHERWISE),)
        return ()

    def _of_queries(self, wrong: Measured) -> Explanations:
        """Say which queries are wrong if some of them show that the key is at its place."""
        return self._given_alone(wrong) or (QUERIES_WRONG,)

    def _of_lost(self, prompt: Prompt) -> Explanations:
        """Say what is wrong with a text whose queries are right when they are asked one by one.

        Each such text begins like the one before it, so the first query is asked in a new text.
        They were asked with the smallest gain; nothing is said if the word that was lost with a
        larger one is lost in a prompt as well.
        """
        first = replace(prompt, steps=max(prompt.given, 1))
        if not self._is_right(self._measure(self._new(first), again=False)):
            return (("changes-when-repeated", NEW_OTHERWISE),)
        chains = (replace(prompt, gain=gain) for gain in self.engine.probe.plan.gains)
        found = (self._measure(self._new(chain), again=False) for chain in chains)
        lost = next((measured.prompt for measured in found if measured.lost), None)
        if lost is None:
            return ()
        given = self._new(replace(lost, given=lost.steps))
        if self._measure(given, again=False).lost:
            return ()
        return (("written-otherwise", WRITTEN_OTHERWISE),)

    def _in_layers(self, known: Explanations, layers: Sequence[int]) -> Explanations:
        """Return explanations that say in which layers they apply, and in which heads of one."""
        plan, listed = self.engine.probe.plan, ", ".join(map(str, layers))
        where = f"in layers {listed}"
        if len(layers) == 1:
            where = f"in layer {listed}"
            if plan.heads > HEADS and self.group.turns:
                where += " (heads {} and {})".format(*plan.heads_of(layers[0]))
        return tuple((id, f"{where}: {words}") for id, words in known)

    def _wrong_part(self, evidence: Evidence) -> tuple[str, str] | None:
        """Say which head, pairs or rows are wrong if the others are right."""
        if isinstance(self.engine.probe.plan, Tabled):
            return self._wrong_rows(evidence.of_layer)
        return self._wrong_head(evidence.of_layer) or self._wrong_pairs(evidence.usual)

    def _wrong_rows(self, readings: Sequence[Measured]) -> tuple[str, str] | None:
        """Say at which positions other rows are read if most are right."""
        rows = {
            place: (int(got), bool(off <= 1))
            for reading in readings
            for place, got, off in zip(
                reading.prompt.positions,
                reading.values[:, 0],
                reading.ratio(self._expected(reading.prompt))[:, 0],
                strict=True,
            )
        }
        wrong = {place: row for place, (row, is_right) in rows.items() if not is_right}
        if not 0 < 2 * len(wrong) <= len(rows):
            return None
        listed = ", ".join(f"{row:,} at {place:,}" for place, row in [*wrong.items()][:ROWS_LISTED])
        return "rows-wrong", f"reads row {listed}, and at most other positions the right rows"

    def _wrong_head(self, readings: Sequence[Measured]) -> tuple[str, str] | None:
        """Say which of a layer's two heads is wrong if the other one is right in all texts."""
        if not self.group.turns:
            return None
        ratios = [reading.ratio(self._expected(reading.prompt)) for reading in readings]
        are_right = [
            all((ratio[:, place] <= 1).all() for ratio in ratios) for place in range(HEADS)
        ]
        if are_right.count(True) != 1:
            return None
        # A small error of an angle may change a sine alone, but not in most of all pairs.
        if 2 * np.count_nonzero((ratios[-1] > 1).any(axis=1)) <= len(ratios[-1]):
            return None
        # Without a rotation, the scores of one head are 0, and a wrong size leaves them so.
        expected = [self._expected(reading.prompt) for reading in readings]
        if any((np.abs(scores.values) <= scores.bound).all(axis=0).any() for scores in expected):
            return None
        heads = self.engine.probe.plan.heads_of(readings[0].prompt.layer)
        right, wrong = (heads[are_right.index(state)] for state in (True, False))
        return "heads-wrong", f"head {wrong} is wrong, and head {right} is right"

    def _wrong_pairs(self, measured: Measured) -> tuple[str, str] | None:
        """Say which pairs are wrong if most pairs of a text of all pairs are right.

        The first one alone could also be wrong because its query is given in the prompt.
        """
        plan, prompt = self.engine.probe.plan, measured.prompt
        wrong = np.flatnonzero(self._wrong_queries(measured))
        if not (self.group.turns and 0 < 2 * len(wrong) <= len(measured.values)):
            return None
        second = replace(prompt, steps=2, given=2)
        if [*wrong] == [0] and not self._is_right(self._measure_new(second)):
            return None
        if late := self._late_queries(measured):
            return late
        sizes = self.engine.probe.query_sizes * np.array([1.0, 0.0])
        still = np.abs(measured.values[wrong] - sizes) <= self._expected(prompt).bound[wrong]
        changed = None if still.all() else self._rates(measured)
        if changed:
            return "frequencies-wrong", described_rates(self.group, changed)
        if not still.all() and self._is_right_when_given(measured):
            return self._written_otherwise(measured)
        listed = ", ".join(str(plan.order[prompt.measured[row]]) for row in wrong)
        how = "not rotated" if still.all() else "wrong"
        return "pairs-wrong", f"in each head pairs {listed} are {how}, and all others right"

    def _wrong_queries(self, measured: Measured) -> Flags:
        """Return which queries are wrong."""
        return np.asarray((measured.ratio(self._expected(measured.prompt)) > 1).any(axis=1))

    def _late_queries(self, measured: Measured) -> tuple[str, str] | None:
        """Say from where on queries are wrong, if pairs that are wrong there are right before.

        Each pair is asked at one place of a text, so a text with other places tells them apart.
        """
        prompt = measured.prompt
        half = (prompt.steps + 1) // 2
        moved = (prompt.moved(by) for by in (half, -half) if prompt.neutral + by >= DIGITS)
        text = next(filter(self._fits, moved), None)
        if text is None:
            return None
        found = np.array(
            [self._wrong_queries(each) for each in (measured, self._measure_new(text))]
        )
        places = np.array([prompt.positions, text.positions])
        first = places[found].min()
        right = places[~found & found.any(axis=0)]  # of pairs that are wrong in the other text
        if not right.size or right.max() >= first:
            return None
        whose = " that the engine writes" * self._is_right_when_given(measured)
        return "late-positions-wrong", f"queries{whose} beyond {first - 1:,} are wrong in all pairs"

    def _rates(self, measured: Measured) -> Mapping[int, float] | None:
        """Return how many times as fast as it should each wrong pair rotates, if that is known."""
        near = self._measure_new(replace(self._prompt(1), layer=measured.prompt.layer))
        texts = [(reading, self._expected(reading.prompt)) for reading in (near, measured)]
        return rates(self.engine.probe, self.group, texts)

    def _is_right_when_given(self, measured: Measured) -> bool:
        """Return whether generated queries are wrong that are right when given in the prompt.

        The first one, one in the middle and the last one of those that are wrong are given.
        """
        prompt = measured.prompt
        ratio = measured.ratio(self._expected(prompt)).max(axis=1)
        wrong = [step for step, off in zip(prompt.measured, ratio, strict=True) if off > 1]
        written = [step + 1 for step in wrong if step >= prompt.given > 0]
        if self._encoder or not written:
            return False
        counts = {written[0], written[len(written) // 2], written[-1]}
        texts = [replace(prompt, steps=count, given=count) for count in sorted(counts)]
        return all(self._is_right(self._measure_new(text)) for text in texts)

    def _roundings(self, found: Sequence[Measured], fits: Sequence[Explanation]) -> Explanations:
        """Return one explanation with all unclaimed roundings whose errors explain all scores.

        A mistake that explains them much better comes first.
        """
        are_right = all(each.agrees_with(self._expected(each.prompt)) for each in found)
        if are_right or not (self.engine.probe.turns and self._is_noise(found)):
            return ()
        systematic = self._is_systematic(found)
        if systematic and self._resized:
            return ()
        off = _largest_error(found, self._expected)
        if any(SHARPER * _largest_error(found, mistake.scores) < off for mistake in fits):
            return ()
        listed = " or ".join(
            f"{words} ({option})"
            for words, option, probe, dtype in self._unclaimed(systematic=systematic)
            if all(
                each.agrees_with(scores_of(probe, self.group, each.prompt, dtype)) for each in found
            )
        )
        words = f"has the errors of a rounding that was not claimed: {listed}"
        return (("rounding-not-claimed", words),) if listed else ()

    def _unclaimed(self, *, systematic: bool) -> Iterator[tuple[str, str, Probe, str]]:
        """Yield unclaimed roundings: words, the option, a probe and a dtype with their errors.

        ``systematic`` says whether errors of lengths have a mean.
        """
        engine = self.engine
        for name, dtype, words in ROUNDINGS.get(self.dtype, ()):
            yield words, f"--posenc-dtype={name}", engine.probe, dtype
        # Rounding to the nearest of few numbers makes pairs no longer, and no shorter.
        for name in () if systematic or not can_cache(engine) else CACHES:
            if name != engine.probe.cache:
                probe = with_cache(engine, name).probe
                yield f"keys cached in {name}", f"--posenc-cache={name}", probe, self.dtype

    def _is_noise(self, found: Sequence[Measured]) -> bool:
        """Return whether errors change the lengths of pairs about as much as their angles.

        Rounding does; a wrong angle changes no length.
        """
        longer, apart = self._errors(found)
        if not np.isfinite(longer).all():
            return False
        return bool(np.square(longer).sum() > LEAST_OF_LENGTHS * np.square(apart).sum())

    def _is_systematic(self, found: Sequence[Measured]) -> bool:
        """Return whether errors of lengths have a mean that is not due to chance."""
        longer, _ = self._errors(found)
        return bool(abs(longer.mean()) > FARTHEST_MEAN * longer.std() / len(longer) ** 0.5)

    def _errors(self, found: Sequence[Measured]) -> tuple[Floats, Floats]:
        """Return the errors of the lengths of all pairs, and those of the pairs themselves."""
        got = np.concatenate([reading.values for reading in found])
        right = np.concatenate([self._expected(reading.prompt).values for reading in found])
        parts = np.array([1, 1j]) / self.engine.probe.query_sizes
        with np.errstate(invalid="ignore"):  # keys that are not seen
            one, other = got @ parts, right @ parts
            return np.abs(one) - np.abs(other), np.abs(one - other)

    @property
    def _resized(self) -> bool:
        """Whether scores have a size that may be wrong: a soft cap, or a growth with positions."""
        grows = multiplier(self.group, self.allowed) != 1
        return grows or self.engine.probe.score_cap is not None

    def _telling(self) -> list[Prompt]:
        """Return texts that distinguish mistakes: the usual one, and further ones for biases.

        Many mistakes leave the buckets of near distances unchanged. The last text of biases has all
        queries in its prompt, since a mistake may affect only generated ones.
        """
        middle = self._middle
        if isinstance(self.engine.probe.plan, Biased):
            return [middle, replace(middle, given=middle.steps)]
        if not isinstance(self.engine.probe.plan, Bucketed):
            return [middle]
        far = filter(self._fits, [self._prompt(LONGEST_NEAR)])
        if self._encoder:
            return [middle, *far]
        rows = self._expected(middle).values
        changes = np.abs(np.diff(rows, axis=0)).max(axis=1) > 0
        count = int(np.flatnonzero(changes[:-1] & changes[1:])[0]) + 2
        return [middle, *far, replace(middle, steps=count, given=count)]

    def _is_of_another(self, later: Measured) -> bool:
        """Return whether an earlier text got the same scores, and rightly."""
        return any(self._gave(earlier, later) for earlier in self.engine.answered)

    def _gave(self, earlier: Measured, later: Measured) -> bool:
        """Return whether two texts got equal scores although different ones were expected.

        The earlier answer must have been right: two wrong ones may be equal by chance.
        """
        if not self._is_right(earlier) or not np.array_equal(earlier.values, later.values):
            return False
        first, second = (self._expected(measured.prompt).values for measured in (earlier, later))
        return not np.allclose(first, second)

    def _like_others(self, evidence: Evidence) -> tuple[str, str] | None:
        """Say as which other group's a layer is treated, if that explains all scores and windows.

        If groups differ in their windows alone, the mistake is that of a window.
        """
        readings, layer = evidence.of_layer, evidence.worst.prompt.layer
        if not any(reading.seen.any() for reading in readings):  # no angle tells groups apart
            near = replace(self._prompt(1), layer=layer)
            readings = [*readings, self._measure_new(near)]
        for group in self._other_groups:
            if not all(self._is_like(reading, group) for reading in readings):
                continue
            id, words = LAYERS_MISTAKEN
            words = f"{words}: {layer} as {group.id}"
            if all(self._scores_alike(reading.prompt, group) for reading in readings):
                id, words = self._sight(evidence.worst)
            return id, words + self._exchange(group)
        return None

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
        pair = plan.order[prompt.measured[row]]
        query, bound = prompt.positions[row], float(right.bound[row].max())
        where = f"query at {query:,}"
        if not isinstance(plan, Tabled):
            where += f", key at {prompt.key:,}: distance {query - prompt.key:,}"
        lines = [
            f"where      {plan.named(pair)}, {where}",
            f"expected   {self._in_words(prompt, row, right.values[row])}",
            f"got        {self._in_words(prompt, row, measured.values[row])}",
            f"error      {ratio[row]:.3g} times the bound of {bound:.2g}",
            f"wrong      {np.count_nonzero(ratio > 1)} of {len(ratio)} {plan.asks}",
        ]
        worst, count = float(ratio[row]), self._count(measured)
        if worst <= 1 and not measured.lost and count is not None and count.ratio > 1:
            worst = count.ratio
            lines = [f"got        {self._counted(count)}", *self._of_count(prompt, count)]
        if measured.lost:
            lines.append(f"but        {measured.lost}")
        text = [
            f"{explanations[0][1]} [{explanations[0][0]}]" if explanations else UNEXPLAINED,
            f"check      {self._place(prompt)}{when}",
            *lines,
            f"see        {page_of(self.engine.model)}",
        ]
        pictures = pictures_of(self.engine.probe, self._judged(), (measured, right))
        outcome = Outcome(worst=worst, explanations=explanations, pictures=pictures)
        return Wrong("\n".join(text), outcome)

    def _in_words(self, prompt: Prompt, row: int, scores: Floats) -> str:
        """Describe the scores of one query in words."""
        probe = self.engine.probe
        if isinstance(probe.plan, Bucketed):
            return described(probe, self.group, prompt, row, scores)
        return _in_words(probe, scores)


def _largest_error(found: Sequence[Measured], scores: Callable[[Prompt], Scores]) -> float:
    """Return the largest difference from expected scores, infinite for keys not seen."""
    with np.errstate(invalid="ignore"):
        errors = [np.abs(each.values - scores(each.prompt).values).max() for each in found]
    return float(np.nan_to_num(max(errors), nan=np.inf))


def _named(fits: Sequence[Explanation]) -> Explanations:
    """Return the id and the words of each mistake once."""
    return tuple({each.id: each.words for each in fits}.items())


def _off(probe: Probe, got: Floats, right: Scores) -> float:
    """Compute the largest difference of an angle from the right one, in radians.

    For biases and table rows, the largest difference between values that can be read.
    """
    if not probe.turns:
        read = right.bound <= UNREADABLE
        return float(np.abs(np.where(read, got - right.values, 0)).max())
    return float(np.abs(angle_errors(probe, got, right.values)).max())


def _in_words(probe: Probe, scores: Floats) -> str:
    """Describe the scores of one query in words."""
    if isinstance(probe.plan, Tabled):
        return f"row {int(scores[0]):,}"
    if isinstance(probe.plan, Biased):
        first, second = map(float, scores)
        return f"biases {first:.6g} and {second:.6g}, less those of the neutral key"
    return _polar(scores / probe.query_sizes)


def _polar(scores: Floats) -> str:
    """Describe the two scores of a query by their angle and length."""
    if np.isposinf(scores).any():
        return "scores too large to be read"
    if np.isneginf(scores).any():
        return "the key is not seen"
    first, second = map(float, scores)
    angle, length = np.arctan2(-second, first), np.hypot(first, second)
    return f"angle {angle:.6f} rad, length {length:.6f}"
