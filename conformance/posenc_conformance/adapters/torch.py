"""Helpers for adapters of PyTorch's libraries: gradients, and logits that are not returned."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from posenc_conformance.judge.arrays import to_torch

if TYPE_CHECKING:
    from torch import Tensor

Method = Callable[..., Any]


def backward(forward: Method) -> Method:
    """Make a method for the backward pass, by autograd, from a method that is linear in x.

    It has the claims of the other method: ``rope_vjp = backward(rope)`` is all that is needed. The
    other method is called with a tensor for x, which ``to_torch`` leaves as it is.
    """

    @wraps(forward)
    def method(self: object, gradient: Any, *arguments: Any, **parameters: Any) -> Tensor:
        return vjp(lambda x: forward(self, x, *arguments, **parameters), gradient)

    return method


def vjp(function: Callable[[Tensor], Tensor], gradient: Any) -> Tensor:
    """Compute the vector-Jacobian product of a function that is linear, by autograd.

    Parameters
    ----------
    function : callable
        Takes a tensor that requires gradients.
    gradient : array or tensor
        Gradient with respect to the result, which has the shape of the input.
    """
    import torch

    cotangent = to_torch(gradient)
    at = torch.zeros_like(cotangent, requires_grad=True)
    (result,) = torch.autograd.grad(function(at), at, cotangent)
    return result


def logits(call: Callable[[], Any]) -> Tensor:
    """Make a call and return what the first softmax inside it is given.

    Logits are seldom returned, but every one of them goes through a softmax. If the code converts
    them to float32 before it, the converted ones are returned; converting them back loses nothing.

    Raises
    ------
    RuntimeError
        If no softmax can be seen inside the call.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[Tensor] = []
    softmax = (torch.ops.aten._softmax, torch.ops.aten._safe_softmax)

    class Watch(TorchDispatchMode):  # type: ignore[misc]  # torch is skipped: its classes are Any
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if function.overloadpacket in softmax:
                seen.append(args[0].clone())
            return function(*args, **(kwargs or {}))

    with torch.no_grad(), Watch():
        call()
    if not seen:
        raise RuntimeError(
            "no softmax was computed that can be watched: attention in one fused operation hides "
            "it, so choose the implementation in single steps, often called eager or math"
        )
    return seen[0]


def at_the_end(queries: Tensor, length: int) -> Tensor:
    """Put zeros before queries of shape ``[..., q_len, dim]``, so that there are ``length`` rows.

    For attention that takes a query for every position of the sequence.
    """
    import torch

    return torch.nn.functional.pad(queries, (0, 0, length - queries.shape[-2], 0))


def import_torchvision() -> None:
    """Import torchvision, also where its compiled part cannot be loaded.

    PyPI's torchvision is compiled for GPUs. Beside a torch for CPUs its compiled part does not
    load, and the import fails at the first operator that is missing. A library that computes
    positions alone uses none of them.
    """
    import torch

    try:
        import torchvision  # noqa: F401  # only to see whether it can be
    except RuntimeError:
        boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define("torchvision::nms", boxes)
        torch.library.define("torchvision::qnms", boxes)
