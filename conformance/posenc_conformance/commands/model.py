"""``posenc model``: a model's encoding of positions, and the cost of misreading its config."""

import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

import numpy as np

from posenc_conformance.commands.costs_of_mistakes import costs
from posenc_conformance.commands.defaults_taken import taken
from posenc_conformance.door import named
from posenc_conformance.errors import in_line
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Configuration, read_configuration
from posenc_conformance.models.cost import POSITIONS, Cost, multiplier
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import NOT_UNDERSTOOD, Model, load_all, model_named
from posenc_conformance.models.layer_frequencies import rotated, turning
from posenc_conformance.models.meaning import Group, Meaning, scheme_of, written
from posenc_conformance.models.parts import Part
from posenc_conformance.models.sources import one_source_words

WIDTH = 98
PAIRS = {"half": "channels t and t + r/2", "interleaved": "channels 2t and 2t + 1"}
LISTED = 6
"""Most numbers of a list that are shown."""


def overview() -> Iterator[str]:
    """Yield a line for each model of the installed spec."""
    for model in load_all():
        schemes = dict.fromkeys(group.scheme for group in model.meaning.groups)
        yield f"{model.id}: {model.title}: {', '.join(schemes)}"
    yield ""
    yield "run posenc model NAME for one of these, posenc model path/config.json for any other"


def describe_model(name: str) -> Iterator[str]:
    """Yield the description of a model of the spec, or of one in a file.

    Raises UserError if there is no such model, or its configuration contradicts itself.
    """
    path = Path(name)
    # Path.exists raises for a name that is too long.
    if path.suffix in (".json", ".gguf") or os.path.exists(path):
        with named(path, NOT_UNDERSTOOD, "is not understood"):
            config = read_configuration(path)
            derived = meaning(config)
            yield f"{in_line(name)}: a model of the type {config.type}"
            yield from _of_the_file(config, derived)
            yield from _described(config, derived, None)
        return
    model = model_named(name)
    yield f"{model.title}: {model.repository}"
    yield from wrap(model.summary, WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield from _one_source(model)
    yield from _described(model.configuration, model.meaning, model)


def _one_source(model: Model) -> Iterator[str]:
    yield from _indented(one_source_words(model.one_source))


def _of_the_file(config: Configuration, found: Meaning) -> Iterator[str]:
    """Yield what the file leaves out, and which of its parts are read."""
    if config.format != "config.json":
        yield f"  read as {config.format}"
    defaults = taken(config, found)
    for owner in dict.fromkeys(default.owner for default in defaults):
        words = [default.words for default in defaults if default.owner == owner]
        yield from _indented(f"not in the file, and taken from {owner}: {', '.join(words)}")
    unread = [part for part in config.parts if not part.read]
    for part in config.parts:
        if part.read:
            yield from _indented(f"read is its part {_part(part)}")
    if unread:
        yield from _indented(f"not read: {', '.join(map(_part, unread))}")


def _part(part: Part) -> str:
    type = f" ({in_line(part.type)})" if part.type else ""
    return f"{in_line(part.name)}{type}"


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _described(config: Configuration, found: Meaning, known: Model | None) -> Iterator[str]:
    yield from _whole(found, known)
    for group in found.groups:
        yield ""
        yield from _group(group, len(found.groups) > 1)
    yield from _costs(found, config)
    if known is not None:
        yield from _known_mistakes(known)


def _whole(found: Meaning, known: Model | None) -> Iterator[str]:
    context = found.context
    if context.original and context.extended and context.original != context.extended:
        yield f"  positions: trained on {context.original:,}, released for {context.extended:,}"
    elif context.extended:
        yield f"  positions: {context.extended:,}"
    if found.layout:
        yield f"  q and k are stored so that a pair is {PAIRS[found.layout]}"
    if known is not None and known.layout_note:
        yield f"  {known.layout_note}"


def _group(group: Group, several: bool) -> Iterator[str]:
    sees = {"chunked": "its chunk of {:,} positions", "two-sided": "{:,} positions on each side"}
    sight = sees.get(group.attention, "{:,} positions").format(group.window or 0)
    reach = f"; a query sees {sight}" if group.window else ""
    layers = f"layers {written(group.layers)}" if group.layers else "before the first layer"
    count = f" ({len(group.layers)})" if len(group.layers) > 1 else ""
    name = f"{group.id}: " if several else ""
    yield from wrap(f"{name}{layers}{count}{reach}", WIDTH, subsequent_indent="  ")
    if group.call is None:
        yield "  no positions: " + (
            "no attention" if group.attention == "linear" else "not rotated"
        )
    else:
        scheme = scheme_of(group)
        options = "".join(f", {name} {value}" for name, value in group.options.items())
        yield f"  {scheme.title}: {group.call}, combination {group.combination}{options}"
        yield from wrap(_parameters(group), WIDTH, initial_indent="  ", subsequent_indent="    ")
    if group.scheme == "ntk-aware":
        yield _larger_base(group)
    if group.turns:
        yield from _turning(group)
    if group.temperature is not None:
        warm = group.temperature
        where = f"(p + {warm.first})" if warm.first else "p"
        yield (
            f"  queries × 1 + {warm.scale} ln(1 + floor({where} / {warm.interval:,}))"
            f": {_temperatures(group)}"
        )
    if group.score_factor is not None:
        yield f"  logits × {group.score_factor:.4f} beside the usual scale"


def _temperatures(group: Group) -> str:
    bare = Group(group.id, group.layers, group.scheme, temperature=group.temperature)
    return ", ".join(f"{multiplier(bare, p):.3f} at {p:,}" for p in POSITIONS[1:])


def _parameters(group: Group) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in group.parameters.items())


def _value(value: object) -> str:
    if isinstance(value, list):
        more = f", … ({len(value)})" if len(value) > LISTED else ""
        return "[" + ", ".join(f"{number:g}" for number in value[:LISTED]) + more + "]"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _larger_base(group: Group) -> str:
    size, base, factor = (group.parameters[name] for name in ("head_dim", "base", "factor"))
    whole = base * factor ** (size / (size - 2))
    grown = f"{_value(base)} · {_value(factor)}^({size}/{size - 2})"
    return f"  alpha makes the base {grown} = {whole:,.0f} at every length"


def _turning(group: Group) -> Iterator[str]:
    for words, omega, longer in turning(group):
        start = 0
        for number, width in enumerate(group.parameters.get("widths", ()), start=1):
            pairs = omega[start : start + width // 2]
            yield from _pairs(group, f"by the position on axis {number}", pairs, longer)
            start += width // 2
        if not start:
            yield from _pairs(group, words, omega, longer)


def _pairs(group: Group, words: str, omega: Floats, longer: float) -> Iterator[str]:
    count = int(np.count_nonzero(omega))
    size = int(group.parameters["head_dim"])
    others = f"; {size - rotated(group)} channels are not rotated" if rotated(group) < size else ""
    still = f" of {len(omega)}" if count < len(omega) else ""
    ends = [*omega[: LISTED // 2], *omega[:count][-LISTED // 2 :]]
    listed = [f"{number:.6g}" for number in ends]
    listed.insert(LISTED // 2, "…")
    if words:
        yield f"  {words}:"
    yield f"  {count}{still} pairs turn by {', '.join(listed)} radians per position{others}"
    turns = 2 * np.pi / omega[count - 1]
    made = f"; pairs are made longer by {longer:.6g}" if longer != 1 else ""
    yield f"  the slowest needs {turns:,.0f} positions for a whole turn{made}"


def _costs(found: Meaning, config: Configuration) -> Iterator[str]:
    rows = [*costs(found, config)]
    if not rows:
        return
    several = len(found.groups) > 1
    names = [f"{id} [{group}]" if several else id for id, group, _ in rows]
    wide = max(len("what a mistake costs"), *map(len, names)) + 2
    yield ""
    yield "what a mistake costs".ljust(wide) + "".join(f"{p:>16,}" for p in POSITIONS)
    for name, (_, _, effects) in zip(names, rows, strict=True):
        yield name.ljust(wide) + "".join(f"{_cost(effect):>16}" for effect in effects)
    if any(effect.loss is not None for _, _, effects in rows for effect in effects):
        yield "  First number: largest error of a query at that position that is 1 in one channel."
        yield "  Second: how much its score with a matching key changes, the farthest that it sees."
    if any(effect.loss is None for _, _, effects in rows for effect in effects):
        yield "  Largest error of any head's bias, for a key that many positions behind the query."


def _cost(found: Cost) -> str:
    if found.loss is None:
        return f"{found.error:.4g}"
    percent = round(100 * found.loss, 1) + 0.0
    return f"{found.error:.3f} {-percent if percent else 0.0:+6.1f}%"


def _known_mistakes(model: Model) -> Iterator[str]:
    if model.mistakes:
        yield ""
        yield "mistakes that are known to have been made"
    for mistake in model.mistakes:
        text = f"{mistake.id}: {mistake.description}"
        yield from wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
        yield from (f"    {link}" for link in mistake.links)
