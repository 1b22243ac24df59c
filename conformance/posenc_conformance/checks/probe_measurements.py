"""A group of layers of a deployed engine: its prompts, and what is measured with them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import TypeVar

import numpy as np

from posenc_conformance.checks.model_adapter import page_of
from posenc_conformance.deployed.engine import Deployed
from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.http.endpoint import Gone
from posenc_conformance.deployed.instrument import Biased, Bucketed
from posenc_conformance.deployed.keys_counted import Count, can_count, counted
from posenc_conformance.deployed.layer_questions import is_whole, prompt_for, scores_of
from posenc_conformance.deployed.measure import Measured, NothingRead, answers_to, measure
from posenc_conformance.deployed.probe_checkpoint import SINKS
from posenc_conformance.deployed.prompts import BEHIND, DIGITS, LONGEST_NEAR, Prompt, with_gain
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.verdict import Blocked, Outcome, Wrong
from posenc_conformance.models.meaning import Group
from posenc_conformance.pictures.picture import Picture

Found = TypeVar("Found")

MIDDLE = 200
"""Distance between query and key at which every layer and every request pattern is checked."""
MIDDLE_OF_BIASES = 24
"""The same for biases, which hide no key from any head at this distance."""
LONGER_BY = (37, 5, 1)
"""Numbers of tokens by which a text is made longer than another one, if there is room."""
BEYOND = 4
"""Distance of a key that a window must hide, in multiples of the window's reach."""
FEW = 8
"""Number of pairs of channels with which every layer is checked."""
TOKENS_OF_A_BATCH = 2**13
"""Largest number of tokens in one request that saves time: a bound on the memory that it needs."""
NO_VALUES = (
    "values-missing",
    "the heads that are read have no values, as if those of other heads or layers were taken",
)


@dataclass(frozen=True)
class Measuring:
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

    def _measure(self, prompt: Prompt, *, again: bool = True) -> Measured:
        """Measure a prompt's scores; raise Wrong if that fails, Blocked once the engine is gone.

        ``again`` is that of ``measure``.
        """
        with self._answered(prompt):
            measured = measure(self.engine.probe, self.engine, prompt, again=again)
        self.engine.answered.append(measured)
        return measured

    def _measure_late(self, prompt: Prompt) -> Measured:
        """Measure a text near the end of the context that begins as others there do."""
        return self._late(prompt, self._measure, self._is_right)

    def _late(
        self, prompt: Prompt, measure: Callable[[Prompt], Found], is_right: Callable[[Found], bool]
    ) -> Found:
        """Measure a text that begins as others near the end of the context do.

        Engines that reuse a cached prefix compute the beginning once. A wrong answer does not
        count: the text is then measured again with a new beginning.
        """
        with suppress(Wrong):
            found = measure(self._begun_late(prompt))
            if is_right(found):
                return found
        return measure(self._new(prompt))

    def _begun_late(self, prompt: Prompt) -> Prompt:
        return replace(prompt, serial=self._serial_of_late)

    @cached_property
    def _serial_of_late(self) -> int:
        return next(self.engine.serials)

    def _measure_new(self, prompt: Prompt) -> Measured:
        """Measure a text with a new beginning, as ``_measure`` does."""
        return self._measure(self._new(prompt))

    def _measure_each(self, prompts: Sequence[Prompt]) -> list[Measured]:
        """Measure new texts, in one request if that takes less time.

        A wrong answer of such a request does not count: the text is then measured by itself.
        """
        found = list[Measured]()
        for _, alike in groupby(prompts, key=lambda prompt: prompt.generated):
            texts = [*map(self._new, alike)]
            size = max(1, TOKENS_OF_A_BATCH // max(text.length for text in texts))
            for start in range(0, len(texts), size):
                some = texts[start : start + size]
                right = self._right_in_a_batch(some)
                found += [right.get(text) or self._measure_new(text) for text in some]
        return found

    def _right_in_a_batch(self, prompts: Sequence[Prompt]) -> dict[Prompt, Measured]:
        """Return what is right of texts in one request; nothing if that takes as much time."""
        if not self.engine.batches or len(prompts) < 2:
            return {}
        with suppress(Misbehaviour):
            answers = self._asked_together(prompts, prompts[0].generated)
            found = map(self._read, prompts, answers)
            right = [measured for measured in found if self._is_right(measured)]
            self.engine.answered.extend(right)
            return {measured.prompt: measured for measured in right}
        return {}

    def _read(self, prompt: Prompt, answer: Sequence[Mapping[str, float]]) -> Measured:
        """Read one of the answers to a batch."""
        return measure(self.engine.probe, _Answered(answer), prompt, again=False)

    def _asked_together(
        self, prompts: Sequence[Prompt], steps: int
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Send several texts in one request, and return the answer to each."""
        probe = self.engine.probe
        if isinstance(probe.plan, Bucketed):
            texts, begun = zip(*(prompt.both_texts(probe) for prompt in prompts), strict=True)
            return self.engine.read_after(texts, begun, steps)
        tokens = [prompt.tokens(probe) for prompt in prompts]
        if self._encoder:
            return self.engine.read_at(tokens, [prompt.positions for prompt in prompts])
        return self.engine.read_together(tokens, steps)

    def _send(self, prompt: Prompt, count: int) -> None:
        """Let the engine generate ``count`` tokens after a prompt; raise as ``_measure`` does."""
        with self._answered(prompt):
            answers_to(self.engine.probe, self.engine, prompt, count)

    @contextmanager
    def _answered(self, prompt: Prompt) -> Iterator[None]:
        if self.engine.gone:
            raise Blocked(f"the engine does not answer any more: {self.engine.gone[0]}")
        try:
            yield
        except Misbehaviour as problem:
            if isinstance(problem, Gone):
                self.engine.gone.append(str(problem))
            raise self._unreadable(prompt, problem) from None

    def _unreadable(self, prompt: Prompt, problem: Misbehaviour) -> Wrong:
        """Make the failure for an answer that cannot be read.

        A window may also hide both keys.
        """
        if not isinstance(problem, NothingRead) or self.group.window is not None:
            return Wrong(f"{self._place(prompt)}: {problem}")
        why = NO_VALUES[0], f"in layer {prompt.layer}: {NO_VALUES[1]}"
        text = f"{why[1]} [{why[0]}]\ncheck      {self._place(prompt)}: {problem}"
        return Wrong(text, Outcome(explanations=(why,)))

    def _expected(self, prompt: Prompt) -> Scores:
        alike = self._of_any_layer(prompt)
        if alike not in self.right:
            self.right[alike] = scores_of(self.engine.probe, self.group, alike, self.dtype)
        return self.right[alike]

    def _of_any_layer(self, prompt: Prompt) -> Prompt:
        """Return the text in place of all that differ only in their layer and serial number."""
        return replace(prompt, layer=self._prompt(1).layer, serial=0)

    def _judged(self) -> list[tuple[Measured, Scores]]:
        """Return what was read of the group's texts so far, with the scores expected."""
        return [
            (measured, self.right[alike])
            for measured in self.engine.answered
            if measured.prompt.layer in self.group.layers
            and (alike := self._of_any_layer(measured.prompt)) in self.right
        ]

    def _require_count(self, measured: Measured, when: str) -> None:
        """Raise Wrong if queries see another number of keys than there are."""
        count = self._count(measured)
        if count is None or count.ratio <= 1:
            return
        prompt = measured.prompt
        why = self._sinks_off(prompt, count) or self._miscount(prompt, count)
        lines = self._of_count(prompt, count)
        raise self._named(why, f"check      {self._place(prompt)}{when}", *lines, worst=count.ratio)

    @staticmethod
    def _of_count(prompt: Prompt, count: Count) -> tuple[str, str]:
        """Return the lines of a report that say where a number of keys is wrong."""
        row, head = count.worst
        return (
            f"where      query at {prompt.positions[row]:,}, key at {prompt.key:,}",
            f"error      {count.ratio:.3g} times the bound of {float(count.bound[row, head]):.2g}",
        )

    def _counted(self, count: Count) -> str:
        """Say how many keys a query sees, and how many there are."""
        row, head = count.worst
        got, expected = float(count.got[row, head]), float(count.expected[row, head])
        beside = ""
        if self.engine.probe.family.sinks:
            sink = float(np.exp(SINKS)[head])
            got, expected = got - sink, expected - sink
            beside = f" beside a sink that weighs {_number(sink)}"
        return f"a query sees {_number(got)} other keys{beside}, and there are {_number(expected)}"

    def _named(
        self,
        why: tuple[str, str],
        *lines: str,
        worst: float | None = None,
        pictures: tuple[Picture, ...] = (),
    ) -> Wrong:
        """Make the failure for a mistake: its id and words, and further lines of the report."""
        id, words = why
        text = [f"{words} [{id}]", *lines, f"see        {page_of(self.engine.model)}"]
        return Wrong("\n".join(text), Outcome(worst, explanations=(why,), pictures=pictures))

    def _require_count_if_scored(self, measured: Measured, when: str) -> None:
        """Raise Wrong for a wrong number of keys, if the scores themselves are right."""
        if self._is_scored(measured):
            self._require_count(measured, when)

    def _is_scored(self, measured: Measured) -> bool:
        """Return whether the scores are right, whatever number of keys the queries see."""
        return measured.agrees_with(self._expected(measured.prompt))

    def _sinks_off(self, prompt: Prompt, count: Count) -> tuple[str, str] | None:
        """Say what sinks count as, if another text, within any window, says the same.

        Raises as ``_measure`` does.
        """
        if not self.engine.probe.family.sinks:
            return None
        first = (self.group.window or prompt.first) // 2
        if first < DIGITS + 2:
            return None
        # Its last query too is written, if that of the text is: sinks may be missing there alone.
        row, _ = count.worst
        written = row >= prompt.given > 0 or not prompt.given
        other = replace(self._within(first, prompt.layer), steps=1 + written)
        again = self._count(self._measure_new(other))
        if again is None:
            return None
        shown, sinks = (
            np.exp(SINKS) + (each.got - each.expected)[place]
            for each, place in ((count, row), (again, -1))
        )
        if (np.abs(shown - sinks) > count.bound[row] + again.bound[-1]).any():
            return None
        listed, asked = (
            " and ".join(_number(float(sink)) for sink in row) for row in (shown, np.exp(SINKS))
        )
        words = f"sinks of two heads count as {listed} keys, and they weigh {asked}"
        if prompt.given and (count.ratios <= 1).all(axis=1).any():
            words += ", for queries that the engine writes" if written else ", in a prompt"
        return "sinks-wrong", words

    def _miscount(self, prompt: Prompt, count: Count) -> tuple[str, str]:
        """Name a wrong number of keys, by the window if texts within the window have the right one.

        Raises as ``_measure`` does.
        """
        words, (row, head) = self._counted(count), count.worst
        expected, got = float(count.expected[row, head]), float(count.got[row, head])
        window, place = self.group.window, prompt.positions[row]
        far = abs(place - prompt.key)
        if window is None and got < min(expected, far) and self._sees(prompt):
            far_words = f"it sees a key {far:,} before it"
            return "keys-miscounted", f"{words}; {far_words}, and not all of those in the middle"
        others = {group.window for group in self.engine.model.meaning.groups if group.window}
        if window is None and any(abs(got - other) < 1.5 for other in others):
            return "window-everywhere", f"{words}, as with the window of other layers"
        first = int(min(got, window or got)) // 2
        if first < DIGITS + 2 or prompt.length <= (window or first):
            return "keys-miscounted", words
        within = self._within(first, prompt.layer)
        inside = self._count(self._measure_new(within))
        if inside is None or inside.ratio > 1:
            return "keys-miscounted", words + self._of_more(inside, got - expected)
        if window is None:
            return self._miscount_of_all(prompt, words, got)
        if self.group.attention == "chunked":
            id = "window-ignored" if got > expected + FEW else "window-off"
            return id, f"{words}, as with another window"
        size = f"one of {round(window + got - expected):,}, not {window:,}"
        if got > expected and self._ignores(window, prompt, written=row > 0 or not prompt.given):
            return "window-ignored", f"{words}, as with no window"
        return "window-off", f"{words}, as with another window: {size}"

    @staticmethod
    def _of_more(inside: Count | None, more: float) -> str:
        """Say what one key too many means that a much shorter text has as well."""
        is_one = abs(more - 1) < 0.1
        if inside is None or not is_one or (np.abs(inside.got - inside.expected - 1) > 0.1).any():
            return ""
        return ", as if the engine put a token of its own before each text, such as <s>"

    def _ignores(self, window: int, prompt: Prompt, *, written: bool) -> bool:
        """Return whether a query sees all keys of a text that is longer than the window.

        ``written`` says whether the engine writes the query. Raises as ``_measure`` does.
        """
        steps = 1 + written
        most = min(self.length, window + 2 * FEW + steps + 1)
        text = self._within(most - steps - 1, prompt.layer)
        text = with_gain(self.engine.probe, self.group, replace(text, steps=steps))
        place = text.positions[-1]
        count = self._count(self._measure_new(text)) if place > window + 1 else None
        return count is not None and bool((count.got - count.expected)[-1].min() > place - window)

    def _within(self, first: int, layer: int) -> Prompt:
        """Return a text with one query at ``first``, just after its key."""
        return replace(self._prompt(1, steps=1), first=first, key=first - 1, layer=layer)

    def _miscount_of_all(self, prompt: Prompt, words: str, got: float) -> tuple[str, str]:
        """Name a wrong number of keys where all are seen: by a window if it stays in another text.

        Raises as ``_measure`` does.
        """
        other = replace(prompt, steps=1, given=min(prompt.given, 1)).moved(-LONGER_BY[0])
        count = None
        if other.neutral >= DIGITS:
            count = self._count(self._measure_new(other))
        if count is None or abs(float(count.got[0].mean()) - got) > 1:
            return "keys-miscounted", words
        return "window-everywhere", f"{words}, as with a window"

    def _count(self, measured: Measured) -> Count | None:
        """Count the keys that queries see; None where their number cannot be known.

        A server of texts may add tokens of its own.
        """
        probe, prompt = self.engine.probe, measured.prompt
        if measured.logits is None or self.engine.in_words or not can_count(probe):
            return None
        logits = measured.logits.reshape(-1, 2, 2).transpose(0, 2, 1)
        return counted(probe, self.group, prompt, logits, self.dtype)

    def _sees(self, prompt: Prompt) -> bool:
        """Return whether all queries of a text see the key."""
        return bool(self._measure_new(prompt).seen.all())

    def _far_beyond(self, reach: int) -> Prompt:
        """Return a text with one query, and a key far outside its window if there is room."""
        prompt = self._prompt(1, steps=1)
        first = min(BEYOND * reach, self.length - BEHIND - 1)
        return replace(prompt, first=first, key=0, total=first + 1 + BEHIND)

    @property
    def _other_groups(self) -> list[Group]:
        """The model's other groups of layers with heads of the same size that rotate."""
        own = self.group
        if not own.turns:
            return []
        size = own.parameters["head_dim"]
        groups = (group for group in self.engine.model.meaning.groups if group.turns)
        return [
            group for group in groups if group.id != own.id and group.parameters["head_dim"] == size
        ]

    def _is_like(self, measured: Measured, group: Group) -> bool:
        """Return whether a reading has the scores and the window of a group."""
        reach = np.inf if group.reach is None else group.reach
        sees = np.abs(np.array(measured.prompt.distances)) <= reach
        off = measured.ratio(scores_of(self.engine.probe, group, measured.prompt, self.dtype))
        return bool((measured.seen == sees).all() and (off[sees] <= 1).all())

    def _scores_alike(self, prompt: Prompt, group: Group) -> bool:
        """Return whether a group's scores are those of this group, apart from a window."""
        other = scores_of(self.engine.probe, group, prompt, self.dtype)
        return np.array_equal(other.values, self._expected(prompt).values)

    def _exchange(self, group: Group) -> str:
        """Say that two groups are exchanged, if a layer of the other is treated like this one's.

        The text has a key that one of their windows hides. Raises as ``_measure`` does.
        """
        reaches = [each.reach for each in (self.group, group) if each.reach is not None]
        if not reaches or self.group.reach == group.reach:
            return ""
        text = self._prompt(1, steps=1)
        text = text.moved(max(0, min(reaches) + FEW + DIGITS - text.first))
        text = replace(text, key=text.first - min(reaches) - FEW, layer=group.layers[0])
        text = with_gain(self.engine.probe, self.group, text)
        if text.length > self.length or not self._is_like(self._measure_new(text), self.group):
            return ""
        treated = f"layer {text.layer} is treated as {self.group.id}"
        return f"; {treated}: the types of layers are exchanged"

    def _is_right(self, measured: Measured, *, written: bool = False) -> bool:
        """Return whether scores are right; with ``written``, only those of generated queries."""
        right, count = self._expected(measured.prompt), self._count(measured)
        rows = slice(int(written), None)
        if measured.lost or not (measured.ratio(right)[rows] <= 1).all():
            return False
        return count is None or bool((count.ratios[rows] <= 1).all())

    def _place(self, prompt: Prompt) -> str:
        return f"layer {prompt.layer} ({self.group.id}) of {self.engine.model.title}"


def _number(keys: float) -> str:
    """Return a number of keys, whole if it nearly is."""
    return f"{round(keys):,}" if abs(keys - round(keys)) < 0.1 else f"{keys:,.1f}"


@dataclass(frozen=True)
class _Answered:
    """A reader with a known answer."""

    answer: Sequence[Mapping[str, float]]

    def read(self, prompt: Sequence[int], steps: int) -> Sequence[Mapping[str, float]]:
        """Return the answer."""
        return self.answer

    def read_at(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Return the answer to the only text."""
        return [self.answer]

    def read_after(
        self, texts: Sequence[Sequence[int]], begun: Sequence[Sequence[int]], steps: int
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Return the answer to the only text."""
        return [self.answer]
