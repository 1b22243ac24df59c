"""What adapters of JAX's libraries have in common: compiling once, and gradients.

Outside of ``jax.jit`` each operation is compiled by itself, and again for each new shape: that, and
not arithmetic, takes the minutes. Compiled as a whole, as in any model, it is one step for each
shape.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from posenc_conformance.adapters import once

Method = Callable[..., Any]


def compiled(make: Callable[..., Any]) -> Callable[..., Any]:
    """Functions or modules that are made once for the same arguments, each under ``jax.jit``.

    ``self.rotary = compiled(Rotary)`` and then ``self.rotary(dim=64)(x, positions)``. Arrays of
    NumPy go in as they are, also those of bfloat16.
    """

    def make_compiled(*arguments: Any, **parameters: Any) -> Any:
        import jax

        return jax.jit(make(*arguments, **parameters))

    return once(make_compiled)


def backward(forward: Method) -> Method:
    """A method for the backward pass: what ``jax.vjp`` makes of another, which is linear in x.

    Its claims are those of the other one: ``rope_vjp = backward(rope)`` is all that is needed. The
    other method is called with tracers in place of arrays.
    """

    def make(adapter: object, **parameters: Any) -> Callable[..., Any]:
        return lambda gradient, *arguments: vjp(
            lambda x: forward(adapter, x, *arguments, **parameters), gradient
        )

    pull_back = compiled(make)

    @wraps(forward)
    def method(self: object, gradient: Any, *arguments: Any, **parameters: Any) -> Any:
        return pull_back(self, **parameters)(gradient, *arguments)

    return method


def vjp(function: Callable[[Any], Any], gradient: Any) -> Any:
    """The vector-Jacobian product of a function that is linear.

    Parameters
    ----------
    function : callable
        Takes an array of JAX.
    gradient : array
        Of the result, which has the shape of the input.
    """
    import jax

    cotangent = jax.numpy.asarray(gradient)
    _result, pull_back = jax.vjp(function, jax.numpy.zeros_like(cotangent))
    return pull_back(cotangent)[0]
