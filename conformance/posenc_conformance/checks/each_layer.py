"""Every layer of a group: its window, and its scores at the farthest distance.

One text checks several layers where their readings add up. Only if the sum is wrong, each of them
has a text of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.checks.key_places import KeyPlaces
from posenc_conformance.checks.model_adapter import page_of
from posenc_conformance.checks.probe_explanations import Explanations
from posenc_conformance.checks.probe_measurements import FEW
from posenc_conformance.deployed.layer_sums import (
    SEVERAL,
    across,
    can_add_up,
    visible,
)
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.prompts import DIGITS, Prompt, with_gain
from posenc_conformance.judge.arrays import Flags
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong

Layers = Sequence[int]
EARLIEST = 64
"""Position of the first key in a text of several layers, if there is room: keys that see few tokens
change the norms of later layers."""


@dataclass(frozen=True)
class EachLayer(KeyPlaces):
    """A group of layers, each of which is checked where a group is usually checked once."""

    def _far_layers(self, distance: int) -> Outcome:
        """Check the scores of each layer at the farthest distance.

        Raises Wrong for layers that differ from the others, and Blocked if all are wrong, which
        other checks report.
        """
        steps = min(FEW, self._middle.steps)
        whole = self._prompt(distance, steps=steps)
        alone = replace(whole, key=max(whole.key, min(EARLIEST, whole.first // 2)))

        def text(layers: Layers) -> Prompt:
            return self._enlarged(alone, layers)

        suspects, sums = self._suspects(text, _unseen)
        found = [self._measure(self._new(replace(alone, layer=layer))) for layer in suspects]
        wrong = [each for each in found if not self._is_right(each)]
        if len(wrong) == len(self.group.layers):
            raise Blocked("all layers of the group are wrong")
        if wrong:
            known = self._explanations_of_layer(wrong[0])
            layers = [each.prompt.layer for each in wrong]
            raise self._failure(wrong[0], self._in_layers(known, layers), "")
        return self._of_sums(sums)

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
        found = self._measure(self._new(prompt))
        far = [far for far, seen in zip(prompt.distances, found.seen, strict=True) if seen]
        return max(far, default=prompt.distances[0] - 1)

    def _enlarged(self, alone: Prompt, layers: Layers) -> Prompt:
        return with_gain(self.engine.probe, self.group, across(alone, layers))

    def _suspects(
        self, text: Callable[[Layers], Prompt], changes: Callable[[Flags], Iterator[Flags]]
    ) -> tuple[Layers, list[Measured]]:
        """Return the layers that must be checked one by one, and the sums that were measured."""
        layers, sums, suspects = self.group.layers, list[Measured](), list[int]()
        count = self._together_in(text, changes)
        for start in range(0, len(layers), count) if count > 1 else ():
            some = layers[start : start + count]
            sums.append(self._measure(self._new(text(some))))
            if not self._ratio_of_sum(sums[-1]) <= 1:
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
            if fits and self._tells_layers(prompt, changes):
                return count
        return 0

    def _tells_layers(self, prompt: Prompt, changes: Callable[[Flags], Iterator[Flags]]) -> bool:
        """Return whether each change exceeds the bounds of the right and of the wrong sum."""
        summed, seen = self._sum(prompt), visible(self.group, prompt)
        right = summed.scores(seen)
        with np.errstate(invalid="ignore"):
            return all(
                (np.abs(summed.scores(changed).values - right.values) > 2 * right.bound).any()
                for changed in changes(seen)
            )

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
        words = f"layers have another window than their group: {listed}"
        text = [
            f"{words} [{id}]",
            f"check      {self.group.id} of {self.engine.model.title}",
            f"expected   {reach + 1:,} positions, a query's own among them",
            f"see        {page_of(self.engine.model)}",
        ]
        return Wrong("\n".join(text), Outcome(explanations=((id, words),)))


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
