"""How people check a positional encoding today, each way as a test of a claim.

The library tests were read in the libraries' sources; the docstring of each function states in our
own words what the test asserts. Assertions that don't apply to a claim, such as the names in a
configuration, are left out. Numbers that a library's test records are recomputed here and cut to
the digits that it prints.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from posenc_conformance.checks.golden import probe_index
from posenc_conformance.judge.arrays import DTYPES, dtype_name
from posenc_conformance.judge.case import Case, case_described_by
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import First, Trial
from posenc_conformance.scheme_file.scheme import Published

Array = npt.NDArray[Any]
T = TypeVar("T")

LAST_DECIMAL = 1e-4
TORCH_TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float16": (1e-3, 1e-5),
}
"""Relative and absolute tolerances of ``torch.testing.assert_close``."""


class OutOfReach(Exception):
    """A claim doesn't cover the arguments of a way of checking."""


class Able(First):
    """A picker that always makes the simplest choice that uses optional arguments."""

    def one_of(self, values: Sequence[T]) -> T:
        return next(value for value in values if value is not None)

    def integer(self, low: int, high: int) -> int:
        return 1 if (low, high) == (0, 1) else low


@dataclass(frozen=True)
class Asked:
    """A claim in one dtype, called as a test would."""

    subject: Subject
    dtype: str

    @property
    def call(self) -> str:
        return self.subject.call.name

    def case(self, **arguments: Any) -> Case:
        """Return a case with these arguments.

        Raises OutOfReach if the claim doesn't cover them.
        """
        case = self.subject.case(arguments, self.dtype)
        if not self.subject.covers(case):
            raise OutOfReach
        return case

    def got(self, case: Case) -> Array:
        """Return the implementation's result, in its own dtype."""
        return self.subject.invoke(case, case.inputs)

    def answer(self, **arguments: Any) -> Array:
        """Return the result for these arguments in float64."""
        return self.got(self.case(**arguments)).astype(np.float64)

    def convention(self, name: str) -> Any:
        return self.subject.combination.conventions.get(name)

    def drawn(self) -> Iterator[tuple[Trial, dict[str, Any]]]:
        """Yield the simplest arguments that the kit draws, without and with a scope's options."""
        scope = next(scope for scope in self.subject.scopes if self.dtype in scope.dtypes)
        for pick in (First(), Able()) if scope.options else (First(),):
            trial = Trial(self.subject, scope, self.dtype, {}, pick)
            yield trial, dict(self.subject.scheme.knowledge[self.call].arguments(trial))


@dataclass(frozen=True)
class Practice:
    """A way to check a claim."""

    name: str
    accepts: Callable[[Asked], bool]
    """Returns whether the check passes; raises OutOfReach if the claim doesn't cover it."""
    dtypes: tuple[str, ...]
    source: str = ""

    @property
    def what(self) -> str:
        """The assertion, as stated in the docstring of ``accepts``."""
        return " ".join((self.accepts.__doc__ or "").split())


def close(got: Array, expected: Array, rtol: float, atol: float) -> bool:
    """Return whether two arrays are equal within tolerances, and of the same shape."""
    return got.shape == expected.shape and bool(
        np.allclose(got.astype(np.float64), expected, rtol=rtol, atol=atol, equal_nan=True)
    )


# Printed examples.


def printed_row(asked: Asked) -> bool:
    """The row of position 1, of 512 channels (64 of ones if it rotates), has the right four
    decimals; and so has what papers and articles print, where the spec lists it."""
    questions = [*_published(asked), *_row(asked)]
    if not questions:
        raise OutOfReach
    return all(question() for question in questions)


def _published(asked: Asked) -> Iterator[Callable[[], bool]]:
    scheme = asked.subject.scheme
    for item in scheme.published:
        if (item.call, item.combination) == (asked.call, asked.subject.combination.name):
            case = case_described_by(scheme, item, asked.dtype)
            if asked.subject.covers(case):
                yield partial(_as_printed, asked, item, case)


def _as_printed(asked: Asked, item: Published, case: Case) -> bool:
    got = asked.got(case).astype(np.float64)
    for *index, text in item.printed:
        if item.quantity == "dot-product":
            value = float(got[0] @ got[1])
        else:
            value = float(got[probe_index(case, [float(part) for part in index])])
        places = len(str(text).partition(".")[2]) if item.rounding != "exact" else 4
        if abs(value - _number(str(text))) > 10.0**-places:
            return False
    return True


def _number(text: str) -> float:
    if text.startswith("1/2^"):
        return float(2.0 ** -float(text.removeprefix("1/2^")))
    return float(Fraction(text))


def _row(asked: Asked) -> Iterator[Callable[[], bool]]:
    for trial, drawn in asked.drawn():
        usual = _usual(trial, drawn)
        if getattr(usual.get("positions"), "ndim", 0) != 1:
            return
        usual["positions"] = np.array([1])
        if "x" in usual:
            usual["x"] = np.ones((1, usual["x"].shape[-1]))
        elif "dim" in usual:
            usual["dim"] = trial.choose("dim", (512 + usual["dim"] % 2,))
        case = trial.case(**usual)
        if answerable(asked, case):
            yield partial(_near, asked, case)


def _near(asked: Asked, case: Case) -> bool:
    return close(asked.got(case), case.truth, rtol=0, atol=LAST_DECIMAL)


def answerable(asked: Asked, case: Case) -> bool:
    """Return whether the claim covers a case and the definition is valid for it."""
    if not asked.subject.covers(case):
        return False
    try:
        return case.truth.shape == case.shape
    except (ValueError, TypeError, IndexError):
        return False


# One random tensor against a reference implementation.


def numpy_allclose(asked: Asked) -> bool:
    """One random tensor of batch 2, 16 positions from 0 on, 64 channels is what the reference
    gives: numpy.allclose with rtol 1e-5 and atol 1e-8. Another one for optional abilities."""
    return all(
        np.allclose(_seen(case, asked.got(case)), _seen(case, _expected(case)), equal_nan=True)
        for case in random_cases(asked)
    )


def torch_assert_close(asked: Asked) -> bool:
    """The same tensors, also in narrow dtypes, under the defaults of torch.testing.assert_close:
    shape, dtype, and tolerances that depend on the dtype."""
    return all(
        _torch_close(_seen(case, asked.got(case)), _seen(case, _expected(case)))
        for case in random_cases(asked)
    )


def _seen(case: Case, result: Array) -> Array:
    """Return a result with zeros where a mask hides it, since hidden values are undefined."""
    if result.shape != case.shape or case.shown.all():
        return result
    return np.where(case.shown, result, np.zeros((), result.dtype))


def _torch_close(got: Array, expected: Array) -> bool:
    rtol, atol = TORCH_TOLERANCES.get(dtype_name(expected), (0.0, 0.0))
    return _kind(got) == _kind(expected) and close(got, expected.astype(np.float64), rtol, atol)


def _kind(array: Array) -> str:
    integer = array.dtype.kind in "iu"
    return "integer" if integer else dtype_name(array)


def _expected(case: Case) -> Array:
    truth = case.truth
    return truth.astype(DTYPES[case.dtype]) if case.dtype in DTYPES else truth


def random_cases(asked: Asked) -> list[Case]:
    """Return cases of usual sizes with random arrays; where the definition is not valid for these,
    of the kit's own sizes with random arrays, or with the kit's own arguments."""
    chosen = []
    for trial, drawn in asked.drawn():
        choices = (_noisy(_usual(trial, drawn)), _noisy(drawn), drawn)
        cases = (trial.case(**arguments) for arguments in choices)
        chosen += list(islice((case for case in cases if answerable(asked, case)), 1))
    if not chosen:
        raise OutOfReach
    return chosen


def _usual(trial: Trial, drawn: dict[str, Any]) -> dict[str, Any]:
    usual: dict[str, Any] = dict(drawn)
    if getattr(drawn.get("positions"), "ndim", 0) == 1:
        usual["positions"] = np.arange(16)
        if "x" in drawn:
            usual["x"] = np.zeros((2, 4, 16, trial.choose("head_dim", (64,))))
    sizes = {"dim": 64, "rotary_dim": 32 if "x" in drawn else 64, "heads": 8, "q_len": 16}
    for name, value in sizes.items():
        if name in drawn:
            odd = name == "dim" and drawn[name] % 2
            usual[name] = trial.choose(name, (value + odd,))
    if {"q_len", "k_len"} <= drawn.keys():
        usual["k_len"] = trial.choose("k_len", (max(16, usual["q_len"]),))
    if "relative_position" in drawn:
        usual["relative_position"] = np.arange(16) - np.arange(16)[:, None]
    return usual


def _noisy(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with standard normal numbers in every real array."""
    normal = np.random.default_rng(0).standard_normal
    return {
        name: normal(value.shape)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
        else value
        for name, value in arguments.items()
    }


# What libraries assert in their own tests.


def rotary_embedding_torch(asked: Asked) -> bool:
    """Single random vectors of 4 to 32 channels, bases 10 to 100,000, seven positions up to 69,
    against a loop over pairs in float32; rtol and atol 1e-4."""
    _is(asked, "rope", layout="interleaved")
    for dim in (4, 8, 16, 32):
        for base in (10, 1000, 10000, 100000):
            for position in (0, 1, 42, 13, 67, 69, 39):
                x = np.random.default_rng(position).standard_normal((1, dim))
                case = asked.case(x=x, positions=np.array([position]), base=float(base))
                if not close(asked.got(case), case.truth, 1e-4, 1e-4):
                    return False
    return True


def torchtune(asked: Asked) -> bool:
    """Mean, sum and maximum of the result, 2,048 positions from 0 on and heads of 128, are those
    of Meta's code; rtol 1e-5, atol 1e-8. Two heads here, where it has 4 times 32."""
    _is(asked, "rope", layout="interleaved")
    x = np.random.default_rng(0).standard_normal((2, 2048, 128)).astype(np.float32)
    case = asked.case(x=x.astype(np.float64), positions=np.arange(2048), base=10000.0)
    got, expected = asked.got(case), _complex_rotation(x)
    return got.shape == expected.shape and all(
        np.isclose(of(got), of(expected), rtol=1e-5, atol=1e-8) for of in (np.mean, np.sum, np.max)
    )


def _complex_rotation(x: npt.NDArray[np.float32]) -> Array:
    """Rotate adjacent channels as complex numbers, position i in row i, base 10,000."""
    dim = x.shape[-1]
    exponents = np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)
    frequencies = np.float32(1) / np.float32(10000) ** exponents
    angles = np.outer(np.arange(x.shape[-2], dtype=np.float32), frequencies)
    turned = x.view(np.complex64) * (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)
    return turned.astype(np.complex64).view(np.float32)


def roformer_rotary(asked: Asked) -> bool:
    """Rows 0 to 5, channels 0 to 7 of the first head, of x and of -x with x counting up in steps of
    0.01, 16 positions, heads of 64; four printed decimals, atol 1e-4."""
    _is(asked, "rope", layout="interleaved")
    x = np.arange(2 * 12 * 16 * 64).reshape(2, 12, 16, 64) / 100
    for signed in (x, -x):
        case = asked.case(x=signed, positions=np.arange(16), base=10000.0)
        corner = asked.got(case)[0, 0, :6, :8]
        if not close(corner, np.round(case.truth[0, 0, :6, :8], 4), 1e-5, 1e-4):
            return False
    return True


def roformer_sinusoid(asked: Asked) -> bool:
    """Two rows of 6 channels, and 5 channels of three rows of 512, sines first; four printed
    decimals, atol 1e-4."""
    _is(asked, "sinusoidal", layout="sin-cos", denominator="d/2", scale="1", first_position=0)
    for rows, dim, shown in ((2, 6, 6), (3, 512, 5)):
        case = asked.case(positions=np.arange(rows), dim=dim, base=10000.0)
        expected = np.round(case.truth[:, :shown], 4)
        if not close(asked.got(case)[:, :shown], expected, 1e-5, 1e-4):
            return False
    return True


def diffusers(asked: Asked) -> bool:
    """Steps 0 to 15, 256 channels: zeros and ones at step 0, the last channel 1, each row steeper
    than the one before; three rows and channels of 64 to four printed decimals with rtol 1e-3, also
    of steps times 1,000."""
    _is(asked, "sinusoidal", layout="sin-cos", denominator="d/2-1", scale="1", first_position=0)
    table = asked.answer(positions=np.arange(16), dim=256, base=10000.0)
    steepness = np.abs(np.gradient(table, axis=-1)).mean(axis=1)
    shape = (
        np.abs(table[0, :128]).sum() < 1e-5
        and np.abs(table[0, 128:] - 1).sum() < 1e-5
        and np.abs(table[:, -1] - 1).sum() < 1e-5
        and bool(np.all(np.diff(steepness) > 0))
    )
    return shape and _diffusers_numbers(asked, 1) and _diffusers_numbers(asked, 1000)


def diffusers_flipped(asked: Asked) -> bool:
    """Cosines first: three rows and channels of 64 to four printed decimals; rtol 1e-3."""
    _is(asked, "sinusoidal", layout="cos-sin", denominator="d/2", scale="1", first_position=0)
    return _diffusers_numbers(asked, 1)


def _diffusers_numbers(asked: Asked, times: int) -> bool:
    case = asked.case(positions=times * np.arange(128), dim=64, base=10000.0)
    printed = np.round(case.truth[23:26, 47:50], 4)
    return close(asked.got(case)[23:26, 47:50], printed, 1e-3, 1e-8)


def transformers_frequencies(asked: Asked) -> bool:
    """All 64 frequencies of Llama's 128 channels and base 10,000 to five printed digits, at the
    one or few settings that it tests of each scaling, none above those of RoPE; assert_close, that
    is rtol 1.3e-6 and atol 1e-5."""
    rows = _settings(asked.call)
    if not rows or asked.subject.combination.name not in ("standard", "code", "divided"):
        raise OutOfReach
    unscaled = 10000.0 ** -(np.arange(64) / 64)
    for parameters in rows:
        case = asked.case(base=10000.0, **parameters)
        got = asked.got(case)
        if not close(got, _five_digits(case.truth), 1.3e-6, 1e-5):
            return False
        if np.any(got.astype(np.float64) > unscaled * (1 + 1e-6)):
            return False
    return True


def _settings(call: str) -> list[dict[str, Any]]:
    """Return the settings that transformers tests for a call."""
    grown = {"rotary_dim": 128, "factor": 10.0, "original_max_position_embeddings": 2048}
    yarn = {"rotary_dim": 128, "factor": 10.0, "original_max_position_embeddings": 2048}
    settings: dict[str, list[dict[str, Any]]] = {
        "position_interpolation_frequencies": [
            {"rotary_dim": 128, "factor": factor} for factor in (2.0, 10.0, 20.0)
        ],
        "dynamic_ntk_frequencies": [grown | {"length": length} for length in (2048, 1, 16384)],
        "llama3_frequencies": [
            grown | {"low_freq_factor": 1.0, "high_freq_factor": high} for high in (4.0, 1000.0)
        ],
        "yarn_frequencies": [yarn | {"beta_fast": 32.0, "beta_slow": 1.0}],
        "longrope_frequencies": [
            {"factors": np.full(64, 2.0)},
            {"factors": np.arange(1.0, 65.0)},
        ],
    }
    return settings.get(call, [])


def _five_digits(values: Array) -> Array:
    return np.array([float(f"{value:.4e}") for value in values])


def tensorrt_llm(asked: Asked) -> bool:
    """One row of biases for 1 to 112 heads and 32 to 1,024 keys is what Bloom's code in
    transformers gives; rtol 1e-7, atol 1e-3."""
    _is(asked, "alibi_bias", form="first-key")
    for heads, keys in ((1, 32), (16, 64), (24, 500), (32, 60), (64, 1024), (80, 20), (112, 389)):
        case = asked.case(heads=heads, q_len=1, k_len=keys)
        if not close(asked.got(case), case.truth, 1e-7, 1e-3):
            return False
    return True


def flaxformer(asked: Asked) -> bool:
    """Four elements of the bias of 3 heads, 12 buckets, max_distance 10, to five decimals. Seven
    queries here, of which it has the first five."""
    _is(asked, "t5_bias")
    table = np.random.default_rng(0).standard_normal((12, 3)) / math.sqrt(12)
    case = asked.case(table=table, q_len=7, k_len=7, max_distance=10)
    got = asked.got(case)
    places = ((0, 0, 0), (1, 2, 1), (1, 4, 6), (2, 4, 6))
    return all(abs(float(got[place]) - case.truth[place]) < 5e-6 for place in places)


def _is(asked: Asked, call: str, **conventions: Any) -> None:
    """Raise OutOfReach unless the claim is of this call under these conventions."""
    same = all(asked.convention(name) == value for name, value in conventions.items())
    if asked.call != call or not same:
        raise OutOfReach


EVERY = ("float64", "float32", "bfloat16", "float16", "integer", "boolean")
WIDE = ("float64", "float32", "integer", "boolean")
SINGLE = ("float32",)

USUAL = (
    Practice("printed decimals", printed_row, WIDE),
    Practice("numpy.allclose", numpy_allclose, WIDE),
    Practice("torch assert_close", torch_assert_close, EVERY),
)
LIBRARIES = (
    Practice(
        "rotary-embedding-torch",
        rotary_embedding_torch,
        SINGLE,
        "lucidrains/rotary-embedding-torch at ceb29d6, tests/test_rope.py",
    ),
    Practice(
        "torchtune",
        torchtune,
        SINGLE,
        "pytorch/torchtune at 0e08081, tests/torchtune/modules/test_position_embeddings.py",
    ),
    Practice(
        "transformers, RoFormer's rotation",
        roformer_rotary,
        SINGLE,
        "huggingface/transformers at 004d590, tests/models/roformer/test_modeling_roformer.py",
    ),
    Practice(
        "transformers, RoFormer's sinusoids",
        roformer_sinusoid,
        SINGLE,
        "huggingface/transformers at 004d590, tests/models/roformer/test_modeling_roformer.py",
    ),
    Practice(
        "diffusers, sines first",
        diffusers,
        SINGLE,
        "huggingface/diffusers at 01fd654, tests/models/test_layers_utils.py",
    ),
    Practice(
        "diffusers, cosines first",
        diffusers_flipped,
        SINGLE,
        "huggingface/diffusers at 01fd654, tests/models/test_layers_utils.py",
    ),
    Practice(
        "transformers, scaled frequencies",
        transformers_frequencies,
        SINGLE,
        "huggingface/transformers at 087e800, tests/utils/test_modeling_rope_utils.py",
    ),
    Practice(
        "TensorRT-LLM, ALiBi",
        tensorrt_llm,
        SINGLE,
        "NVIDIA/TensorRT-LLM at 23bc5b7, tests/functional/test_alibi.py",
    ),
    Practice(
        "flaxformer, T5's bias",
        flaxformer,
        SINGLE,
        "google/flaxformer at 2c82189, flaxformer/components/relative_position_biases_test.py",
    ),
)
