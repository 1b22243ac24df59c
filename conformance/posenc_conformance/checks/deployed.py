"""As deployed: what an engine that serves a probe does with positions, group by group of layers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from posenc_conformance.checks import Check, Extent, Options
from posenc_conformance.checks.model import page_of, turned_groups
from posenc_conformance.deployed.asked import prompt_for, scores_of
from posenc_conformance.deployed.engine import Deployed
from posenc_conformance.deployed.instrument import Biased, Instrument, Tabled
from posenc_conformance.deployed.lengths import (
    kept,
    scores_at,
    text_beyond,
    wrong_while_written,
)
from posenc_conformance.deployed.measure import (
    BEHIND,
    DIGITS,
    LONGEST_NEAR,
    UNREADABLE,
    Measured,
    Prompt,
    Scores,
    measure,
)
from posenc_conformance.deployed.mistakes import explain
from posenc_conformance.deployed.probe import Probe
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.scope import Engine, Scope
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome, Wrong
from posenc_conformance.models.meaning import Group, case_of, rows_of

LEVEL = "deployed"
DISTANCES = (1, 2, 7, LONGEST_NEAR, 777, 4095, 32767, 131071, 1048575)
"""Distances of a key, as far as texts may be long."""
CONTEXT = 4352
"""Tokens of the longest text, if nothing else is said: a distance of 4,095 and a window of 4,096
are asked with them."""
SHORTEST = 512
"""Tokens of the shortest text that must be allowed, so that something can be asked."""
MIDDLE = 200
"""Distance at which every layer is asked, and every situation tried."""
MIDDLE_OF_BIASES = 24
"""The same of biases: all heads still see the key there."""
LONGER_BY = (37, 5, 1)
"""Tokens by which a text is made longer than another one, as far as there is room."""
BEYOND = 4
"""How many times as far as a window reaches a key is asked for that nobody should see."""
FEW = 8
"""Pairs that every layer is asked about."""
UNEXPLAINED = "no known mistake gives these scores"
GIVEN_OTHERWISE = "queries that are given in the prompt are wrong, those that are written right"
CAUSAL = ("causal", "a query does not see keys that come after it: the mask is causal")
Explanations = tuple[tuple[str, str], ...]
"""Ids of mistakes, and words for them."""
BY_LENGTH = ("dynamic-ntk", "longrope")
"""Schemes whose frequencies change with the length of a text, beyond the original context."""


def subjects_of(engine: Deployed, dtype: str) -> list[Subject]:
    """Return a subject for each group of layers that has scores."""
    found = []
    for group in asked_groups(engine):
        case = case_of(group, _inputs(group))
        found.append(
            Subject(
                case.scheme,
                case.call,
                case.call.combinations[group.combination or ""],
                (Scope({}, {}, (dtype,), DISTANCES[-1]),),
                engine.read,
                None,
                engine=Engine(engine.model.id, group.id, LEVEL, {}),
            )
        )
    return found


def asked_groups(engine: Deployed) -> list[Group]:
    """Return the groups of layers that a probe asks; of a table of positions the only one."""
    if engine.probe.turns:
        return turned_groups(engine.model)
    asked = ("alibi_bias", "learned")
    return [group for group in engine.model.meaning.groups if group.call in asked]


def _inputs(group: Group) -> dict[str, Any]:
    """Return the smallest inputs of a group's call."""
    if group.call == "alibi_bias":
        return {"q_len": 1, "k_len": 1}
    if group.call == "learned":
        return {"positions": np.array([0]), "table": np.zeros((group.parameters["rows"], 1))}
    size = int(group.parameters["head_dim"])
    return {"x": np.zeros((1, size)), "positions": rows_of(group, np.array([0]))}


def checks(engine: Deployed, subjects: Sequence[Subject], length: int) -> Iterator[Check]:
    """Yield the checks of each group of layers; no text is longer than ``length``."""
    groups = {group.id: group for group in asked_groups(engine)}
    for subject in subjects:
        (dtype,) = subject.dtypes
        longest = _length(engine, subject, length), _allowed(engine, subject, length)
        asked = _Asked(engine, groups[subject.label], dtype, *longest)
        for name, question in asked.questions():

            def run(
                subject: Subject, options: Options, question: Callable[[], Outcome] = question
            ) -> Outcome:
                return question()

            id = f"{name}[{subject.label}-{dtype}]"
            extent = Extent((len(engine.probe.plan.pairs), 2), asked.longest)
            yield Check(LEVEL, id, subject, dtype, run, extent)


def _length(engine: Deployed, subject: Subject, length: int) -> int:
    """Return how long texts may be: as the user, the engine and the model say."""
    context = engine.model.meaning.context
    extended = context.extended or length
    if subject.scheme.id in BY_LENGTH and context.original:
        extended = context.original
    return min(length, extended, engine.source.context or length)


def _allowed(engine: Deployed, subject: Subject, length: int) -> int:
    """Return the same where frequencies change with the length, beyond the original context."""
    extended = engine.model.meaning.context.extended
    if subject.scheme.id == "dynamic-ntk" or extended is None:
        extended = length
    return min(length, extended, engine.source.context or length)


@dataclass(frozen=True)
class _Asked:
    """A group of layers of an engine, and how it is asked."""

    engine: Deployed
    group: Group
    dtype: str
    length: int
    """Tokens of the longest text."""
    allowed: int
    """Tokens of the longest text for which frequencies may be others than for short ones."""
    right: dict[Prompt, Scores] = field(default_factory=dict)
    """What was expected so far: of layers, and of texts of other numbers, it is the same."""

    def questions(self) -> Iterator[tuple[str, Callable[[], Outcome]]]:
        """Yield the checks of the group: a name, and a function that asks and judges."""
        for distance in self._distances():
            name = "row" if isinstance(self.engine.probe.plan, Tabled) else "distance"
            yield f"{name}-{distance}", partial(self._distance, self._prompt(distance))
        if self._encoder and self.engine.probe.turns:
            for distance in self._distances():
                yield f"ahead-{distance}", partial(self._distance, self._prompt(-distance))
        if len(self.group.layers) > 1:
            yield "layers", self._layers
        if self.group.attention == "chunked" and self.group.window is not None:
            yield "window", partial(self._chunk, self.group.window)
        elif self.group.attention == "two-sided" and self.group.reach is not None:
            yield "window", partial(self._two_sided_window, self.group.reach)
        elif self.group.reach is not None:
            yield "window", partial(self._window, self.group.reach)
        if not self._encoder:
            yield "prefill", self._prefill
        yield "same-text-again", self._again
        yield "two-at-once", self._two_at_once
        yield "one-batch", self._one_batch
        if self._grows_from is not None:
            yield "beyond", partial(self._beyond, self._grows_from)
            yield "beyond-written", partial(self._beyond_written, self._grows_from)
            yield "after-longer", partial(self._after_longer, self._grows_from)

    def _distances(self) -> list[int]:
        """List the distances that are asked: the usual ones, and the farthest that there can be."""
        fitting = [each for each in DISTANCES if self._fits(self._prompt(each))]
        longest = self.length - (BEHIND + 1 if self._encoder and self.engine.probe.turns else 2)
        if self._encoder and not self.engine.probe.turns:
            longest = self.length - 1
        farthest = longest if self.group.reach is None else min(longest, self.group.reach)
        if farthest > 2 * fitting[-1]:
            fitting.append(farthest)
        return fitting

    @property
    def _encoder(self) -> bool:
        """Whether texts are given as a whole, and nothing is written behind them."""
        return self.engine.probe.plan.encoder

    @property
    def longest(self) -> int:
        """Tokens of the longest text that is asked."""
        return max(self._prompt(distance).length for distance in self._distances())

    def _prompt(self, distance: int, layer: int | None = None, steps: int | None = None) -> Prompt:
        return prompt_for(self.engine.probe, self.group, distance, layer, steps)

    def _new(self, prompt: Prompt) -> Prompt:
        """Return the prompt as a text that has no beginning in common with earlier ones."""
        return replace(prompt, serial=next(self.engine.serials))

    def _fits(self, prompt: Prompt) -> bool:
        """Return whether a text is not too long, and all its queries see the key."""
        reach, window = self.group.reach, self.group.window
        if prompt.length > self.length or (reach is not None and prompt.farthest > reach):
            return False
        if self.group.attention != "chunked" or window is None:
            return True
        return prompt.key // window == prompt.positions[-1] // window

    @cached_property
    def _middle(self) -> Prompt:
        """Return a prompt of a distance at which situations are tried."""
        distances = [MIDDLE, LONGEST_NEAR, 1]
        if isinstance(self.engine.probe.plan, Biased):
            distances.insert(0, MIDDLE_OF_BIASES)
        return next(prompt for prompt in map(self._prompt, distances) if self._fits(prompt))

    def _measure(self, prompt: Prompt) -> Measured:
        """Ask the engine; raise Wrong if it does not answer."""
        try:
            found = measure(self.engine.probe, self.engine, prompt)
        except Misbehaviour as problem:
            raise Wrong(f"{self._place(prompt)}: {problem}") from None
        self.engine.answered.append(found)
        return found

    def _expected(self, prompt: Prompt) -> Scores:
        alike = replace(prompt, layer=self._prompt(1).layer, serial=0)
        if alike not in self.right:
            self.right[alike] = scores_of(self.engine.probe, self.group, alike, self.dtype)
        return self.right[alike]

    def _together(self, found: Sequence[Measured], when: str = "") -> Outcome:
        """Return what some measurements say together; raise Wrong if one of them is wrong."""
        right = [self._expected(each.prompt) for each in found]
        ratios = [each.ratio(scores).max() for each, scores in zip(found, right, strict=True)]
        worst = int(np.argmax(ratios))
        if not ratios[worst] <= 1:
            raise self._wrong(found, worst, when)
        curve = [
            (
                each.prompt.farthest,
                _off(self.engine.probe, each.values, scores),
                float(scores.bound.max()),
            )
            for each, scores in zip(found, right, strict=True)
        ]
        return Outcome(worst=float(ratios[worst]), curve=tuple(sorted(curve)))

    def _wrong(self, found: Sequence[Measured], worst: int, when: str) -> Wrong:
        """Make the failure of scores that are wrong; the worst are described."""
        return self._failure(found[worst], self._explanations(found, found[worst]), when)

    def _explanations(self, found: Sequence[Measured], worst: Measured) -> Explanations:
        """Return what explains all that was measured, the most special mistake first."""
        engine = self.engine
        # One text alone may look like several mistakes.
        evidence = [*found, self._measure(self._new(self._middle))]
        fits = explain(engine.probe, engine.model, self.group, self.dtype, evidence)
        if not fits and engine.probe.turns and not worst.seen.all():
            return (self._sight(worst),)
        one_given = worst.prompt.given == 1 and not self._encoder
        if not fits and one_given and self._is_right(worst, written=True):
            return (("given-otherwise", GIVEN_OTHERWISE),)
        if not fits and any(self._gave(each, worst) for each in engine.answered):
            return (("earlier-answer", "gives the answer to an earlier text"),)
        return tuple({each.id: each.words for each in fits}.items())

    def _gave(self, earlier: Measured, later: Measured) -> bool:
        """Return whether a text got the scores of an earlier one that asked something else."""
        if not np.array_equal(earlier.values, later.values):
            return False
        first, second = (self._expected(each.prompt).values for each in (earlier, later))
        return not np.allclose(first, second)

    def _sight(self, measured: Measured) -> tuple[str, str]:
        """Say how far keys are seen, if some that should be are not."""
        if measured.prompt.key > measured.prompt.positions[0] and not self._sees_ahead():
            return CAUSAL
        far = [
            abs(distance)
            for distance, seen in zip(measured.prompt.distances, measured.seen, strict=True)
            if seen
        ]
        others = {each.window for each in self.engine.model.meaning.groups if each.window}
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
        """Return a text of one query that stands far beyond the reach of a window, if it can."""
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
        """Put a failure into words; ``right`` is what is right there, if it is not the usual."""
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
            f"expected   {_in_words(plan, right.values[row])}",
            f"got        {_in_words(plan, measured.values[row])}",
            f"error      {ratio[row]:.3g} times the bound of {bound:.2g}",
            f"wrong      {np.count_nonzero(ratio > 1)} of {len(ratio)} {plan.asks}",
            f"see        {page_of(self.engine.model)}",
        ]
        outcome = Outcome(worst=float(ratio[row]), explanations=explanations)
        return Wrong("\n".join(text), outcome)

    def _is_right(self, measured: Measured, *, written: bool = False) -> bool:
        """Return whether scores are right; ``written``: but for a query that was given."""
        right = self._expected(measured.prompt)
        return bool((measured.ratio(right)[int(written) :] <= 1).all())

    def _place(self, prompt: Prompt) -> str:
        return f"layer {prompt.layer} ({self.group.id}) of {self.engine.model.title}"

    def _distance(self, prompt: Prompt) -> Outcome:
        """Ask all pairs at a distance."""
        return self._together([self._measure(self._new(prompt))])

    def _layers(self) -> Outcome:
        """Ask each layer about a few pairs.

        Raises Wrong for layers that are treated otherwise than their group, and Blocked if all are:
        that is said elsewhere.
        """
        others = [each for each in asked_groups(self.engine) if each.id != self.group.id]
        found, mistaken = [], {}
        for layer in self.group.layers:
            few = min(FEW, self._middle.steps)
            prompt = self._new(replace(self._middle, layer=layer, steps=few))
            got = self._measure(prompt)
            found.append(got)
            if not self._is_right(got):
                like = [
                    each.id
                    for each in others
                    if got.agrees_with(scores_of(self.engine.probe, each, prompt, self.dtype))
                ]
                mistaken[layer] = like[0] if like else "none of the groups"
        if len(mistaken) == len(found):
            raise Blocked("all layers of the group are wrong")
        if mistaken:
            listed = ", ".join(f"{layer} as {name}" for layer, name in mistaken.items())
            words = f"layers treated like those of another group: {listed}"
            text = f"{words} [layers-mistaken]\nsee        {page_of(self.engine.model)}"
            raise Wrong(text, Outcome(explanations=(("layers-mistaken", words),)))
        return self._together(found)

    def _at_window(self, reach: int) -> Prompt:
        """Return a prompt whose first queries see the key, and whose last ones do not."""
        count = 2 * FEW
        prompt = self._prompt(1, steps=count)
        first = max(prompt.first, reach)
        return replace(prompt, first=first, key=first - (reach - FEW + 1))

    def _window(self, reach: int) -> Outcome:
        """Ask queries from just inside the window to just outside."""
        prompt = self._at_window(reach)
        if prompt.length > self.length:
            raise NotClaimed(
                f"texts of {self.length:,} tokens are too short for a window of {reach + 1:,}; "
                f"--posenc-context={prompt.length} would do"
            )
        got = self._measure(self._new(prompt))
        seen = [
            distance for distance, sight in zip(prompt.distances, got.seen, strict=True) if sight
        ]
        farthest = max(seen, default=prompt.distances[0] - 1)
        if farthest == reach:
            return Outcome()
        beyond = " or more" if farthest == prompt.distances[-1] else ""
        fewer = " or fewer" if farthest < prompt.distances[0] else ""
        words = (
            f"a query sees {farthest + 1:,}{beyond}{fewer} positions, its own among them; "
            f"it should see {reach + 1:,}"
        )
        id = "window-ignored" if beyond else "window-off"
        text = [
            f"{words} [{id}]",
            f"check      {self._place(prompt)}",
            f"where      keys at distances of {prompt.distances[0]:,} to {prompt.distances[-1]:,}",
            f"expected   the farthest key that is seen at {reach:,}",
            f"got        at {farthest:,}" if seen else "got        none is seen",
            f"see        {page_of(self.engine.model)}",
        ]
        raise Wrong("\n".join(text), Outcome(explanations=((id, words),)))

    def _two_sided_window(self, reach: int) -> Outcome:
        """Ask queries on both sides of a key, from just inside the window to just outside.

        Raises Wrong if the farthest that sees it is another one on one of the sides.
        """
        count = 2 * FEW
        behind = self._prompt(1, steps=count)
        behind = replace(behind, key=behind.first - (reach - FEW + 1))
        ahead = replace(behind, key=behind.positions[-1] + reach - FEW + 1)
        ahead = replace(ahead, total=max(ahead.total, ahead.key + BEHIND))
        if max(behind.length, ahead.length) > self.length or behind.key < DIGITS:
            raise NotClaimed(
                f"texts of {self.length:,} tokens are too short for a window of {reach:,} on each "
                f"side; --posenc-context={ahead.length} would do"
            )
        seen = []
        for prompt in (behind, ahead):
            found = self._measure(self._new(prompt))
            far = [
                abs(distance)
                for distance, sight in zip(prompt.distances, found.seen, strict=True)
                if sight
            ]
            seen.append(max(far, default=0))
        if seen == [reach, reach]:
            return Outcome()
        largest = reach + FEW
        id = "window-off"
        if max(seen) == largest and self._sees(self._far_beyond(reach)):
            id = "window-ignored"
        words = "a query sees the key " + " and ".join(
            f"{_no_farther(far, reach, largest)} {side}"
            for far, side in zip(seen, ("before it", "after it"), strict=True)
        )
        if seen[0] == reach and not seen[1] and not self._sees_ahead():
            id, words = CAUSAL
        text = [
            f"{words} [{id}]",
            f"check      {self._place(behind)}",
            f"expected   the farthest key that is seen at {reach:,} on both sides",
            f"see        {page_of(self.engine.model)}",
        ]
        raise Wrong("\n".join(text), Outcome(explanations=((id, words),)))

    def _chunk(self, border: int) -> Outcome:
        """Ask a query behind a border of chunks about keys on both sides of it.

        Raises Wrong if it does not see the first position of its chunk, or sees one before.
        """
        query = border + FEW
        if query + 2 > self.length:
            raise NotClaimed(
                f"texts of {self.length:,} tokens are too short for chunks of {border:,}; "
                f"--posenc-context={query + 2} would do"
            )
        asked = self._prompt(1, steps=1)
        seen = {
            key: self._measure(self._new(replace(asked, first=query, key=key))).seen.all()
            for key in (border, border - 1, border - FEW)
        }
        if seen[border] and not seen[border - 1]:
            return Outcome()
        words = f"a query at {query:,} does not see {border:,}, where its chunk begins"
        if seen[border]:
            words = f"a query at {query:,} sees {border - 1:,}, which is of the chunk before"
        id = "window-ignored" if seen[border - FEW] else "window-off"
        text = [
            f"{words} [{id}]",
            f"check      {self._place(asked)}",
            f"see        {page_of(self.engine.model)}",
        ]
        raise Wrong("\n".join(text), Outcome(explanations=((id, words),)))

    def _prefill(self) -> Outcome:
        """Give whole chains in the prompt, so that queries are not written one by one.

        Raises Wrong; under a name of its own if the written queries are right.
        """
        whole = self._middle
        lengths = dict.fromkeys((2, (whole.steps + 1) // 2, whole.steps))
        found = [
            self._measure(self._new(replace(whole, steps=each, given=each))) for each in lengths
        ]
        wrong = [each for each in found if not self._is_right(each)]
        when = ", its queries given in the prompt"
        if wrong and self._is_right(self._measure(self._new(whole)), written=True):
            known = self._explanations(found, wrong[0])
            raise self._failure(wrong[0], known or (("given-otherwise", GIVEN_OTHERWISE),), when)
        return self._together(found, when)

    def _again(self) -> Outcome:
        """Ask a text again, after one that begins alike.

        Raises Wrong; under a name of its own if it was right the first time.
        """
        whole = self._new(self._middle)
        other = replace(whole, key=whole.key - 1)
        if isinstance(self.engine.probe.plan, Tabled):
            other = replace(whole, first=whole.first - 1)
        found = [self._measure(prompt) for prompt in (whole, other, whole)]
        when = ", after texts that begin alike"
        wrong = [each for each in found[1:] if not self._is_right(each)]
        if wrong and self._is_right(found[0]):
            words = "a text is right when it is new, and wrong after another that begins alike"
            raise self._failure(wrong[0], (("changes-when-repeated", words),), when)
        return self._together(found, when)

    def _two_at_once(self) -> Outcome:
        """Ask two texts of different lengths at once.

        Raises Wrong; under a name of its own if each is right when it is asked alone.
        """
        prompts = [self._new(self._middle), self._new(self._longer(self._prompt(1)))]
        with ThreadPoolExecutor(len(prompts)) as pool:
            found = list(pool.map(self._measure, prompts))
        when = ", with another text at the same time"
        wrong = [each for each in found if not self._is_right(each)]
        if wrong and self._is_right(self._measure(self._new(wrong[0].prompt))):
            words = "a text is right alone, and wrong with another one at the same time"
            raise self._failure(wrong[0], (("mixed-up", words),), when)
        return self._together(found, when)

    def _one_batch(self) -> Outcome:
        """Ask three texts of different lengths in one request.

        Raises Wrong; under a name of its own if each is right when it is asked alone. Raises
        NotClaimed where the engine takes one text only.
        """
        steps = min(FEW, self._middle.steps)
        asked = [self._middle, self._longer(self._prompt(1)), self._longer(self._middle)]
        prompts = [self._new(replace(each, steps=steps)) for each in asked]
        probe = self.engine.probe
        given = [each.tokens(probe) for each in prompts]
        try:
            if self._encoder:
                answers = self.engine.read_at(given, [each.positions for each in prompts])
            else:
                answers = self.engine.read_together(given, steps)
        except Misbehaviour as problem:
            raise NotClaimed(f"it takes no list of texts in one request: {problem}") from None
        found = []
        for prompt, answer in zip(prompts, answers, strict=True):
            try:
                found.append(measure(probe, _Answered(answer, self.engine), prompt))
            except Misbehaviour as problem:
                raise Wrong(f"{self._place(prompt)}, in a batch: {problem}") from None
        when = ", in one request with texts of other lengths"
        wrong = [each for each in found if not self._is_right(each)]
        if wrong and self._is_right(self._measure(self._new(wrong[0].prompt))):
            words = "a text is right alone, and wrong in one request with others"
            raise self._failure(wrong[0], (("wrong-in-batch", words),), when)
        return self._together(found, when)

    @property
    def _grows_from(self) -> int | None:
        """The length beyond which frequencies are others; None if they are always the same."""
        found = self.engine.model.meaning.context.original
        return found if self.group.scheme in BY_LENGTH else None

    def _text_beyond(self, first: int, steps: int = FEW) -> Prompt:
        """Return a text whose first query stands at a position.

        Raises NotClaimed if it is too long.
        """
        steps = min(steps, len(self.engine.probe.plan.pairs))
        found = text_beyond(self.engine.probe, self.group, self._middle.distances[0], first, steps)
        if found.length > self.allowed:
            raise NotClaimed(
                f"texts of {self.allowed:,} tokens do not grow beyond the original context; "
                f"--posenc-context={found.length} would do, if engine and model allow it"
            )
        return found

    def _beyond(self, original: int) -> Outcome:
        """Ask texts that are given, and longer than the original context."""
        whole = self._text_beyond(original + FEW)
        steps = range(1, whole.steps + 1)
        texts = [replace(whole, steps=step, given=step) for step in steps]
        found = [self._measure(self._new(text)) for text in texts]
        return self._together(found, ", beyond the original context")

    def _beyond_written(self, original: int) -> Outcome:
        """Ask a text that grows beyond the original context while it is written.

        Queries within it are not judged: an engine may turn all for the length that it allows.
        """
        within = FEW // 2
        got = self._measure(self._new(self._text_beyond(original - within)))
        prompt = replace(got.prompt, given=within + 1)
        measured = Measured(prompt, got.values[within:])
        probe = self.engine.probe
        right = scores_at(probe, self.group, prompt, self.dtype)
        if measured.agrees_with(right):
            return Outcome(worst=float(measured.ratio(right).max()))
        # A text that is given as long tells an engine that never changes frequencies from others.
        given = self._text_beyond(original + FEW)
        given = replace(given, given=given.steps)
        evidence = [self._measure(self._new(given))]
        evidence += [measured, self._measure(self._new(self._middle))]
        fits = explain(probe, self.engine.model, self.group, self.dtype, evidence)
        known = tuple({each.id: each.words for each in fits}.items()) or tuple(
            (id, words)
            for id, words, scores in wrong_while_written(probe, self.group, prompt, self.dtype)
            if measured.agrees_with(scores)
        )
        when = ", grown beyond the original context while it was written"
        raise self._failure(measured, known, when, right)

    def _was_right(self, original: int) -> bool:
        """Return whether some text within the original context was right before."""
        return any(
            self._is_right(each)
            for each in self.engine.answered
            if each.prompt.layer in self.group.layers and each.prompt.length <= original
        )

    def _after_longer(self, original: int) -> Outcome:
        """Ask a short text after one that is longer than the original context."""
        longer = self._text_beyond(max(original + FEW, self.allowed - 2), steps=1)
        self._measure(self._new(longer))
        found = self._measure(self._new(self._middle))
        when = ", after a text beyond the original context"
        right = self._expected(found.prompt)
        if not found.agrees_with(right):
            id, words, scores = kept(
                self.engine.probe, self.group, found.prompt, self.dtype, longer.first + 1
            )
            if found.agrees_with(scores) and self._was_right(original):
                raise self._failure(found, ((id, words),), when)
        return self._together([found], when)

    def _longer(self, prompt: Prompt) -> Prompt:
        """Return a prompt with more tokens before its key, if there is room."""
        for more in LONGER_BY:
            found = prompt.moved(more)
            if self._fits(found):
                return found
        return prompt


@dataclass
class _Answered:
    """A reader that has an answer already, and asks the engine for anything else."""

    answer: Sequence[Mapping[str, float]] | None
    engine: Deployed

    def read(self, prompt: Sequence[int], steps: int) -> Sequence[Mapping[str, float]]:
        """Return the answer, once."""
        found, self.answer = self.answer, None
        return self.engine.read(prompt, steps) if found is None else found

    def read_at(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[Mapping[str, float]]]:
        """Return the answer, once."""
        found, self.answer = self.answer, None
        return self.engine.read_at(texts, places) if found is None else [found]


def _no_farther(far: int, right: int, largest: int) -> str:
    """Say how far keys are seen on one side."""
    if far == largest:
        return f"at {far:,} or more"
    if far < right - FEW + 1:
        return f"not at {right - FEW + 1:,} or more"
    return f"at {far:,}"


def _off(probe: Probe, got: Floats, right: Scores) -> float:
    """Compute the largest difference of an angle from the right one, in radians.

    Of biases it is the largest difference of one that can be read, of rows 0.
    """
    if not probe.turns:
        read = right.bound <= UNREADABLE
        return float(np.abs(np.where(read, got - right.values, 0)).max())
    (first, second), (right_first, right_second) = got.T, right.values.T
    turned = (first + 1j * second) * np.conj(right_first + 1j * right_second)
    return float(np.abs(np.angle(turned)).max())


def _in_words(plan: Instrument, scores: Floats) -> str:
    """Describe what was asked in one step by what it means."""
    if isinstance(plan, Tabled):
        return f"row {int(scores[0]):,}"
    if isinstance(plan, Biased):
        first, second = map(float, scores)
        return f"biases {first:.6g} and {second:.6g}, less those of the neutral key"
    return _polar(scores)


def _polar(scores: Floats) -> str:
    """Describe the two scores of a query by the angle and the length that they mean."""
    if np.isposinf(scores).any():
        return "scores too large to be read"
    if np.isneginf(scores).any():
        return "the key is not seen"
    first, second = map(float, scores)
    angle, length = np.arctan2(-second, first), np.hypot(first, second)
    return f"angle {angle:.6f} rad, length {length:.6f}"
