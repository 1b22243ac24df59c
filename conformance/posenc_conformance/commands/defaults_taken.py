"""What a file does not say and its reader fills in, as far as it changes the meaning."""

from collections.abc import Iterator
from dataclasses import replace

from posenc_conformance.errors import UserError
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import Configuration
from posenc_conformance.models.defaults import BETAS, ORIGINAL, Default
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.types.names import usual_name

IN_BLOCKS = (*BETAS, ORIGINAL)
"""Fields that stand in blocks of scaling, which all read them."""


def taken(config: Configuration, found: Meaning) -> tuple[Default, ...]:
    """Return the defaults of a configuration without which it would mean something else.

    ``found`` is the meaning of the configuration. The window of a model that has switched it off is
    such a default that changes nothing, or the base of a model whose queries have a bias.
    """
    if config.type not in ROTARY:
        return config.taken
    return tuple(default for default in config.taken if _matters(default, config, found))


def _matters(default: Default, config: Configuration, found: Meaning) -> bool:
    """Return whether another value of a default would change the meaning, or be refused."""
    others = [*_others(default)]
    field = usual_name(default.field)
    return not others or any(_derived(field, value, config) != found for value in others)


def _others(default: Default) -> Iterator[int | float]:
    """Yield a smaller and a larger value; none for what is not a number of a field outside."""
    value = default.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if default.field in IN_BLOCKS or "." in default.field:
        return
    yield value * 2
    yield value // 2 if isinstance(value, int) else value / 2


def _derived(field: str, value: int | float, config: Configuration) -> Meaning | None:
    try:
        return meaning(replace(config, fields={**config.fields, field: value}))
    except UserError:
        return None
