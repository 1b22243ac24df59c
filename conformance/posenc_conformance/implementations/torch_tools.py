"""What adapters of torch's libraries share: seeing what code computes inside, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from posenc_conformance import to_torch

if TYPE_CHECKING:
    from torch import Tensor


def logits(call: Callable[[], Any]) -> Tensor:
    """What the first softmax inside a call is given.

    Logits are seldom returned, but every one of them goes through a softmax. If the code converts
    them to float32 for it, that is what is seen; converting them back loses nothing.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[Tensor] = []
    softmax = (torch.ops.aten._softmax, torch.ops.aten._safe_softmax)

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if function.overloadpacket in softmax:
                seen.append(args[0].clone())
            return function(*args, **(kwargs or {}))

    with torch.no_grad(), Watch():
        call()
    if not seen:
        raise RuntimeError("no softmax was computed")
    return seen[0]


def gradient(function: Callable[[Tensor], Tensor], cotangent: Tensor) -> Tensor:
    """The vector-Jacobian product of a linear function, by automatic differentiation."""
    import torch

    at = torch.zeros_like(cotangent, requires_grad=True)
    (result,) = torch.autograd.grad(function(at), at, cotangent)
    return result


def as_tensor(values: Any) -> Tensor:
    """A tensor as it is, which may be one that is differentiated; an array as a tensor."""
    import torch

    return values if isinstance(values, torch.Tensor) else to_torch(values)


def backward(method: Callable[..., Tensor], x: Any, *arguments: Any, **parameters: Any) -> Tensor:
    """What autograd makes of an adapter's method that is linear in x, for x the gradient."""
    return gradient(lambda each: method(each, *arguments, **parameters), to_torch(x))
