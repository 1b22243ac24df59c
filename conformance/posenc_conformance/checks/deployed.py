"""Deployed engines: their use of positions while they serve a probe, per group of layers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from posenc_conformance.checks import Check, Extent, Options
from posenc_conformance.checks.each_layer import EachLayer, no_farther
from posenc_conformance.checks.model_adapter import turned_groups
from posenc_conformance.checks.probe_explanations import CAUSAL, LAYERS_MISTAKEN, ROUNDED_LIKE
from posenc_conformance.checks.probe_measurements import FEW
from posenc_conformance.checks.request_patterns import BY_LENGTH
from posenc_conformance.deployed.engine import PRODUCTS, Deployed
from posenc_conformance.deployed.instrument import Tabled
from posenc_conformance.deployed.layer_questions import scores_of
from posenc_conformance.deployed.layer_sums import can_add_up
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.pictured import window_edge
from posenc_conformance.deployed.probe_plans import still_groups
from posenc_conformance.deployed.prompts import (
    BEHIND,
    DIGITS,
    LONGEST_NEAR,
    Prompt,
)
from posenc_conformance.errors import UserError
from posenc_conformance.judge.claim_scope import Engine, Scope
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Blocked, NotClaimed, Outcome
from posenc_conformance.models.meaning import Group, case_of, rows_of

LEVEL = "deployed"
DISTANCES = (1, 2, 7, LONGEST_NEAR, 777, 4095, 32767, 131071, 1048575)
"""Query-key distances that are checked, as far as the limit on texts allows."""
CONTEXT = 4352
"""Default limit on the tokens of a text: enough for a distance of 4,095 and a window of 4,096."""
SHORTEST = 512
"""Smallest limit on the tokens of a text with which anything can be checked."""

FARTHER = 1.125
"""Least ratio of the farthest possible distance to the farthest usual one at which it is added."""

IN_A_BATCH = "one-batch"
NONE = "none of the groups"
WRONG_LAYERS = ("layers-mistaken", "scores are wrong, and those of all other layers right")


def subjects_of(engine: Deployed, dtype: str) -> list[Subject]:
    """Return a subject for each group of layers that a probe checks."""
    dtype, subjects = PRODUCTS.get(dtype, dtype), []
    for group in asked_groups(engine):
        case = case_of(group, _inputs(group))
        subjects.append(
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
    return subjects


def asked_groups(engine: Deployed) -> list[Group]:
    """Return the groups of layers that a probe checks; for a table of positions, the only one."""
    model = engine.model
    if engine.probe.turns:
        return turned_groups(model) or still_groups(model.configuration, model.meaning)
    calls = ("alibi_bias", "learned", "t5_bucket")
    return [group for group in engine.model.meaning.groups if group.call in calls]


def _inputs(group: Group) -> dict[str, Any]:
    """Return the smallest inputs of a group's call."""
    if group.call == "alibi_bias":
        return {"q_len": 1, "k_len": 1}
    if group.call == "t5_bucket":
        return {"relative_position": np.array([0])}
    if group.call == "learned":
        return {"positions": np.array([0]), "table": np.zeros((group.parameters["rows"], 1))}
    size = int(group.parameters["head_dim"])
    return {"x": np.zeros((1, size)), "positions": rows_of(group, np.array([0]))}


def checks(engine: Deployed, subjects: Sequence[Subject], length: int) -> Iterator[Check]:
    """Yield the checks of each group of layers; no text is longer than ``length``.

    The checks of several texts in one request follow the earlier checks of all groups, because
    mlx-lm's server may stop answering. Checks that may change the engine's state come last.
    """
    by_group = [list(_checks(engine, subject, length)) for subject in subjects]
    first = [_place_of_batch(series) for series in by_group]
    pairs = list(zip(by_group, first, strict=True))
    yield from (check for series, place in pairs for check in series[:place])
    yield from (check for series, place in pairs for check in series[place : place + 1])
    yield from (check for series, place in pairs for check in series[place + 1 :])


def _place_of_batch(asked: Sequence[Check]) -> int:
    """Return the index of the check of several texts in one request; the end if there is none."""
    batches = (n for n, check in enumerate(asked) if check.id.startswith(IN_A_BATCH))
    return next(batches, len(asked))


def _checks(engine: Deployed, subject: Subject, length: int) -> Iterator[Check]:
    """Yield the checks of a group of layers, in the order in which they run."""
    groups = {group.id: group for group in asked_groups(engine)}
    (dtype,) = subject.dtypes
    longest = _length(engine, subject, length), _allowed(engine, subject, length)
    rounded = ROUNDED_LIKE.get(engine.products, dtype)
    group = groups[subject.label]
    if group.layers:
        engine = replace(engine, probe=engine.probe.at(group.layers[0]))
    checker = _Questions(engine, group, rounded, *longest)
    for name, question in checker.questions():

        def run(
            subject: Subject, options: Options, question: Callable[[], Outcome] = question
        ) -> Outcome:
            with engine.secrets.hidden():
                return question()

        id = f"{name}[{subject.label}-{engine.products or dtype}]"
        extent = Extent((len(engine.probe.plan.pairs), 2), checker.longest)
        yield Check(LEVEL, id, subject, dtype, run, extent)


def _length(engine: Deployed, subject: Subject, length: int) -> int:
    """Return the maximum number of tokens in a text: the limit of user, engine and model."""
    context = engine.model.meaning.context
    extended = context.extended or length
    if subject.scheme.id in BY_LENGTH and context.original:
        extended = context.original
    return min(length, extended, engine.source.context or length)


def _allowed(engine: Deployed, subject: Subject, length: int) -> int:
    """Return the same limit for texts whose frequencies change beyond the original context."""
    extended = engine.model.meaning.context.extended
    if subject.scheme.id == "dynamic-ntk" or extended is None:
        extended = length
    return min(length, extended, engine.source.context or length)


@dataclass(frozen=True)
class _Questions(EachLayer):
    """A group of an engine's layers, and all checks of the group."""

    def questions(self) -> Iterator[tuple[str, Callable[[], Outcome]]]:
        """Yield the checks of the group: a name, and a function that asks and judges."""
        for distance in self._distances:
            name = "row" if self._tabled else "distance"
            yield f"{name}-{distance}", partial(self._distance, self._at(distance))
        if self._encoder and not self._tabled:
            for distance in self._distances:
                yield f"ahead-{distance}", partial(self._distance, self._prompt(-distance))
        if rows := self._late_rows():
            yield "late-rows", partial(self._read_rows, rows)
        if late := self._late_texts(self._distances):
            yield "late-keys", partial(self._late_keys, late)
        if self._has_late_layers:
            yield "late-layers", self._late_layers
        if late:
            yield "written-keys", self._written_keys
        if self.group.turns and can_add_up(self.engine.probe) and self.group.attention != "chunked":
            yield "every-key", self._every_key
        if len(self.group.layers) > 1:
            yield "layers", self._layers
            yield from self._of_each_layer()
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
        yield IN_A_BATCH, self._one_batch
        if self.engine.shifts and self.group.turns and self._grows_from is None:
            yield "context-shift", partial(self._shifted, self.engine.shifts)
        if self._grows_from is not None:
            yield "beyond", partial(self._beyond, self._grows_from)
            yield "beyond-written", partial(self._beyond_written, self._grows_from)
            yield "after-longer", partial(self._after_longer, self._grows_from)
            yield "beyond-batch", partial(self._beyond_in_batch, self._grows_from)

    def _of_each_layer(self) -> Iterator[tuple[str, Callable[[], Outcome]]]:
        """Yield the checks of each layer: reused keys, and the farthest distance or the window."""
        if self._encoder or not self.group.turns:
            if self.group.attention == "two-sided" and self.group.reach is not None:
                yield "window-layers", partial(self._two_sided_layers, self.group.reach)
            return
        yield "reused-layers", self._reused_layers
        if self.group.attention == "chunked":
            return
        if self.group.reach is None:
            yield "far-layers", partial(self._far_layers, self._distances[-1])
        else:
            yield "window-layers", partial(self._window_layers, self.group.reach)

    @property
    def _tabled(self) -> bool:
        """Whether the probe reads rows of a table, instead of keys."""
        return isinstance(self.engine.probe.plan, Tabled)

    @cached_property
    def _distances(self) -> list[int]:
        """The distances that are checked: the usual ones, and the farthest possible one."""
        usual = sorted({*DISTANCES, self.group.parameters.get("max_distance", 1)})
        fitting = [distance for distance in usual if self._fits(self._prompt(distance))]
        if not fitting:
            raise UserError(self._why_nothing_fits(), "start the engine with a longer context")
        longest = self.length - 2 - (0 if self._tabled else DIGITS)
        if self._encoder:
            longest = self.length - (1 if self._tabled else BEHIND + 1)
        farthest = longest if self.group.reach is None else min(longest, self.group.reach)
        # A chunk begins at a multiple of its size, and the text of a probe with its number.
        for distance in (farthest, farthest - DIGITS):
            if distance > FARTHER * fitting[-1] and self._fits(self._prompt(distance)):
                return [*fitting, distance]
        return fitting

    def _why_nothing_fits(self) -> str:
        """Say why no text fits."""
        shortest = self._prompt(1)
        of = f"{self.group.id} of {self.engine.model.title}"
        if shortest.length > self.length:
            return (
                f"texts may have {self.length:,} tokens, and at least {shortest.length:,} are "
                f"needed to ask {of}"
            )
        return (
            f"{of} see {self.group.window or 0:,} positions, too few for the {shortest.steps} "
            "queries of a text"
        )

    @cached_property
    def longest(self) -> int:
        """Number of tokens in the longest text for a distance."""
        return max(self._prompt(distance).length for distance in self._distances)

    def _at(self, distance: int) -> Prompt:
        """Return the text for a distance, with all queries at the nearest and the farthest ones.

        The nearest tells how fast each pair rotates, and the farthest how exactly; those between
        ask pairs that are spread over all of them. An encoder reads all queries at the same time.
        """
        ends = (self._distances[0], self._distances[-1])
        if self._encoder or not self.group.turns or distance in ends:
            return self._prompt(distance)
        return self._prompt(distance, steps=min(2 * FEW, self._middle.steps))

    def _distance(self, prompt: Prompt) -> Outcome:
        """Check the scores of all queries in a prompt."""
        near = self._near if self.engine.batches else {}
        return self._together([near.get(prompt) or self._measure_new(prompt)])

    @cached_property
    def _near(self) -> dict[Prompt, Measured]:
        """Measurements of near distances, in one request; the nearest has one of its own."""
        nearest, *others = map(self._at, self._distances)
        near = [prompt for prompt in others if prompt.first == nearest.first]
        return dict(zip(near, self._measure_each(near), strict=True))

    def _read_rows(self, prompts: Sequence[Prompt]) -> Outcome:
        """Check the rows that queries read in some texts."""
        return self._together([self._measure_new(prompt) for prompt in prompts])

    def _layers(self) -> Outcome:
        """Check each layer with a few pairs.

        Raises Wrong for layers that are treated differently from their group, and Blocked if all
        are, which other checks report.
        """
        others = [group for group in asked_groups(self.engine) if group.id != self.group.id]
        few = replace(self._middle, steps=min(FEW, self._middle.steps))
        layers = [replace(few, layer=layer) for layer in self.group.layers]
        measurements, mistaken = self._measure_each(layers), {}
        for got in measurements:
            if not self._is_right(got):
                like = [
                    group.id
                    for group in others
                    if got.agrees_with(scores_of(self.engine.probe, group, got.prompt, self.dtype))
                ]
                mistaken[got.prompt.layer] = like[0] if like else NONE
        if len(mistaken) == len(measurements):
            raise Blocked("all layers of the group are wrong")
        if mistaken and not {*mistaken.values()} - {NONE}:
            wrong = [each for each in measurements if each.prompt.layer in mistaken]
            self._require_count_if_scored(wrong[0], "")
            known = self._explanations([wrong[0]], wrong[0]) or (WRONG_LAYERS,)
            raise self._failure(wrong[0], self._in_layers(known, [*mistaken]), "")
        if mistaken:
            listed = ", ".join(f"{layer} as {name}" for layer, name in mistaken.items())
            raise self._named((LAYERS_MISTAKEN[0], f"{LAYERS_MISTAKEN[1]}: {listed}"))
        return self._together(measurements)

    def _at_window(self, reach: int) -> Prompt:
        """Return a prompt whose first queries see the key, and whose last ones do not."""
        count = 2 * FEW
        prompt = self._prompt(1, steps=count)
        first = max(prompt.first, reach)
        return replace(prompt, first=first, key=first - (reach - FEW + 1))

    def _window(self, reach: int) -> Outcome:
        """Check queries from just inside the window to just outside."""
        prompt = self._at_window(reach)
        if prompt.length > self.length:
            raise NotClaimed(
                f"texts of {self.length:,} tokens are too short for a window of {reach + 1:,}; "
                f"--posenc-context={prompt.length} would do"
            )
        got = self._measure_new(prompt)
        seen = [
            distance for distance, sight in zip(prompt.distances, got.seen, strict=True) if sight
        ]
        farthest = max(seen, default=prompt.distances[0] - 1)
        if farthest == reach:
            self._require_count(got, "")
            return self._window_of_prompt(reach)
        beyond = " or more" if farthest == prompt.distances[-1] else ""
        fewer = " or fewer" if farthest < prompt.distances[0] else ""
        words = (
            f"a query sees {farthest + 1:,}{beyond}{fewer} positions, its own among them; "
            f"it should see {reach + 1:,}"
        )
        id = "window-ignored" if beyond else "window-off"
        if beyond and all(self._scores_alike(prompt, group) for group in self._other_groups):
            words += "".join(self._exchange(group) for group in self._other_groups[:1])
        raise self._named(
            (id, words),
            f"check      {self._place(prompt)}",
            f"where      keys at distances of {prompt.distances[0]:,} to {prompt.distances[-1]:,}",
            f"expected   the farthest key that is seen at {reach:,}",
            f"got        at {farthest:,}" if seen else "got        none is seen",
            pictures=(window_edge(prompt.distances, got.seen.tolist(), reach),),
        )

    def _window_of_prompt(self, reach: int) -> Outcome:
        """Check the window of a query that is given in the prompt, the second one of a chain.

        Raises Wrong if it sees a key just outside, or none just inside.
        """
        prompt = replace(self._at_window(reach), steps=2, given=2)
        prompt = prompt.moved(max(0, reach + FEW + DIGITS - prompt.positions[-1]))
        if prompt.length > self.length:
            return Outcome()
        seen = {
            distance: self._sees(replace(prompt, key=prompt.positions[-1] - distance))
            for distance in (reach, reach + 1, reach + FEW)
        }
        if [*seen.values()] == [True, False, False]:
            return Outcome()
        far = max((distance for distance, sight in seen.items() if sight), default=0)
        words = f"a query in the prompt sees a key at a distance of {far:,}, beyond {reach:,}"
        if not seen[reach]:
            words = f"a query in the prompt does not see a key at a distance of {reach:,}"
        id = "window-ignored" if far == reach + FEW else "window-off"
        raise self._named(
            (id, words), f"check      {self._place(prompt)}, its queries given in the prompt"
        )

    def _two_sided_window(self, reach: int) -> Outcome:
        """Check queries on both sides of a key, from just inside the window to just outside.

        Raises Wrong if, on either side, the farthest query that sees the key is not the right one.
        """
        behind, _ = self._on_both_sides(reach)
        seen = self._reach_on_both_sides(reach, behind.layer)
        if seen == (reach, reach):
            return Outcome()
        largest = reach + FEW
        id = "window-off"
        if max(seen) == largest and self._sees(self._far_beyond(reach)):
            id = "window-ignored"
        words = "a query sees the key " + " and ".join(
            f"{no_farther(far, reach, largest)} {side}"
            for far, side in zip(seen, ("before it", "after it"), strict=True)
        )
        if seen[0] == reach and not seen[1] and not self._sees_ahead():
            id, words = CAUSAL
        raise self._named(
            (id, words),
            f"check      {self._place(behind)}",
            f"expected   the farthest key that is seen at {reach:,} on both sides",
        )

    def _chunk(self, border: int) -> Outcome:
        """Check which keys on both sides of a chunk border are seen by a query after it.

        Raises Wrong if the query does not see its chunk's first key, or sees the key before that.
        """
        query = border + FEW
        if query + 2 > self.length:
            raise NotClaimed(
                f"texts of {self.length:,} tokens are too short for chunks of {border:,}; "
                f"--posenc-context={query + 2} would do"
            )
        prompt = self._prompt(1, steps=1)
        seen = {
            key: self._measure_new(replace(prompt, first=query, key=key)).seen.all()
            for key in (border, border - 1, border - FEW)
        }
        if seen[border] and not seen[border - 1]:
            return Outcome()
        words = f"a query at {query:,} does not see {border:,}, where its chunk begins"
        if seen[border]:
            words = f"a query at {query:,} sees {border - 1:,}, which is of the chunk before"
        id = "window-ignored" if seen[border - FEW] else "window-off"
        raise self._named((id, words), f"check      {self._place(prompt)}")
