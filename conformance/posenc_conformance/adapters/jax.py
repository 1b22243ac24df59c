"""Helpers for adapters of JAX libraries: compiling once, and gradients.

Outside of ``jax.jit``, each operation is compiled by itself, and again for each new shape: that,
not arithmetic, takes minutes. A function under ``jax.jit`` is compiled as a whole, once for each
shape, as in any model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from posenc_conformance.adapters import once

Method = Callable[..., Any]


def compiled(make: Method) -> Method:
    """Wrap ``make``, so that it makes each function or module once, under ``jax.jit``.

    The same arguments return the same compiled function. Write ``self.rotary = compiled(Rotary)``
    and then ``self.rotary(dim=64)(x, positions)``. NumPy arrays can be passed as they are, also in
    bfloat16.
    """

    def make_compiled(*arguments: Any, **parameters: Any) -> Any:
        import jax

        return jax.jit(make(*arguments, **parameters))

    return once(make_compiled)


def captured(function: Method) -> Method:
    """Return the function under ``jax.jit``: traced once per shape, then called with new inputs.

    Values that the function reads from an object are those of the first call. Positional arguments
    are inputs of the trace; new keyword arguments cause a new trace.
    """
    make = compiled(lambda **keywords: partial(function, **keywords))

    @wraps(function)
    def replay(*contents: Any, **keywords: Any) -> Any:
        return make(**keywords)(*contents)

    return replay


def backward(forward: Method) -> Method:
    """Make a method for the backward pass, by ``jax.vjp``, from a method that is linear in x.

    The method has the claims of ``forward``: ``rope_vjp = backward(rope)`` is enough.
    ``forward`` is called with tracers in place of arrays.
    """

    def make(adapter: object, **parameters: Any) -> Method:
        return lambda gradient, *arguments: vjp(
            lambda x: forward(adapter, x, *arguments, **parameters), gradient
        )

    pull_back = compiled(make)

    @wraps(forward)
    def method(self: object, gradient: Any, *arguments: Any, **parameters: Any) -> Any:
        return pull_back(self, **parameters)(gradient, *arguments)

    return method


def vjp(function: Callable[[Any], Any], gradient: Any) -> Any:
    """Compute the vector-Jacobian product of a linear function.

    Parameters
    ----------
    function : callable
        Takes a JAX array.
    gradient : array
        The upstream gradient. The result of ``function`` has the shape of its input.
    """
    import jax

    cotangent = jax.numpy.asarray(gradient)
    _result, pull_back = jax.vjp(function, jax.numpy.zeros_like(cotangent))
    return pull_back(cotangent)[0]
