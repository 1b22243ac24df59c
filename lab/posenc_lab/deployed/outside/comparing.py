"""Comparing an engine from outside with the plain one, on weights that are drawn.

A probe is an instrument: much of what is wrong in an engine does not show in it. Here nothing is
0 or alike, so that a mistake shows wherever it is one, and a right engine agrees.
"""

import math
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from posenc_lab.deployed.encoders import Encoder
from posenc_lab.deployed.engine import Array, Engine, read_checkpoint
from posenc_lab.deployed.lengths import ByLength
from posenc_lab.deployed.older import Older
from posenc_lab.deployed.outside.cases import Case
from posenc_lab.deployed.outside.heads import Fused
from posenc_lab.deployed.outside.judging import model_of
from posenc_lab.deployed.outside.projections import NeoX
from posenc_lab.deployed.outside.serving import Served
from posenc_lab.deployed.right import Latent
from posenc_lab.deployed.two_texts import TwoTexts

KINDS = (Encoder, TwoTexts, Latent, ByLength, NeoX, Older, Fused, Served)
STEPS = 24
Answers = list[list[dict[str, float]]]


def plain(case: Case) -> type[Engine]:
    """Return the plain engine that one derives from."""
    return next(kind for kind in KINDS if issubclass(case.engine, kind))


def drawn(name: str, weight: Array) -> Array:
    """Draw a weight of the same shape."""
    draw = np.random.default_rng(crc32(name.encode()))
    found = draw.standard_normal(weight.shape)
    if ("norm" in name.lower() and weight.ndim == 1) or name.split(".")[-2].startswith("ln_"):
        return np.asarray(weight + 0.4 * found, np.float32)
    if weight.ndim == 1 or "relative_attention_bias" in name:
        return np.asarray(found, np.float32)
    if any(part in name for part in ("embed", "wte", "wpe", "shared", "lm_head")):
        return np.asarray(found, np.float32)
    more = 1.5 if any(part in name for part in ("q_", "k_", "query", "qkv", "key")) else 1.0
    return np.asarray(more * found / np.sqrt(weight.shape[-1]), np.float32)


def engines(case: Case) -> tuple[Engine, Engine]:
    """Return the engine of a case and the plain one, with the same weights."""
    folder = model_of(case.config).path.parent / "probe"
    config, weights, words = read_checkpoint(folder)
    weights = {name: drawn(name, weight) for name, weight in weights.items()}
    return case.engine(config, weights, words), plain(case)(config, weights, words)


def texts(case: Case, count: int) -> Iterator[list[int]]:
    """Yield texts of several lengths, and texts that share a beginning."""
    draw = np.random.default_rng(1)
    longest = case.context - 2 * STEPS
    tokens = [int(each) for each in draw.integers(3, count, longest)]
    shared = longest * 2 // 3
    yield tokens
    if case.context > 2048:
        return
    yield [*tokens[:shared], *tokens[shared : shared + 40][::-1]]
    yield tokens[: shared - 7]
    yield tokens[:376]
    yield tokens[::-1]
    yield tokens
    yield [*tokens[: shared - 200], *tokens[shared - 150 : shared + 60]]
    yield tokens
    # One page of 16 elsewhere, two tokens of a page exchanged, and one whose low bits are the same.
    yield [*tokens[:160], *tokens[192:shared]]
    yield [*tokens[:40], tokens[41], tokens[40], *tokens[42:shared]]
    yield [*tokens[:40], tokens[40] ^ 16, *tokens[41:shared]]


def answers(case: Case, engine: Engine) -> Answers:
    """Return what an engine says of all texts: alone, together, again, and going on."""
    given = [*texts(case, len(engine.words))]
    if isinstance(engine, Encoder):
        given = [text[: 400 - 140 * place] for place, text in enumerate(given[:3])]
        places = [[*range(0, len(text), 7)] for text in given]
        return engine.say(given[:1], places[:1]) + engine.say(given[1:3], places[1:3])
    if isinstance(engine, TwoTexts):
        both = [(text[:300], text[:80]) for text in given[:2]]
        both.append((given[0][:90], given[1][:20]))
        return engine.translate(both[:1], STEPS) + engine.translate(both, STEPS)
    found = [[*engine.complete(text, STEPS)] for text in given]
    if len(given) == 1:
        return found + engine.complete_all([given[0], given[0][:500], given[0][:100]], STEPS)
    spoken = [engine.words.index(next(iter(each))) for each in found[-1]]
    found.append([*engine.complete([*given[-1], *spoken[:-2], 7, 8, 9], STEPS)])
    return found + engine.complete_all([given[2], given[4][:150], given[0][:37]], STEPS)


def difference(ours: Answers, theirs: Answers) -> float:
    """Return the largest difference of log-probabilities of words that both say."""
    largest = 0.0
    for mine, other in zip(ours, theirs, strict=True):
        for one, two in zip(mine, other, strict=True):
            both = one.keys() & two.keys()
            apart = [abs(one[word] - two[word]) for word in both]
            largest = max([largest, *(each if each == each else math.inf for each in apart)])
            if next(iter(one)) != next(iter(two)):
                break
    return largest


def compared(cases: Sequence[Case]) -> Iterator[tuple[Case, float]]:
    """Yield how far each engine is from the plain one."""
    for case in cases:
        ours, theirs = engines(case)
        yield case, difference(answers(case, ours), answers(case, theirs))
