"""Request patterns for a deployed engine: prefill, caches, batches, growing texts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, permutations

import numpy as np

from posenc_conformance.checks.at_once import at_once
from posenc_conformance.checks.probe_explanations import GIVEN_OTHERWISE, TEXTS, Asked
from posenc_conformance.checks.probe_measurements import FEW, LONGER_BY, MIDDLE
from posenc_conformance.deployed.http.endpoint import FormRefused, Gone
from posenc_conformance.deployed.instrument import Biased, Tabled
from posenc_conformance.deployed.length_tests import (
    kept,
    scores_at,
    text_beyond,
    wrong_when_shifted,
    wrong_while_written,
)
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.mistakes import explain
from posenc_conformance.deployed.prompts import (
    DIGITS,
    LONGEST_NEAR,
    Prompt,
    with_gain,
)
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong

BY_LENGTH = ("dynamic-ntk", "longrope")
"""Schemes whose frequencies change with a text's length beyond the original context."""

CHANGED = (
    "changes-when-repeated",
    "a text is right when it is new, and wrong after another that begins alike",
)
CONTINUED = (
    "changes-when-repeated",
    "a text is right when it is new, and wrong when it continues what the engine generated",
)
WRONG_IN_BATCH = (
    "wrong-in-batch",
    "a text is right alone, and wrong in one request with others",
)
EXCHANGED = (
    "wrong-in-batch",
    "the answers to texts in one request come in another order than the texts",
)
OF_MANY = 2.0**-6
"""Largest relative difference of the two heads' errors where queries see much padding: it is in the
hidden state, which a norm divides by its length."""
GENERATED = (1, 2)
"""Numbers of tokens that an engine generates before a conversation goes on: a key that it has not
computed anything for yet, or the last token for which it has."""
BROKEN_BY_BATCH = ("breaks-in-batch", "breaks when it is given several texts in one request")


@dataclass(frozen=True)
class Situations(Asked):
    """A group of layers, and the request patterns with which it is checked."""

    @property
    def _other(self) -> Prompt:
        """A text with another distance than the usual one."""
        near, far = self._prompt(1), self._prompt(LONGEST_NEAR)
        return far if self._middle == near and self._fits(far) else near

    def _prefill(self) -> Outcome:
        """Check texts with all queries in the prompt, so that prefill computes them.

        Raises Wrong, with an id of its own if the generated queries are right.
        """
        whole = self._middle
        lengths = dict.fromkeys((2, (whole.steps + 1) // 2, whole.steps))
        results = [self._measure_new(replace(whole, steps=each, given=each)) for each in lengths]
        wrong = [each for each in results if not self._is_right(each)]
        when = ", its queries given in the prompt"
        if wrong and self._is_right(self._measure_new(whole), written=True):
            mistakes = self._explanations(results, wrong[0])
            raise self._failure(wrong[0], mistakes or (("given-otherwise", GIVEN_OTHERWISE),), when)
        return self._together(results, when)

    def _again(self) -> Outcome:
        """Repeat a text, after one with the same beginning, and continue it.

        An engine may reuse what it cached of the beginning: fillers only, the key, and the queries
        that it generated itself. Raises Wrong; under a name of its own if it was right the first
        time.
        """
        when = ", after texts that begin alike"
        whole = self._new(self._middle)
        if not self._encoder:
            whole = replace(whole, steps=min(FEW, whole.steps))
        results = [self._measure(prompt) for prompt in (whole, *self._alike(whole))]
        self._require_unchanged(results, when)
        if self.engine.probe.plan.writes:
            continued = [results[0], *map(self._continued, GENERATED)]
            self._require_unchanged(continued, ", continuing what the engine generated", CONTINUED)
        return self._together(results, when)

    def _continued(self, generated: int) -> Measured:
        """Measure queries that follow a key which the engine generated in an earlier request.

        ``generated`` is the number of tokens that it generated then, the key first.
        """
        text = self._new(self._with_written_key(min(FEW, self._middle.steps)))
        self._send(text, generated)
        return self._measure(replace(text, given=1))

    def _require_unchanged(
        self, results: Sequence[Measured], when: str, why: tuple[str, str] = CHANGED
    ) -> None:
        """Raise Wrong, for ``why``, if the first text is right, and one that begins alike is wrong.

        The wrong one must be right if nothing that begins alike was sent before.
        """
        wrong = [measured for measured in results[1:] if not self._is_right(measured)]
        if not wrong or not self._is_right(results[0]):
            return
        if self._is_right(self._measure_new(wrong[0].prompt)):
            raise self._failure(wrong[0], (why,), when)
        self._together(wrong, when)

    def _alike(self, whole: Prompt) -> Iterator[Prompt]:
        """Yield texts that begin like ``whole``, and ``whole`` again among them."""
        others = [replace(whole, key=whole.key + by) for by in (-1, 1)]
        if isinstance(self.engine.probe.plan, Tabled):
            others = [replace(whole, first=whole.first - 1)]
        later = []
        if whole.key < whole.first and not self._encoder:
            later = [replace(whole, first=whole.first + 1), replace(whole, given=whole.steps)]
        # At once after the first text, whose keys no reused prefix has changed yet.
        yield from filter(self._is_asked, later[:1])
        yield from islice(filter(self._is_asked, others), 1)
        yield whole
        yield from filter(self._is_asked, later[1:])

    def _with_written_key(self, steps: int) -> Prompt:
        """Return a text whose key the engine generates, just before the first query.

        The tokens of its number precede the neutral key. Biases of distances give a near key so
        large a share of the token before the generated key that only the smallest gain will do.
        """
        text = replace(self._prompt(1, steps=steps), written=True, given=0)
        if isinstance(self.engine.probe.plan, Biased):
            text = replace(text, gain=self.engine.probe.plan.gains[0])
        return text.moved(max(0, DIGITS - text.neutral))

    def _is_asked(self, prompt: Prompt) -> bool:
        """Return whether a text fits, and its key is next to neither query nor neutral key."""
        return self._fits(prompt) and abs(prompt.first - prompt.key) > 1

    def _two_at_once(self) -> Outcome:
        """Check two texts of different lengths in concurrent requests.

        Raises Wrong, with an id of its own if the wrong text is right by itself. Raises NotClaimed
        for a function or a compiled model that need not allow several threads.
        """
        if not self.engine.concurrent:
            raise NotClaimed(
                "it is called from one thread; a function that allows several has an attribute "
                "that says so, logits.concurrent = True"
            )
        prompts = [self._new(self._middle), self._new(self._longer(self._other))]
        results = at_once([partial(self._measure, each, again=False) for each in prompts])
        when = ", with another text at the same time"
        wrong = [each for each in results if not self._is_right(each)]
        if wrong and self._is_right(self._measure_new(wrong[0].prompt)):
            words = "a text is right alone, and wrong with another one at the same time"
            why = "mixed-up", words + self._of_padding(wrong[0])
            raise self._failure(wrong[0], (why,), when)
        return self._together(results, when)

    def _one_batch(self) -> Outcome:
        """Check several texts of different lengths in one request.

        Raises Wrong, with an id of its own if a wrong text is right by itself, or the engine fails.
        Raises NotClaimed if the engine refuses a list of texts.
        """
        when = ", in one request with texts of other lengths"
        prompts = [self._new(text) for text in (*self._different(), *self._within_window())]
        # First, one text by itself: if its answer cannot be read, the others are not the cause.
        self._measure_new(prompts[0])
        results = self._batch(prompts, when)
        if self.engine.probe.plan.writes:
            results += self._batch(self._written_together(), when)
        return self._together(results, when)

    def _batch(self, prompts: Sequence[Prompt], when: str) -> list[Measured]:
        """Measure texts in one request; raise Wrong if one is right by itself, and wrong there."""
        if not prompts:
            return []
        try:
            answers = self._asked_together(prompts, prompts[0].generated)
        except FormRefused as problem:
            raise NotClaimed(f"it takes no list of texts in one request: {problem}") from None
        except Misbehaviour as problem:
            raise self._failed_batch(prompts, problem, BROKEN_BY_BATCH) from None
        try:
            results = [self._read(*pair) for pair in zip(prompts, answers, strict=True)]
        except Misbehaviour as problem:
            why = EXCHANGED if self._are_exchanged(prompts, answers) else BROKEN_BY_BATCH
            raise self._failed_batch(prompts, problem, why) from None
        wrong = [measured for measured in results if not self._is_right(measured)]
        if wrong and self._is_right(self._measure_new(wrong[0].prompt)):
            id, words = WRONG_IN_BATCH
            why = id, words + self._of_padding(wrong[0])
            why = EXCHANGED if self._are_exchanged(prompts, answers) else why
            raise self._failure(wrong[0], (why,), when)
        return results

    def _of_padding(self, measured: Measured) -> str:
        """Say that queries see padding, if that explains all errors.

        Padding has the values of neutral keys. So the scores of both heads, which are relative to
        the neutral key, become smaller by the same number for each query that sees it.
        """
        prompt, right = measured.prompt, self._expected(measured.prompt)
        wrong = self._wrong_queries(measured)
        if not self.group.turns or self.engine.probe.score_cap is not None or not wrong.any():
            return ""
        with np.errstate(invalid="ignore"):  # keys that are not seen
            less = (right.values - measured.values)[wrong]
            same = np.ptp(less) <= 2 * right.bound[wrong].max() + OF_MANY * less.max()
        if not same or less.min() <= 0:
            return ""
        written = prompt.given == 1 and not wrong[0]
        return f": queries{' that it writes' * bool(written)} see padding"

    def _written_together(self) -> list[Prompt]:
        """Return texts of different lengths whose keys the engine generates, if one is right alone.

        Another check reports it otherwise.
        """
        text = self._with_written_key(min(FEW, self._middle.steps))
        texts = filter(self._fits, (text, *map(text.moved, LONGER_BY)))
        if not self._fits(text) or not self._is_right(self._measure_new(text)):
            return []
        return [self._new(each) for each in islice(texts, TEXTS)]

    def _different(self) -> list[Prompt]:
        """Return up to three texts of different lengths, with few queries and different answers.

        If all distances have the same scores, each prompt has one more query than the previous one,
        so that other tokens follow. Raises NotClaimed if there is only one such text.
        """
        steps = min(FEW, self._middle.steps)
        distances = (LONGEST_NEAR, 1, LONGEST_NEAR // 2, LONGEST_NEAR // 4, MIDDLE, 2, 3)
        texts: list[Prompt] = []
        for start in (self._middle, *filter(self._fits, map(self._prompt, distances))):
            ways = (
                replace(start, given=count, steps=steps + count - 1).moved(more)
                for count in (1, len(texts) + 1)
                for more in (0, *LONGER_BY)
            )
            new = (
                prompt
                for prompt in ways
                if prompt.steps <= start.steps
                and self._fits(prompt)
                and all(self._tells_apart(prompt, other) for other in texts)
            )
            texts += islice(new, 1)
            if len(texts) == TEXTS:
                break
        if len(texts) < 2:
            raise NotClaimed(f"no two texts of up to {self.length:,} tokens can be told apart")
        return texts

    def _within_window(self) -> Iterator[Prompt]:
        """Yield a text that ends within the window, unless the usual ones do.

        Queries of longer texts do not see what a batch has filled up before the text.
        """
        if self.group.window is None or self._encoder or not self.group.turns:
            return
        text = self._prompt(1, steps=min(FEW, self._middle.steps))
        more = text.length - self.group.window // 2
        if more > 0 and text.neutral - more >= DIGITS:
            yield with_gain(self.engine.probe, self.group, text.moved(-more))

    def _tells_apart(self, first: Prompt, second: Prompt) -> bool:
        """Return whether no answer can be right for both of two texts."""
        if first.end == second.end:
            return False
        if first.given != second.given:
            return not self._encoder
        expected, other = self._expected(first), self._expected(second)
        with np.errstate(invalid="ignore"):  # where neither can be read
            return bool((abs(expected.values - other.values) > expected.bound + other.bound).any())

    def _are_exchanged(
        self, prompts: Sequence[Prompt], answers: Sequence[Sequence[Mapping[str, float]]]
    ) -> bool:
        """Return whether all answers are right, but in another order than the texts."""
        for order in permutations(answers):
            with suppress(Misbehaviour):
                pairs = zip(prompts, order, strict=True)
                if all(self._is_right(self._read(prompt, answer)) for prompt, answer in pairs):
                    return True
        return False

    def _failed_batch(
        self, prompts: Sequence[Prompt], problem: Misbehaviour, why: tuple[str, str]
    ) -> Wrong:
        """Make the failure for an engine whose answers to several texts cannot be read."""
        if isinstance(problem, Gone):
            self.engine.gone.append(str(problem))
        return self._named(
            why,
            f"check      {self._place(prompts[0])}, in one request with other texts",
            f"got        {problem}",
        )

    @property
    def _grows_from(self) -> int | None:
        """The length beyond which frequencies change; None if they never do."""
        original = self.engine.model.meaning.context.original
        return original if self.group.scheme in BY_LENGTH else None

    def _text_beyond(self, first: int, steps: int = FEW) -> Prompt:
        """Return a text whose first query is at position ``first``.

        Raises NotClaimed if it is too long.
        """
        steps = min(steps, len(self.engine.probe.plan.pairs))
        text = text_beyond(self.engine.probe, self.group, self._middle.distances[0], first, steps)
        if text.length > self.allowed:
            raise NotClaimed(
                f"texts of {self.allowed:,} tokens do not grow beyond the original context; "
                f"--posenc-context={text.length} would do, if engine and model allow it"
            )
        return text

    def _beyond(self, original: int) -> Outcome:
        """Check texts whose prompts are longer than the original context."""
        whole = self._text_beyond(original + FEW)
        steps = range(1, whole.steps + 1)
        texts = [replace(whole, steps=step, given=step) for step in steps]
        results = [self._measure_new(text) for text in texts]
        return self._together(results, ", beyond the original context")

    def _beyond_written(self, original: int) -> Outcome:
        """Check a text that grows beyond the original context while it is generated.

        Queries within it are not judged: an engine may use the frequencies for its longest text.
        """
        within = FEW // 2
        got = self._measure_new(self._text_beyond(original - within))
        prompt = replace(got.prompt, given=within + 1)
        measured = Measured(prompt, got.values[within:])
        probe = self.engine.probe
        right = scores_at(probe, self.group, prompt, self.dtype)
        if measured.agrees_with(right):
            return Outcome(worst=float(measured.ratio(right).max()))
        # A prompt of the same length exposes an engine that never changes frequencies.
        prefilled = self._text_beyond(original + FEW)
        prefilled = replace(prefilled, given=prefilled.steps)
        evidence = [self._measure_new(prefilled)]
        evidence += [measured, self._measure_new(self._middle)]
        fits = explain(probe, self.engine.model, self.group, self.dtype, evidence)
        explanations = tuple({fit.id: fit.words for fit in fits}.items()) or tuple(
            (id, words)
            for id, words, scores in wrong_while_written(probe, self.group, prompt, self.dtype)
            if measured.agrees_with(scores)
        )
        when = ", grown beyond the original context while it was written"
        raise self._failure(measured, explanations, when, right)

    def _beyond_in_batch(self, original: int) -> Outcome:
        """Check texts within and beyond the original context in one request.

        Raises as ``_one_batch`` does, and Blocked if the usual text is wrong, which other checks
        report.
        """
        if not self._is_right(self._measure_new(self._middle)):
            raise Blocked("a text within the original context is wrong by itself")
        beyond = self._text_beyond(original + FEW)
        counts = dict.fromkeys((1, (beyond.steps + 1) // 2, beyond.steps))
        texts = [
            self._new(replace(text, steps=count, given=count))
            for count in counts
            for text in (self._middle, beyond)
        ]
        when = ", in one request with a text beyond the original context"
        return self._together(self._batch(texts, when), when)

    def _shifted(self, size: int) -> Outcome:
        """Check a text that outgrows the engine's context while it is generated.

        Raises NotClaimed if the context is too small to check anything.
        """
        text = self.text_across(size)
        if text.key - DIGITS < size // 2:
            raise NotClaimed(f"a context of {size:,} tokens is too short for a shift to be seen")
        got = self._measure_new(text)
        right = self._expected(got.prompt)
        if got.agrees_with(right):
            return Outcome(worst=float(got.ratio(right).max()))
        explanations = tuple(
            (id, words)
            for id, words, scores in wrong_when_shifted(
                self.engine.probe, self.group, got.prompt, self.dtype, size
            )
            if got.agrees_with(scores)
        )
        when = f", grown beyond a context of {size:,} tokens that the engine shifts"
        raise self._failure(got, explanations or self._explanations([got], got), when)

    def text_across(self, size: int) -> Prompt:
        """Return a text whose queries are on both sides of the end of a context.

        Once a shift has dropped half of the text, each key gets about twice the weight.
        """
        probe, distance = self.engine.probe, self._middle.distances[0]
        steps = min(2 * FEW, len(probe.plan.pairs))
        first = size - FEW
        whole, left = (
            text_beyond(probe, self.group, distance, place, steps)
            for place in (first, first - size // 2)
        )
        return replace(whole, gain=left.gain)

    def _was_right(self, original: int) -> bool:
        """Return whether an earlier text of usual distances within the original context was right.

        Of nearer ones, wrong frequencies may leave few scores wrong.
        """
        return any(
            self._is_right(measured)
            for measured in self.engine.answered
            if measured.prompt.layer in self.group.layers
            and measured.prompt.length <= original
            and measured.prompt.farthest >= self._middle.farthest
        )

    def _after_longer(self, original: int) -> Outcome:
        """Check a short text after one that is longer than the original context."""
        longer = self._text_beyond(max(original + FEW, self.allowed - 2), steps=1)
        self._measure_new(longer)
        measured = self._measure_new(self._middle)
        when = ", after a text beyond the original context"
        right = self._expected(measured.prompt)
        if not measured.agrees_with(right):
            id, words, scores = kept(
                self.engine.probe, self.group, measured.prompt, self.dtype, longer.first + 1
            )
            if measured.agrees_with(scores) and self._was_right(original):
                raise self._failure(measured, ((id, words),), when)
        return self._together([measured], when)

    def _longer(self, prompt: Prompt) -> Prompt:
        """Return a prompt with more tokens before its key, if there is room."""
        for more in LONGER_BY:
            longer = prompt.moved(more)
            if self._fits(longer):
                return longer
        return prompt
