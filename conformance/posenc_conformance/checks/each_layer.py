"""Every layer of a group: its window, and its scores at the farthest distance.

One text checks several layers where their readings add up. Only if the sum is wrong, each of them
has a text of its own.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from posenc_conformance.checks.key_places import KeyPlaces, MeasuredSum
from posenc_conformance.checks.probe_explanations import Explanations
from posenc_conformance.checks.probe_measurements import FEW
from posenc_conformance.checks.request_patterns import CHANGED
from posenc_conformance.deployed.layer_sums import (
    SEVERAL,
    across,
    can_add_up,
)
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.prompts import BEHIND, DIGITS, Prompt, with_gain
from posenc_conformance.judge.arrays import Flags
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong

Layers = Sequence[int]
EARLIEST = 64
"""Position of the first key in a text of several layers, if there is room: keys that see few tokens
change the norms of later layers."""

TOKENS_OF_A_STEP = 32
"""Tokens of a prompt that cost about as much time as one that an engine generates."""
AGAIN = ", after a text that begins alike"


@dataclass(frozen=True)
class EachLayer(KeyPlaces):
    """A group of layers, each of which is checked where a group is usually checked once."""

    def _far_layers(self, distance: int) -> Outcome:
        """Check the scores of each layer at the farthest distance, as ``_each_layer`` does."""
        whole = self._prompt(distance, steps=min(FEW, self._middle.steps))
        return self._each_layer(replace(whole, key=max(whole.key, min(EARLIEST, whole.first // 2))))

    def _late_layers(self) -> Outcome:
        """Check the scores of each layer at the end of the context, as ``_each_layer`` does."""
        return self._each_layer(self._last_keys, self._measure_sum_late)

    @property
    def _last_keys(self) -> Prompt:
        """The text whose key is at the end of the context, with the fewest queries for a sum.

        A single one gives the keys of some layers too small a weight among those of all.
        """
        return self._last_key(min(2, self._middle.steps))

    @property
    def _has_late_layers(self) -> bool:
        """Whether keys of several layers at the end of the context are checked together.

        Those with a window only if one text can check several: their windows have late texts too.
        """
        several = len(self.group.layers) > 1 and self.group.turns and not self._encoder
        if not several or self.group.attention == "chunked" or not can_add_up(self.engine.probe):
            return False
        if self.group.reach is None:
            return True
        return self._together_in(self._fewest_texts(self._last_keys), _unseen) > 0

    def _each_layer(
        self, alone: Prompt, measure: Callable[[Prompt], MeasuredSum] | None = None
    ) -> Outcome:
        """Check a text for each layer; ``measure`` is that of ``_suspects``.

        Raises Wrong for layers that differ from the others, and Blocked if all are wrong, which
        other checks report.
        """
        suspects, sums = self._suspects(self._fewest_texts(alone), _unseen, measure)
        found = [self._measure_new(replace(alone, layer=layer)) for layer in suspects]
        wrong = [each for each in found if not self._is_right(each)]
        if len(wrong) == len(self.group.layers):
            raise Blocked("all layers of the group are wrong")
        if wrong:
            self._require_count_if_scored(wrong[0], "")
            beside = "those of other layers are right"
            known = self._explanations_of_layer(wrong[0])
            known = known or self._explanations_of_places(wrong, "", beside, late=True)
            layers = [each.prompt.layer for each in wrong]
            raise self._failure(wrong[0], self._in_layers(known, layers), "")
        return self._of_sums(sums)

    def _fewest_texts(self, alone: Prompt) -> Callable[[Layers], Prompt]:
        """Return what makes the texts of several layers, with the queries that cost the least.

        More queries of a text tell more layers apart where roundings are large.
        """
        most = len(self.engine.probe.plan.pairs) - FEW

        def text(steps: int, layers: Layers) -> Prompt:
            first = alone.first + alone.steps - steps
            return self._enlarged(replace(alone, first=first, steps=steps), layers)

        def cost(steps: int) -> int:
            count = max(1, self._together_in(partial(text, steps), _unseen))
            tokens = alone.length + TOKENS_OF_A_STEP * steps
            return math.ceil(len(self.group.layers) / count) * tokens

        numbers = [alone.steps]
        if alone.key < alone.first - 1:  # more queries move a key from the end of the context
            numbers += [n for n in (2 * FEW, most) if alone.steps < n <= most]
        return partial(text, min(numbers, key=cost))

    def _reused_layers(self) -> Outcome:
        """Check each layer after a text with the same beginning, in which the keys are.

        Raises Wrong for layers that are right in a new text.
        """
        alone = replace(self._middle, steps=min(FEW, self._middle.steps))

        def text(layers: Layers) -> Prompt:
            return self._enlarged(alone, layers)

        def measure(prompt: Prompt) -> MeasuredSum:
            return self._measure_sum(self._begun(prompt))

        suspects, sums = self._suspects(text, _unseen, measure)
        # Each at a place of its own: an engine may still have the keys of earlier texts.
        texts = (
            replace(alone, layer=layer).moved(number) for number, layer in enumerate(suspects, 1)
        )
        found = [self._measure(self._begun(self._new(text))) for text in filter(self._fits, texts)]
        wrong = [reading for reading in found if not self._is_right(reading)]
        if wrong and self._is_right(self._measure_new(wrong[0].prompt)):
            layers = [reading.prompt.layer for reading in wrong]
            raise self._failure(wrong[0], self._in_layers((CHANGED,), layers), AGAIN)
        if wrong:
            return self._together(found, AGAIN)
        of_sums = self._of_sums(sums)
        return self._together(found, AGAIN) if found else of_sums

    def _begun(self, prompt: Prompt) -> Prompt:
        """Let the engine read a text; return one that begins alike, and is longer by a token."""
        self._send(prompt, 1)
        return replace(prompt, first=prompt.first + 1)

    def _window_layers(self, reach: int) -> Outcome:
        """Check at which distance keys leave the window of each layer.

        Raises Wrong for layers whose windows differ from that of the first one, and Blocked if all
        are wrong, which other checks report.
        """
        whole = self._at_edge(reach, 2)
        if whole.length > self.length:
            raise NotClaimed(
                f"texts of {self.length:,} tokens are too short for a window of {reach + 1:,}; "
                f"--posenc-context={whole.length} would do"
            )

        def text(layers: Layers) -> Prompt:
            return self._enlarged(self._at_edge(reach, len(layers) + 1), layers)

        suspects, sums = self._suspects(text, _edges)
        seen = {layer: self._reach_of(layer, reach) for layer in suspects}
        wrong = {layer: far for layer, far in seen.items() if far != reach}
        if len(wrong) == len(self.group.layers):
            raise Blocked("all layers of the group are wrong")
        if wrong:
            raise self._windows_differ(wrong, reach)
        return self._of_sums(sums)

    def _two_sided_layers(self, reach: int) -> Outcome:
        """Check at which distance keys leave the window of each layer, on both sides.

        Raises Wrong for layers whose windows differ from that of the others, and Blocked if all are
        wrong, which another check reports.
        """
        seen = {layer: self._reach_on_both_sides(reach, layer) for layer in self.group.layers}
        wrong = {layer: far for layer, far in seen.items() if far != (reach, reach)}
        if len(wrong) == len(seen):
            raise Blocked("all layers of the group are wrong")
        if not wrong:
            return Outcome()
        listed = "; ".join(
            f"layer {layer} sees keys {_on_both_sides(far, reach)}" for layer, far in wrong.items()
        )
        widest = all(max(far) == reach + FEW for far in wrong.values())
        raise self._named(
            (
                "window-ignored" if widest else "window-off",
                f"layers have another window than their group: {listed}",
            ),
            f"check      {self.group.id} of {self.engine.model.title}",
            f"expected   keys at up to {reach:,} on both sides",
        )

    def _on_both_sides(self, reach: int) -> tuple[Prompt, Prompt]:
        """Return texts whose queries see a key before them or after them, or just do not.

        Raises NotClaimed if a text is too long.
        """
        behind = self._prompt(1, steps=2 * FEW)
        behind = replace(behind, key=behind.first - (reach - FEW + 1))
        ahead = replace(behind, key=behind.positions[-1] + reach - FEW + 1)
        ahead = replace(ahead, total=max(ahead.total, ahead.key + BEHIND))
        if max(behind.length, ahead.length) > self.length or behind.key < DIGITS:
            raise NotClaimed(
                f"texts of {self.length:,} tokens are too short for a window of {reach:,} on each "
                f"side; --posenc-context={ahead.length} would do"
            )
        return behind, ahead

    def _reach_on_both_sides(self, reach: int, layer: int) -> tuple[int, int]:
        """Return the distances of the farthest keys that a layer sees before and after a query."""
        before, after = (
            self._farthest(self._measure_new(replace(text, layer=layer)))
            for text in self._on_both_sides(reach)
        )
        return before, after

    @staticmethod
    def _farthest(measured: Measured) -> int:
        distances = zip(measured.prompt.distances, measured.seen, strict=True)
        return max((abs(distance) for distance, sight in distances if sight), default=0)

    def _at_edge(self, reach: int, steps: int) -> Prompt:
        """Return a text whose key is just visible to the first query.

        It ends in the middle of the context, since the group's own check of the window is near the
        beginning; but not where every layer has a text of its own, which would take long.
        """
        prompt = self._prompt(1, steps=steps)
        late = (self.length + reach) // 2 if can_add_up(self.engine.probe) else 0
        first = max(prompt.first, reach + DIGITS, min(late, self.length - steps - 1))
        return with_gain(
            self.engine.probe, self.group, replace(prompt, first=first, key=first - reach)
        )

    def _reach_of(self, layer: int, reach: int) -> int:
        """Return the distance of the farthest key that a layer sees, near the edge of a window."""
        prompt = self._at_edge(reach, 2 * FEW)
        prompt = replace(prompt, key=prompt.key + FEW - 1, layer=layer)
        found = self._measure_new(prompt)
        far = [far for far, seen in zip(prompt.distances, found.seen, strict=True) if seen]
        return max(far, default=prompt.distances[0] - 1)

    def _enlarged(self, alone: Prompt, layers: Layers) -> Prompt:
        return with_gain(self.engine.probe, self.group, across(alone, layers))

    def _suspects(
        self,
        text: Callable[[Layers], Prompt],
        changes: Callable[[Flags], Iterator[Flags]],
        measure: Callable[[Prompt], MeasuredSum] | None = None,
    ) -> tuple[Layers, list[MeasuredSum]]:
        """Return the layers that must be checked one by one, and the sums that were measured.

        ``measure`` replaces the usual measurement of a text with a new number.
        """
        layers, sums, suspects = self.group.layers, list[MeasuredSum](), list[int]()
        count = self._together_in(text, changes)
        for start in range(0, len(layers), count) if count > 1 else ():
            some = layers[start : start + count]
            sums.append((measure or self._measure_sum)(self._new(text(some))))
            if not sums[-1].ratio <= 1:
                suspects += some
        return suspects if sums else layers, sums

    def _together_in(
        self, text: Callable[[Layers], Prompt], changes: Callable[[Flags], Iterator[Flags]]
    ) -> int:
        """Return the largest number of layers in one text of which each could be found; 0 if none.

        ``changes`` yields what queries see if one of the layers is wrong.
        """
        probe, layers = self.engine.probe, self.group.layers
        most = min(len(layers), len(probe.plan.pairs) - 1)
        for count in sorted({min(count, most) for count in SEVERAL}, reverse=True):
            prompt = text(layers[:count])
            fits = can_add_up(probe) and prompt.length <= self.length
            if fits and self._tells(prompt, changes):
                return count
        return 0

    def _explanations_of_layer(self, wrong: Measured) -> Explanations:
        """Return the mistakes that explain a layer's scores, here and in the usual text."""
        if not wrong.seen.any():
            far = min(map(abs, wrong.prompt.distances))
            words = f"does not see keys at a distance of {far:,}, as if it had a window"
            return (("key-not-seen", words),)
        return self._explanations([wrong], wrong)

    def _windows_differ(self, wrong: dict[int, int], reach: int) -> Wrong:
        """Make the failure of layers with other windows."""
        widest = reach + FEW
        listed = "; ".join(
            f"layer {layer} sees {far + 1:,}{' or more' if far == widest else ''} positions"
            f"{' or fewer' * (far < reach - FEW + 1)}"
            for layer, far in wrong.items()
        )
        id = "window-ignored" if set(wrong.values()) == {widest} else "window-off"
        return self._named(
            (id, f"layers have another window than their group: {listed}"),
            f"check      {self.group.id} of {self.engine.model.title}",
            f"expected   {reach + 1:,} positions, a query's own among them",
        )


def _on_both_sides(far: tuple[int, int], reach: int) -> str:
    """Say how far away keys are seen before and after a query."""
    before, after = (no_farther(distance, reach, reach + FEW) for distance in far)
    return f"{before} before a query and {after} after it"


def no_farther(far: int, right: int, largest: int) -> str:
    """Say how far away keys are seen on one side."""
    if far == largest:
        return f"at {far:,} or more"
    if far < right - FEW + 1:
        return f"not at {right - FEW + 1:,} or more"
    return f"at {far:,}"


def _unseen(seen: Flags) -> Iterator[Flags]:
    """Yield what queries see if one layer does not see its keys."""
    for key in range(1, len(seen) - 1):
        changed = seen.copy()
        changed[key] = False
        yield changed
    changed = seen.copy()
    changed[[0, -1]] = False
    yield changed


def _edges(seen: Flags) -> Iterator[Flags]:
    """Yield what queries see if one layer sees a key for one query more, or one fewer."""
    for key in range(len(seen) - 1):
        for more in (False, True):
            changed = seen.copy()
            changed[key, key + more] = more
            if key == 0 and not more:
                changed[-1, -1] = False  # the first layer has the last key too
            yield changed
