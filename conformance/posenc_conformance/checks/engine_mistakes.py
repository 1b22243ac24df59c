"""The mistake in reading a configuration that explains an engine's result.

Single mistakes are tried before pairs. A result that none of them explains is described: by the
positions of rows, or by the frequencies of pairs, for which the engine is called once more.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc_conformance.checks.engine_questions import (
    SHORT,
    TURNING,
    Question,
    questions,
    turned_at,
)
from posenc_conformance.diagnose.diagnosis import (
    Diagnosis,
    Fit,
    find_fits,
    nothing_fits,
    to_diagnosis,
)
from posenc_conformance.diagnose.predictors import predict_case
from posenc_conformance.diagnose.recover import recover
from posenc_conformance.diagnose.rows import describe_rows
from posenc_conformance.diagnose.sample import can_be_taken_apart, sample
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.error_model import agrees, compare
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import NotClaimed
from posenc_conformance.models.configuration import Fields
from posenc_conformance.models.keys.places import MISREAD, NESTED, of_each_kind
from posenc_conformance.models.meaning import Group
from posenc_conformance.models.misreadings import (
    BIAS_MISSING,
    EARLY,
    EARLY_WORDS,
    LONG,
    MISTAKES,
    OF_A_RANK,
    SHORT_TABLES,
    UNROTATED,
    Mistake,
    changed_numbers,
    short_tables,
    unturned,
)

ROWS_OF_PAIRS = 4
"""Number of rows, in one head, on which the many pairs of a scheme's own mistakes are tried."""
CLOSE = (0, 1, 2, 3, 5, 8, 13, 21, 34)
"""Offsets from the first position, at which rows are rotated to read frequencies."""
READABLE = 1 << 14
"""Position from which on frequencies in float32 cannot be read."""
RANKS = (2, 4, 8, 16)
"""Numbers of ranks across which the heads of a model may be sharded."""


@dataclass(frozen=True)
class WrongEngine:
    """An engine that answered a question wrongly, and that can be asked further questions."""

    subject: Subject
    question: Question

    def explain(self, case: Case, output: Floats) -> Diagnosis:
        """Find the mistake that explains a wrong result; else describe what the engine does."""
        special = models_of_mistakes(self.question)
        fits = find_fits(case, output, special, largest_paired=0)
        fits = fits or _pairs_in_reading(self.question, case, output)
        fits = fits or _pairs_in_turning(case, output)
        otherwise = nothing_fits(0 if can_be_taken_apart(case) else output.size)
        description = "" if fits else self._described(case, output)
        diagnosis = to_diagnosis(fits, otherwise, description)
        names = [*self._places_that_are_read(case, diagnosis), *self._shorter(case, diagnosis)]
        return replace(diagnosis, explanations=(*names, *diagnosis.explanations))

    def _places_that_are_read(self, case: Case, found: Diagnosis) -> Iterator[tuple[str, str]]:
        """Yield the place in the configuration that the engine reads, if that explains the result.

        Tries configurations that have all values in places where the engine may look.
        """
        assert self.subject.engine is not None
        config = self.subject.engine.keywords["config"]
        if self._reads_one_block(case):
            yield NESTED
        for misread in MISREAD:
            other = misread.respelled(config)
            if other == config or misread.mistake not in (None, found.deviation):
                continue
            engine = self._asked_with(config=other)
            groups = self.question.model.meaning.groups
            everywhere = {group.id: other for group in groups}
            if _agrees(engine, self.question, case) and self._reads_all_of(everywhere, case):
                yield misread.id, misread.words
                return

    def _reads_one_block(self, case: Case) -> bool:
        """Return whether the engine is right about each layer whose block is the only one."""
        assert self.subject.engine is not None
        flat = of_each_kind(self.subject.engine.keywords["config"])
        if self.question.call not in TURNING or not flat:
            return False
        groups = self.question.model.meaning.groups
        own = {group.id: flat[group.attention] for group in groups if group.attention in flat}
        return self._reads_all_of(own, case)

    def _reads_all_of(self, configs: Mapping[str, Fields], case: Case) -> bool:
        """Return whether the engine is right about all layers, with a configuration for each group.

        An engine that ignores a field may be right about some layers only.
        """
        call, model = self.question.call, self.question.model
        if call not in TURNING:
            return True
        return all(
            group.id in configs
            and _agrees(
                self._asked_with(config=configs[group.id], layer=group.layers[0]),
                first := questions(model, group, call)[0],
                first.of(group, case.dtype),
            )
            for group in model.meaning.groups
            if group.turns
        )

    def _asked_with(self, **keywords: Any) -> Subject:
        """Return the subject with other keyword arguments for its engine."""
        assert self.subject.engine is not None
        all_keywords = {**self.subject.engine.keywords, **keywords}
        return replace(self.subject, engine=replace(self.subject.engine, keywords=all_keywords))

    def _shorter(self, case: Case, found: Diagnosis) -> Iterator[tuple[str, str]]:
        """Report that the long factors are used too early, if shorter texts are right."""
        if found.deviation != LONG or self.question.id != "within":
            return
        for text in questions(self.question.model, self.question.group, self.question.call):
            if text.id == SHORT and _agrees(self.subject, text, text.of(text.group, case.dtype)):
                yield EARLY, EARLY_WORDS.format(case.largest_position + 1)

    def _described(self, case: Case, output: Floats) -> str:
        """Describe the positions of rows, or the frequencies of pairs; empty if unclear."""
        if self.question.call not in TURNING:
            return ""
        return describe_rows([(case, output)]) or recover([(case, output)]) or self._turning(case)

    def _turning(self, case: Case) -> str:
        """Call the engine with rows at close positions, and describe the frequencies of pairs.

        The dtype is float32, if that is claimed: short dtypes do not show frequencies.
        """
        dtype = "float32" if "float32" in self.subject.dtypes else case.dtype
        first = int(case.arguments["positions"].min())
        starts = dict.fromkeys((0, first if first < READABLE else 0))
        for start in starts:
            arguments = turned_at(self.question.group, [start + distance for distance in CLOSE])
            question = replace(self.question, arguments=arguments)
            near = question.of(question.group, dtype)
            try:
                output = question.ask(self.subject, near).astype(np.float64)
            except (Misbehaviour, NotClaimed):
                continue
            if not agrees(near, output):
                return recover([(near, output)])
        return ""


def _agrees(subject: Subject, question: Question, case: Case) -> bool:
    try:
        return agrees(case, question.ask(subject, case))
    except (Misbehaviour, NotClaimed):
        return False


def models_of_mistakes(question: Question) -> Mapping[str, DeviationModel]:
    """Return, by id, deviation models for the mistakes in reading a configuration."""
    own = _own(question)
    models: dict[str, DeviationModel] = {}
    for mistake in (*MISTAKES, UNROTATED):

        def predicted(case: Case, got: Floats, mistake: Mistake = mistake) -> Iterator[Prediction]:
            for made in _ways(mistake, own, question):
                words = f"matches {mistake.what}{changed_numbers(own, made)}"
                yield from predict_case(_of_group(question, case, made), words)

        models[mistake.id] = predicted
    if question.model.meaning.context.original:
        models[SHORT_TABLES] = _short_tables(question.model.meaning.context.original)
    if question.call == "bias":
        models[BIAS_MISSING] = _no_bias
        models[OF_A_RANK] = _slopes_of_a_rank(question, own)
    return models


def _own(question: Question) -> Group:
    """Return the group of a question as its model defines it."""
    groups = question.model.meaning.groups
    return next(group for group in groups if group.id == question.group.id)


def _ways(mistake: Mistake, group: Group, question: Question) -> Iterator[Group]:
    """Yield the groups that result from a mistake; without a call of their own only for scores."""
    model = question.model
    for made in mistake.ways(group, model.meaning, model.configuration):
        if made.call is not None:
            yield made
        elif question.call == "scores":  # queries are multiplied in any case
            yield unturned(made, question.group)


def _pairs_in_reading(question: Question, case: Case, output: Floats) -> list[Fit]:
    """Find the first two mistakes in reading that give a result when combined."""
    if question.call not in TURNING:
        return []
    own = _own(question)
    for first, second, between, made in _twice(question, own):
        words = (
            f"matches {first.what}{changed_numbers(own, between)}, "
            f"and {second.what}{changed_numbers(between, made)}"
        )
        name, wrong = f"{first.id}+{second.id}", _of_group(question, case, made)

        def predicted(
            case: Case, got: Floats, words: str = words, wrong: Case = wrong
        ) -> Iterator[Prediction]:
            yield from predict_case(wrong, words)

        fits = find_fits(case, output, {name: predicted}, only=(), largest_paired=0)
        if fits:
            return fits
    return []


def _twice(question: Question, own: Group) -> Iterator[tuple[Mistake, Mistake, Group, Group]]:
    """Yield pairs of mistakes, with the group after the first and the group after both.

    A pair is yielded in one order only if both orders give the same group.
    """
    tried: list[Group] = []
    for first in MISTAKES:
        for between in _ways(first, own, question):
            for second in MISTAKES:
                if second is first:
                    continue
                for made in _ways(second, between, question):
                    if made != own and made not in tried:
                        tried.append(made)
                        yield first, second, between, made


def _pairs_in_turning(case: Case, output: Floats) -> list[Fit]:
    """Find pairs of the scheme's own mistakes, on a few rows, that explain the whole result."""
    if not can_be_taken_apart(case):
        return find_fits(case, output)
    few = sample(case, output, compare(case, output).index, ROWS_OF_PAIRS, heads=1)
    fits = find_fits(*few, largest_paired=few[1].size)

    def explains(fit: Fit) -> bool:
        ids = fit.deviation.split("+")
        matches = find_fits(case, output, only=ids)
        return fit.deviation in [match.deviation for match in matches]

    return [fit for fit in fits if explains(fit)]


def _short_tables(end: int) -> DeviationModel:
    """Make a deviation model of tables for the original context that accept positions beyond it."""

    def predicted(case: Case, got: Floats) -> Iterator[Prediction]:
        where = case.arguments.get("positions")
        if where is None or where.max() < end:
            return
        for words, read in short_tables(end):
            if np.any(read(where)):  # if all positions are 0, perhaps nothing is rotated at all
                twin = case.with_fields(arguments={**case.arguments, "positions": read(where)})
                yield from predict_case(twin, f"matches {words}")

    return predicted


def _no_bias(case: Case, got: Floats) -> Iterator[Prediction]:
    yield Prediction("matches no bias at all", np.zeros(case.shape))


def _slopes_of_a_rank(question: Question, group: Group) -> DeviationModel:
    """Make a deviation model of ranks that compute slopes for their own heads only."""

    def predicted(case: Case, got: Floats) -> Iterator[Prediction]:
        heads = int(group.parameters["heads"])
        for ranks in RANKS:
            if heads % ranks or heads == ranks:
                continue
            part = replace(group, parameters={**group.parameters, "heads": heads // ranks})
            words = f"matches slopes for {heads // ranks} heads, as often as {heads} heads need"
            yield Prediction(words, np.tile(_of_group(question, case, part).truth, (ranks, 1, 1)))

    return predicted


def _of_group(question: Question, case: Case, group: Group) -> Case:
    """Return the case of another group, with the same inputs."""
    other = question.of(group, case.dtype)
    return (
        other.with_conventions(form=case.conventions["form"]) if case.call.kind == "bias" else other
    )
