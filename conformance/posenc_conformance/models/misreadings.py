"""Mistakes in reading a configuration, and the groups that result."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc_conformance.errors import apart
from posenc_conformance.judge.arrays import Ints
from posenc_conformance.models.configuration import Configuration
from posenc_conformance.models.layer_kinds import WITHOUT_POSITIONS, divided
from posenc_conformance.models.meaning import Group, Meaning

Made = Callable[[Group, Meaning, Configuration], Group | None]
"""Returns the group with the mistake, or None if the group is not affected."""
More = Callable[[Group, Meaning, Configuration], Iterator[Group]]
"""Yields other variants of the mistake, less likely than the first."""


@dataclass(frozen=True)
class Mistake:
    """One way to misread a configuration."""

    id: str
    what: str
    made: Made
    more: More = lambda *_: iter(())

    def ways(self, group: Group, meaning: Meaning, config: Configuration) -> Iterator[Group]:
        """Yield the group with the mistake, in its likeliest variant first.

        Yields nothing if the group is not affected.
        """
        first = self.made(group, meaning, config)
        if first is not None:
            yield first
            yield from self.more(group, meaning, config)


SCALED = ("position-interpolation", "ntk-aware", "dynamic-ntk", "llama3", "yarn", "longrope")
SWAPPED = ("rope", "llama3", "position-interpolation", "p-rope", "ntk-aware", "dynamic-ntk")
"""Schemes whose combinations are named after their layouts."""
LENGTH = "original_max_position_embeddings"
FACTORS = (8, 32, 4, 2, 16, 40, 64, 1)
"""Scaling factors of released models, and 1 for none; the common ones and defaults first."""


LENGTHS = (4096, 8192, 2048, 32768)
"""Original lengths that code has built in, such as those of Llama 2 and Llama 3."""
BETAS = {"beta_fast": 32, "beta_slow": 1}
"""The bounds of YaRN's ramp in its paper."""


def with_plain_rope(group: Group, **changes: Any) -> Group:
    """Return the group rotated by plain RoPE, with its own base and width."""
    parameters = {
        name: group.parameters[name]
        for name in ("head_dim", "base", "rotary_dim")
        if name in group.parameters
    } | changes
    if parameters.get("rotary_dim") == parameters["head_dim"]:
        del parameters["rotary_dim"]
    options: dict[str, str | int] = {"rotation": "partial"} if "rotary_dim" in parameters else {}
    return replace(
        group,
        scheme="rope",
        call="rope",
        combination=layout(group),
        options=options,
        parameters=parameters,
    )


def layout(group: Group) -> str:
    """Return the layout of a group: the channels that make up pairs."""
    return str(group.conventions["layout"])


def longer(group: Group) -> float:
    """Compute the attention factor of a group, by which rotated pairs become longer."""
    parameters = group.parameters
    if "attention_factor" in parameters:
        return float(parameters["attention_factor"])
    if group.scheme == "yarn":
        grown = math.log(parameters["factor"]) / 10
        above, below = parameters.get("mscale", 1), parameters.get("mscale_all_dim", 0)
        return float((1 + above * grown) / (1 + below * grown))
    if group.scheme == "longrope" and parameters["factor"] > 1:
        return math.sqrt(1 + math.log(parameters["factor"]) / math.log(parameters[LENGTH]))
    return 1.0


def _made_longer(group: Group, factor: float) -> Group:
    parameters = {
        name: value
        for name, value in group.parameters.items()
        if name not in ("mscale", "mscale_all_dim")
    }
    options = {**group.options, "attention": "explicit"}
    return replace(group, options=options, parameters={**parameters, "attention_factor": factor})


def _scaling_ignored(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    return with_plain_rope(group) if group.scheme in SCALED else None


def _whole_block_ignored(group: Group, meaning: Meaning, config: Configuration) -> Iterator[Group]:
    """Predict a group without its block of scaling, if that affects more than rotation."""
    if group.scheme in SCALED and (group.score_factor is not None or group.temperature is not None):
        yield replace(with_plain_rope(group), score_factor=None, temperature=None)


def _factor_missing(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    return _made_longer(group, 1.0) if longer(group) != 1 else None


def _factor_twice(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    factor = longer(group)
    return _made_longer(group, factor * factor) if factor != 1 else None


def _mscale_ignored(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict the factor 0.1 ln s + 1 of YaRN's paper although mscale is given."""
    if group.options.get("attention") != "mscale":
        return None
    return _made_longer(group, 1 + math.log(group.parameters["factor"]) / 10)


def _through_logarithm(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    factor = longer(group)
    return None if factor == 1 else _made_longer(group, 1 + math.log(factor) / 10)


def _of_yarn(group: Group, meaning: Meaning, config: Configuration) -> Iterator[Group]:
    """Predict YaRN's logarithm of the scaling factor as the attention factor.

    The right attention factor has another formula, or is a given number.
    """
    grown = 1 + math.log(group.parameters["factor"]) / 10
    if grown != longer(group):
        yield _made_longer(group, grown)


def _another_factor(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    return next(_other_factors(group, meaning, config), None)


def _other_factors(group: Group, meaning: Meaning, config: Configuration) -> Iterator[Group]:
    """Predict the group with other scaling factors.

    The attention factor stays right: a wrong one is another mistake.
    """
    if group.scheme not in SCALED or group.scheme == "longrope":
        return
    parameters = group.parameters
    for factor in FACTORS:
        if factor != parameters["factor"]:
            other = replace(group, parameters={**parameters, "factor": factor})
            yield _made_longer(other, longer(group)) if group.scheme == "yarn" else other


def _score_factor(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    return None if group.score_factor is None else replace(group, score_factor=None)


def _score_factor_twice(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    factor = group.score_factor
    return None if factor is None else replace(group, score_factor=factor * factor)


def _temperature(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    return None if group.temperature is None else replace(group, temperature=None)


def _one_off(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict a temperature with positions counted from 1 instead of 0, or the reverse."""
    warm = group.temperature
    if warm is None:
        return None
    return replace(group, temperature=replace(warm, first=1 - warm.first))


def _warm_elsewhere(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict the temperature of other layers in layers without one."""
    others = [other.temperature for other in meaning.groups if other.temperature is not None]
    if group.temperature is not None or group.attention in WITHOUT_POSITIONS or not others:
        return None
    return replace(group, temperature=others[0])


def _long_always(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    return replace(group, combination="long") if group.scheme == "longrope" else None


def _short_always(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    if group.scheme != "longrope":
        return None
    parameters = dict(group.parameters)
    return replace(group, parameters={**parameters, "long_factors": parameters["short_factors"]})


def _other_length(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict the extended context in place of the original one, or else a usual length."""
    return next(_other_lengths(group, meaning, config), None)


def _other_lengths(group: Group, meaning: Meaning, config: Configuration) -> Iterator[Group]:
    """Predict other original lengths: the extended context, and those that code has built in."""
    own = group.parameters.get(LENGTH)
    built_in = () if group.scheme == "dynamic-ntk" else LENGTHS  # its lengths look like factors
    for length in dict.fromkeys((meaning.context.extended, *built_in)):
        if own is not None and length not in (None, own):
            yield replace(group, parameters={**group.parameters, LENGTH: length})


def _usual_betas(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict the bounds of YaRN's paper in place of those that are given."""
    given = {name: group.parameters.get(name, usual) for name, usual in BETAS.items()}
    if group.scheme != "yarn" or given == BETAS:
        return None
    return replace(group, parameters={**group.parameters, **BETAS})


def _rounded_ramp(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    return replace(group, combination="code-half") if group.combination == "gpt-oss" else None


def _whole_head(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict all channels rotated instead of a share."""
    if group.scheme == "p-rope":
        return with_plain_rope(group)
    if "rotary_dim" not in group.parameters or group.scheme != "rope":
        return None
    return with_plain_rope(group, rotary_dim=group.parameters["head_dim"])


def _share_of_the_channels(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict a share of the channels rotated as a head of its own, with its frequencies.

    The right pairs and frequencies are those of the whole head.
    """
    if group.scheme != "p-rope":
        return None
    size = int(group.parameters["head_dim"] * group.parameters["proportion"])
    return with_plain_rope(group, rotary_dim=size)


def _share_twice(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict the rotated share of a head applied twice."""
    values = group.parameters
    if group.scheme == "p-rope" and 0 < values["proportion"] < 1:
        return replace(group, parameters={**values, "proportion": values["proportion"] ** 2})
    width = values.get("rotary_dim", 0) ** 2 / values.get("head_dim", 1)
    if group.scheme in ("longrope", "m-rope") or width % 2 or not width:
        return None  # their lists have an entry per rotated pair
    return replace(group, parameters={**values, "rotary_dim": int(width)})


def _scaled_elsewhere(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict plain layers with the scaling of the others, at their own base."""
    others = [other for other in meaning.groups if other.scheme in SCALED]
    if group.scheme != "rope" or not others or "rotary_dim" in group.parameters:
        return None
    made = _turned_as(group, others[0])
    own = {name: group.parameters[name] for name in ("head_dim", "base")}
    return replace(made, parameters={**made.parameters, **own})


def _still(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict no rotation; not for M-RoPE, whose positions have three axes."""
    return unturned(group, group) if group.turns and group.scheme != "m-rope" else None


def unturned(group: Group, other: Group) -> Group:
    """Return an unrotated group with the head size of ``other``."""
    still = {"head_dim": other.parameters["head_dim"], "base": 10000, "proportion": 0}
    return replace(
        group, scheme="p-rope", call="p_rope", combination="half", options={}, parameters=still
    )


def _usual_base(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    if not group.turns or group.parameters["base"] == 10000:
        return None
    return replace(group, parameters={**group.parameters, "base": 10000})


def _swapped_layout(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict the pairs of the other layout."""
    other = {"half": "interleaved", "interleaved": "half"}
    if group.scheme in SWAPPED:
        return replace(group, combination=other[layout(group)])
    names = {"code-half": "code-interleaved", "code-interleaved": "code-half"}
    if group.scheme == "yarn" and group.combination in names:
        return replace(group, combination=names[group.combination])
    return None


def _computed_head(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict the frequencies of heads of hidden_size / num_attention_heads channels."""
    if not group.turns or config.get("qk_rope_head_dim") is not None:
        return None
    if config.get("hidden_size") is None or config.get("num_attention_heads") is None:
        return None
    if config.whole("hidden_size") % config.whole("num_attention_heads"):
        return None
    size, true = divided(config), group.parameters["head_dim"]
    if size >= true or size % 2 or group.scheme not in ("rope", "llama3", "yarn"):
        return None
    made = with_plain_rope(group, rotary_dim=size) if group.scheme == "rope" else group
    return None if made == group else made


def _as(*kinds: str) -> Made:
    """Return the model of the mistake that rotates layers like those of the given kinds."""

    def made(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
        if group.attention in kinds or not group.turns:
            return None
        others = [other for other in meaning.groups if other.attention in kinds and other.turns]
        if not others:
            return None
        wrong = _turned_as(group, others[0])
        if wrong.parameters["head_dim"] != group.parameters["head_dim"]:
            base = wrong.parameters["base"]
            wrong = replace(group, parameters={**group.parameters, "base": base})
        return None if wrong == group else wrong

    return made


def _turned_as(group: Group, other: Group) -> Group:
    """Return the group with the rotation of ``other``, and its own attention."""
    return replace(
        group,
        scheme=other.scheme,
        call=other.call,
        combination=other.combination,
        options=other.options,
        parameters=other.parameters,
    )


def _rotated(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    """Predict layers without positions rotated like the others."""
    if group.call is not None or group.attention in WITHOUT_POSITIONS:
        return None
    others = [other for other in meaning.groups if other.turns]
    return _turned_as(group, others[0]) if others else None


def _uniform_slopes(group: Group, meaning: Meaning, config: Configuration) -> Group | None:
    heads = group.parameters.get("heads", 1)
    if group.scheme != "alibi" or not heads & (heads - 1):
        return None
    return replace(group, combination="causal-uniform")


MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        "scaling-ignored",
        "the block of scaling not applied; so does who reads type where rope_type stands",
        _scaling_ignored,
        _whole_block_ignored,
    ),
    Mistake(
        "factor-of-another-model",
        "the factor of another model, or a default, for the one that is given",
        _another_factor,
        _other_factors,
    ),
    Mistake(
        "wrong-context-length",
        "the extended context, or a usual length, for the original one",
        _other_length,
        _other_lengths,
    ),
    Mistake("betas-ignored", "YaRN's usual beta_fast and beta_slow", _usual_betas),
    Mistake("long-list-always", "the long list in short texts too", _long_always),
    Mistake("short-list-always", "the short list in long texts too", _short_always),
    Mistake("attention-factor-missing", "pairs not made longer", _factor_missing),
    Mistake("attention-factor-twice", "pairs made longer twice", _factor_twice),
    Mistake(
        "attention-factor-through-logarithm",
        "pairs made longer by 0.1 ln of the factor + 1, where the factor itself is meant",
        _through_logarithm,
        _of_yarn,
    ),
    Mistake("score-factor-twice", "logits multiplied twice", _score_factor_twice),
    Mistake("mscale-ignored", "0.1 ln s + 1 although mscale is given", _mscale_ignored),
    Mistake("score-factor-missing", "logits not multiplied", _score_factor),
    Mistake("temperature-missing", "queries not multiplied", _temperature),
    Mistake(
        "temperature-one-off",
        "queries multiplied by what is meant for the position beside theirs",
        _one_off,
    ),
    Mistake(
        "temperature-on-other-layers",
        "queries of other layers multiplied as well",
        _warm_elsewhere,
    ),
    Mistake("ramp-rounded", "the ramp's bounds rounded, although truncate is false", _rounded_ramp),
    Mistake("global-base-everywhere", "other layers turned as the full ones are", _as("full")),
    Mistake(
        "local-base-everywhere",
        "other layers turned as the sliding ones are",
        _as("sliding", "two-sided"),
    ),
    Mistake(
        "scaling-on-other-layers",
        "plain layers scaled as others are",
        _scaled_elsewhere,
    ),
    Mistake("unrotated-layers-rotated", "layers without positions rotated", _rotated),
    Mistake("partial-ignored", "all channels rotated", _whole_head),
    Mistake("share-of-channels", "a share of the channels rotated alone", _share_of_the_channels),
    Mistake("share-twice", "the share that is rotated taken of that share again", _share_twice),
    Mistake("head-dim-computed", "hidden_size / num_attention_heads for head_dim", _computed_head),
    Mistake("base-ignored", "the base 10,000", _usual_base),
    Mistake("layout-swapped", "pairs of the other layout", _swapped_layout),
    Mistake("slopes-uniform", "slopes 2^(-8(h+1)/heads) for any number of heads", _uniform_slopes),
)
"""The mistakes whose costs are computed, in the order in which they are shown."""


def applicable(
    meaning: Meaning, config: Configuration
) -> Iterator[tuple[Mistake, Mapping[str, tuple[Group, Group]]]]:
    """Yield the mistakes that apply to a model.

    Yields each with the affected groups, by id: the right group, and the group with the mistake.
    """
    for mistake in MISTAKES:
        concerned = {}
        for group in meaning.groups:
            made = mistake.made(group, meaning, config)
            if made is not None:
                concerned[group.id] = (group, made)
        if concerned:
            yield mistake, concerned


def changed_numbers(group: Group, made: Group) -> str:
    """Describe the numbers that a mistake changes, such as ``: factor 8 for 32``."""
    if made.scheme != group.scheme:
        return ""
    changed = [
        "{} {} for {}".format(name, *apart(made.parameters[name], value, digits=6))
        for name, value in group.parameters.items()
        if isinstance(value, int | float) and made.parameters.get(name, value) != value
    ]
    return f": {', '.join(changed)}" if changed else ""


UNROTATED = Mistake("unrotated", "nothing rotated", _still)
"""The mistake that any model can have, and whose cost is the whole effect of positions."""
LONG, EARLY = "long-list-always", "long-list-early"
"""The long list in short texts too; and in a text that exactly fills the original context."""
EARLY_WORDS = "uses the long list for a text of {:,} already, the longest that is a short one"
BIAS_MISSING = "bias-missing"
OF_A_RANK = "slopes-of-a-rank"
"""Mistakes with a bias that no changed parameter describes."""
SHORT_TABLES = "original-context"
"""The mistake of tables that end at the original context."""


def short_tables(end: int) -> Iterator[tuple[str, Callable[[Ints], Ints]]]:
    """Yield how such tables may treat later positions: a description, and the rows they read."""
    words = f"tables that end at the original context, {end:,}: positions beyond it"
    yield f"{words} get their last row", lambda positions: np.minimum(positions, end - 1)
    yield f"{words} start anew", lambda positions: positions % end
