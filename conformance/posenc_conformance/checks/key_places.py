"""Keys at places where code changes, and keys that the engine generates itself."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle, islice

import numpy as np

from posenc_conformance.checks.probe_explanations import Explanations
from posenc_conformance.checks.probe_measurements import FEW
from posenc_conformance.checks.request_patterns import Situations
from posenc_conformance.deployed.expected_scores import expected
from posenc_conformance.deployed.instrument import Biased, Tabled
from posenc_conformance.deployed.instruments import alibi_mistakes
from posenc_conformance.deployed.key_places import place_of_key
from posenc_conformance.deployed.layer_sums import LayerSum, can_add_up, visible
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.prompts import DIGITS, LEAST_BEFORE, Prompt, with_gain
from posenc_conformance.judge.arrays import DTYPES, Flags
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong

PLACES = tuple(2**power for power in range(8, 21))
"""Places after which code often takes another way: chunks of prompts, tables, windows, pages."""
EARLY = 128
"""Another such place for rows of tables, which short texts read too."""
WRITTEN = ", which the engine writes,"
PAGE = 256
"""Multiple of the usual numbers of tokens in a page of a cache."""
LISTED = 4
"""Number of keys that a description lists."""
LARGEST_FULL = 1024
"""Largest number of keys in one text."""
SMALLER_FULL = (512, 256, 128)
"""Further such numbers, which roundings may allow."""
SMALLEST = 16
"""Least size of chunks that places of keys tell."""
CLOSEST = 8
"""Least distance from a query to two keys and their neutral keys."""


@dataclass(frozen=True)
class MeasuredSum:
    """The readings of a text with several keys, and their largest error in units of its bound."""

    measured: Measured
    ratio: float


@dataclass(frozen=True)
class KeyPlaces(Situations):
    """A group of layers, whose keys are checked at many places."""

    def _late_texts(self, distances: Sequence[int]) -> list[Prompt]:
        """Return texts whose keys are around the places where code changes, and at the end.

        Layers of the group take turns, and so do distances; where readings do not add up, more
        layers have a text at the end. Encoders, tables and T5 are checked by other texts.
        """
        probe = self.engine.probe
        if self._encoder or not (self.group.turns or isinstance(probe.plan, Biased)):
            return []
        steps = min(FEW, self._middle.steps)
        layers, found = cycle(self.group.layers), list[Prompt]()
        order = cycle([self._middle.distances[0], *distances])
        end = self.length - steps if can_add_up(probe) else PLACES[-1]
        for place in (*(place - 1 for place in PLACES if place <= end), self.length):
            texts = (self._prompt(next(order), steps=steps) for _ in distances)
            late = (text.moved(min(place - text.key, self.length - text.length)) for text in texts)
            fitting = filter(self._fits, filter(lambda text: text.key > LEAST_BEFORE, late))
            found += [replace(text, layer=next(layers)) for text in islice(fitting, 1)]
        last = [replace(self._last_key(1), layer=next(layers))]
        return list(dict.fromkeys(map(self._with_gain, [*found, *filter(self._fits, last)])))

    def _last_key(self, steps: int) -> Prompt:
        """Return a text whose key is as near to the end of the context as ``steps`` queries allow.

        The queries follow the key, and a last token is generated, which has no query.
        """
        text = self._prompt(1, steps=steps)
        return text.moved(self.length - text.length)

    def _late_rows(self) -> list[Prompt]:
        """Return texts whose queries read the rows of a table on both sides of many places."""
        if not isinstance(self.engine.probe.plan, Tabled):
            return []
        steps = min(FEW, self._middle.steps)
        texts = (self._prompt(place + steps // 2, steps=steps) for place in (EARLY, *PLACES))
        return [text for text in texts if self._fits(text)]

    def _sum_on_both_sides(self, text: Prompt, *, late: bool) -> MeasuredSum | None:
        """Measure a text with a second key just after its key; None if their sum is not known.

        ``late`` says that it is the text at the end of the context.
        """
        both = self._with_gain(replace(text, also=(text.layer,)))
        known = can_add_up(self.engine.probe) and self.group.attention != "chunked"
        if not known or both.first - both.key < CLOSEST:
            return None
        return self._measure_sum_late(both) if late else self._measure_sum(self._new(both))

    def _is_right_sum(self, total: MeasuredSum) -> bool:
        count = self._count(total.measured)
        return total.ratio <= 1 and (count is None or count.ratio <= 1)

    def _of_sums(self, sums: Sequence[MeasuredSum]) -> Outcome:
        """Return the outcome of sums; raise Wrong if one is wrong, and none of its layers alone.

        Raises Blocked if the usual text is wrong, which other checks report.
        """
        worst = max((total.ratio for total in sums), default=0.0)
        if worst <= 1:
            return Outcome(worst=worst)
        if not self._is_right(self._measure_new(self._middle)):
            raise Blocked("scores of the usual text are wrong")
        prompt = next(total.measured.prompt for total in sums if total.ratio == worst)
        layers = sorted({prompt.layer, *prompt.also})
        text = [
            f"layers {', '.join(map(str, layers))} are wrong together, and right one by one",
            f"check      {self.group.id} of {self.engine.model.title}",
            f"where      queries from {prompt.positions[0]:,} on, keys from {prompt.key:,} on",
            f"error      {worst:.3g} times the bound of the sum of their readings",
        ]
        raise Wrong("\n".join(text), Outcome(worst=worst))

    def _tells(self, prompt: Prompt, changes: Callable[[Flags], Iterator[Flags]]) -> bool:
        """Return whether each change exceeds the bounds of the right and of the wrong sum.

        ``changes`` yields what queries see after each.
        """
        summed, seen = self._sum(prompt), visible(self.group, prompt)
        right = summed.scores(seen)
        with np.errstate(invalid="ignore"):
            return all(
                (np.abs(summed.scores(changed).values - right.values) > 2 * right.bound).any()
                for changed in changes(seen)
            )

    def _measure_sum(self, prompt: Prompt) -> MeasuredSum:
        """Measure the sum of a text's keys; its ratio is infinite if a word was lost."""
        measured = self._measure(prompt)
        right = self._sum(measured.prompt).scores(visible(self.group, measured.prompt))
        return MeasuredSum(
            measured, np.inf if measured.lost else float(measured.ratio(right).max())
        )

    def _measure_sum_late(self, prompt: Prompt) -> MeasuredSum:
        """Measure the sum of the keys of a text near the end of the context."""
        return self._late(prompt, self._measure_sum, self._is_right_sum)

    def _sum(self, prompt: Prompt) -> LayerSum:
        return LayerSum(self.engine.probe, self.group, prompt, self.dtype)

    def _with_gain(self, prompt: Prompt) -> Prompt:
        probe = self.engine.probe
        return prompt if isinstance(probe.plan, Biased) else with_gain(probe, self.group, prompt)

    def _late_keys(self, texts: Sequence[Prompt]) -> Outcome:
        """Check keys at places beyond those of other texts.

        Raises Wrong; with the places to which the keys were rotated if no known mistake explains
        all scores.
        """
        sums, found = list[MeasuredSum](), list[Measured]()
        for text in texts:
            is_last = text.length == self.length
            both = self._sum_on_both_sides(text, late=is_last)
            sums += [both] if both else []
            if both is None or not self._is_right_sum(both):
                is_close = text.first - text.key < CLOSEST
                after = text.moved(1) if is_close else replace(text, key=text.key + 1)
                fitting = filter(self._fits, (text, self._with_gain(after)))
                measure = self._measure_late if is_last else self._measure_new
                found += map(measure, fitting)
        wrong = [each for each in found if not self._is_right(each)]
        if not wrong:
            for both in sums:
                self._require_count(both.measured, "")
            of_sums = self._of_sums(sums)
            return self._together(found) if found else of_sums
        self._require_count_if_scored(wrong[0], "")
        raise self._misplaced(found, wrong, "", "")

    def _full_text(self) -> Prompt | None:
        """Return a text whose first half has nothing but keys, and the other half neutral ones.

        None if the loss of one of them would not show: rounding may hide it.
        """
        steps = min(FEW, self._middle.steps)
        most = self.length if self.group.reach is None else min(self.length, self.group.reach)
        start = self._prompt(1, steps=steps)
        for count in (min(LARGEST_FULL, (most - DIGITS - steps - 1) // 2), *SMALLER_FULL):
            also = (start.layer,) * (count - 1)
            text = replace(start, key=DIGITS, first=DIGITS + 2 * count, also=also)
            if SMALLER_FULL[-1] <= count and text.length <= most:
                text = self._with_gain(text)
                if self._tells(text, _each_unseen):
                    return text
        return None

    def _full_to_the_end(self, text: Prompt) -> Prompt:
        """Return a text whose second half, at the end of the context, has nothing but keys.

        It has at most twice the keys of ``text``, whose roundings hide the loss of none. Its
        neutral keys precede the keys.
        """
        reach = self.length if self.group.reach is None else self.group.reach
        first = self.length - text.steps - 1
        half = (min(first, reach - text.steps) - DIGITS) // 2
        count = min(half, 2 * (1 + len(text.also)))
        also = (text.layer,) * (count - 1)
        return self._with_gain(replace(text, key=first - count, first=first, also=also))

    def _every_key(self) -> Outcome:
        """Check all keys of two texts together, and if they are wrong, ever fewer of them.

        Raises Wrong; with the places of wrong keys. Raises NotClaimed if rounding may hide one key,
        and Blocked if the usual text is wrong, which other checks report.
        """
        first = self._full_text()
        if first is None:
            raise NotClaimed("one wrong key among many would not show beside the roundings")
        texts = (first, self._full_to_the_end(first))
        return Outcome(worst=max(map(self._ratio_of_full, texts)))

    def _ratio_of_full(self, text: Prompt) -> float:
        """Return the error of a text full of keys, in units of its bound; raise as _every_key."""
        whole = self._measure_sum(self._new(text))
        if whole.ratio <= 1:
            return whole.ratio
        if not self._is_right(self._measure_new(self._middle)):
            raise Blocked("scores of the usual text are wrong")
        keys = range(text.key, text.key + 1 + len(text.also))
        wrong = [*islice(self._wrong_keys(text, keys), LISTED)]
        # Of a key that another place has too, the number alone is wrong.
        wrong = [each for each in wrong if not self._is_scored(each)] or wrong
        if not wrong:
            words = f"{len(keys):,} keys are wrong together, and right in smaller texts"
            raise Wrong(f"{words}\ncheck      {self._place(text)}", Outcome(worst=whole.ratio))
        are_all = [reading.prompt.key for reading in wrong] == [*keys[:LISTED]]
        beside = f"that at {self._middle.key:,} is right"
        known = self._explanations_of_places(wrong, "", beside, late=are_all)
        raise self._failure(wrong[0], known, ", all of whose tokens are keys")

    def _wrong_keys(self, text: Prompt, keys: range) -> Iterator[Measured]:
        """Yield the measurements of wrong keys, found by halves."""
        some = replace(text, key=keys[0], also=(text.layer,) * (len(keys) - 1))
        if len(keys) == 1:
            measured = self._measure_new(self._with_gain(some))
            yield from [] if self._is_right(measured) else [measured]
        elif not self._measure_sum(self._new(self._with_gain(some))).ratio <= 1:
            half = len(keys) // 2
            yield from self._wrong_keys(text, keys[:half])
            yield from self._wrong_keys(text, keys[half:])

    def _misplaced(
        self, found: Sequence[Measured], wrong: Sequence[Measured], which: str, when: str
    ) -> Wrong:
        """Make the failure for wrong keys: a known mistake, their places, or a symptom."""
        evidence = self._evidence(found, wrong[0])
        known = self._known(evidence)
        if not known and self._is_right(evidence.usual):
            beside = f"that at {evidence.usual.prompt.key:,} is right"
            known = self._explanations_of_places(wrong, which, beside, late=True)
        return self._failure(wrong[0], known or self._symptoms(evidence), when)

    def _explanations_of_places(
        self, wrong: Sequence[Measured], which: str, beside: str, *, late: bool = False
    ) -> Explanations:
        """Say which keys are wrong, and to which positions they were rotated if that is known.

        ``which`` describes the keys, and ``beside`` says which others are right. ``late`` says that
        queries after them may be wrong as well.
        """
        places = {measured.prompt.key: self._place_of_key(measured) for measured in wrong}
        if all(place == key for key, place in places.items()):
            self._require_count_if_scored(wrong[0], "")
            return self._of_queries(wrong[0])
        places = {key: place for key, place in places.items() if place != key}
        derived = {key: place for key, place in places.items() if place is not None}
        single = {reading.prompt.key for reading in wrong if len(reading.values) == 1}
        if derived and {*places} - {*derived} <= single:  # one query has many places with its score
            places = dict[int, int | None](derived)
        keys = f"keys at {_listed([*places])}{which}"
        id, words = "keys-misplaced", f"{keys} are wrong"
        end = self._middle.positions[-1]
        if late and min(reading.prompt.positions[0] for reading in wrong) > end:
            id = "late-positions-wrong"
            words = f"positions beyond {max(end, min(places)):,} are wrong, in texts with {keys}"
        if all(self._is_at_the_key(measured) for measured in wrong):
            id = "positions-clamped"
            words = f"queries after {keys} have the key's position"
        if all(self._is_lost(measured) for measured in wrong):
            id, words = "keys-lost", f"{keys} have scores of 0"
        if derived == places:
            # Queries at their own positions tell the same position of each key.
            id, words = "keys-misplaced", f"{keys} have positions {_listed(_once(derived))}"
            if size := _size_of_chunks(derived):
                id, words = "chunks-restart", f"{words}, which start anew every {size:,} tokens"
            elif dtype := _rounded_in(derived):
                id, words = f"positions-in-{dtype}", f"{words}, which is rounding to {dtype}"
        return ((id, f"{words}, and {beside}"),)

    def _is_at_the_key(self, measured: Measured) -> bool:
        """Return whether all queries have the position of the key, as at the end of a table."""
        probe, prompt = self.engine.probe, measured.prompt
        if isinstance(probe.plan, Biased):
            return False
        where = [prompt.key] * len(prompt.positions)
        return measured.agrees_with(expected(probe, self.group, prompt, self.dtype, where))

    def _is_lost(self, measured: Measured) -> bool:
        """Return whether all scores of a key are 0, as if its row was never written."""
        return bool((np.abs(measured.values) <= self._expected(measured.prompt).bound).all())

    def _place_of_key(self, measured: Measured) -> int | None:
        """Return the position of a key, from all queries or from those that are generated.

        A single one is not enough for that: it has a position of its own that may be wrong.
        """
        prompt, readings = measured.prompt, [measured]
        if 0 < prompt.given < prompt.steps - 1:
            later = replace(prompt, given=prompt.given + 1)
            readings.append(Measured(later, measured.values[1:]))
        places = map(self._place_by, readings)
        return next((place for place in places if place is not None), None)

    def _place_by(self, measured: Measured) -> int | None:
        probe, group = self.engine.probe, self.group
        if isinstance(probe.plan, Biased):
            return alibi_mistakes.place_of_key(probe, group, measured, self.dtype)
        return place_of_key(probe, group, measured, self._expected(measured.prompt))

    @cached_property
    def _written(self) -> list[Prompt]:
        """Texts whose key the engine generates: all pairs, each layer, and the end of the context.

        The first query is just after its key. The first key ends a page of a cache, and those of
        the layers follow it.
        """
        most = self._prompt(1).steps
        reach = most if self.group.reach is None else self.group.reach
        whole, short = (self._with_written_key(min(count, most, reach)) for count in (most, FEW))
        end_of_page = max(0, PAGE - 1 - short.key)
        texts = [whole.moved(end_of_page)]
        for number, layer in enumerate(self.group.layers, 1):
            texts.append(replace(short.moved(end_of_page + number), layer=layer))
        late = short.moved(self.length - short.length)
        return [self._with_gain(text) for text in (*texts, late) if self._fits(text)]

    def _written_keys(self) -> Outcome:
        """Check keys that the engine generates.

        Raises Wrong, with an id of its own if the same text is right when the key is given. Raises
        NotClaimed for a probe that cannot make an engine generate a key.
        """
        if not self.engine.probe.plan.writes:
            raise NotClaimed("with tied embeddings, a probe has no token that a key follows")
        # First the one at the end, since the last text of other checks begins like it.
        late = [self._measure_late(text) for text in self._written if text.length == self.length]
        some = [text for text in self._written if text.length < self.length]
        found = [*self._measure_each(some), *late]
        wrong = [each for each in found if not self._is_right(each)]
        when = ", a key that the engine generated"
        if wrong:
            self._require_count_if_scored(wrong[0], when)
        if wrong and self._is_right(self._measure_new(replace(wrong[0].prompt, given=1))):
            known = self._explanations_of_places(wrong, WRITTEN, "given ones are right")
            layers = {each.prompt.layer for each in wrong}
            if layers < {*self.group.layers}:
                known = self._in_layers(known, sorted(layers))
            raise self._failure(wrong[0], known, when)
        if wrong:
            raise self._misplaced(found, wrong, WRITTEN, when)
        return self._together(found, when)


def _each_unseen(seen: Flags) -> Iterator[Flags]:
    """Yield what queries see if one key is lost."""
    for key in range(len(seen)):
        changed = seen.copy()
        changed[key] = False
        yield changed


def _listed(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - LISTED} more" if len(numbers) > LISTED else ""
    return ", ".join(f"{number:,}" for number in numbers[:LISTED]) + more


def _once(places: Mapping[int, int]) -> list[int]:
    """Return the places of all keys, or the only one."""
    return [*places.values()] if len({*places.values()}) > 1 else [*places.values()][:1]


def _rounded_in(places: Mapping[int, int]) -> str:
    """Return the dtype to which the positions of keys were rounded; empty if none explains them."""
    keys, moved = np.array([*places]), np.array([*places.values()])
    for dtype in ("float16", "bfloat16"):
        if (keys != moved).all() and (keys.astype(DTYPES[dtype]) == moved).all():
            return dtype
    return ""


def _size_of_chunks(places: Mapping[int, int]) -> int:
    """Return the size of chunks in each of which keys begin at 0; 0 if there is none.

    Keys of two chunks are needed to tell it.
    """
    moved = {key - place for key, place in places.items()}
    size = math.gcd(*moved)
    restarts = size >= SMALLEST and all(place == key % size for key, place in places.items())
    return size if len(moved - {0}) > 1 and restarts else 0
