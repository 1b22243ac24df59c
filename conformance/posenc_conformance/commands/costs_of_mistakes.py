"""What each mistake in reading a configuration costs, for what people and programs are shown."""

from collections.abc import Iterator

from posenc_conformance.models.configuration import Configuration
from posenc_conformance.models.cost import POSITIONS, Cost, cost
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.misreadings import applicable


def costs(found: Meaning, config: Configuration) -> Iterator[tuple[str, str, list[Cost]]]:
    """Yield each mistake with an effect: its id, the group, and its cost at each of POSITIONS."""
    for mistake, concerned in applicable(found, config):
        for group, pair in concerned.items():
            effects = [cost(*pair, position) for position in POSITIONS]
            if any(effect.error or effect.loss for effect in effects):
                yield mistake.id, group, effects
