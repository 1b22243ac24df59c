"""Helpers for adapters of PyTorch libraries: gradients, recorded calls, and hidden logits."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Any

from posenc_conformance.judge.arrays import to_torch

if TYPE_CHECKING:
    from torch import Tensor

Method = Callable[..., Any]


def backward(forward: Method) -> Method:
    """Make a method for the backward pass, by autograd, from a method that is linear in x.

    The method has the claims of ``forward``: ``rope_vjp = backward(rope)`` is enough.
    ``forward`` is called with a tensor for x, which ``to_torch`` leaves as it is.
    """

    @wraps(forward)
    def method(self: object, gradient: Any, *arguments: Any, **parameters: Any) -> Tensor:
        return vjp(lambda x: forward(self, x, *arguments, **parameters), gradient)

    return method


def vjp(function: Callable[[Tensor], Tensor], gradient: Any) -> Tensor:
    """Compute the vector-Jacobian product of a linear function, by autograd.

    Parameters
    ----------
    function : callable
        Takes a tensor that requires gradients.
    gradient : array or tensor
        The upstream gradient. The result of ``function`` has the shape of its input.
    """
    import torch

    cotangent = to_torch(gradient)
    at = torch.zeros_like(cotangent, requires_grad=True)
    (result,) = torch.autograd.grad(function(at), at, cotangent)
    return result


WARM_UPS = 3
"""Number of calls on a GPU before the recorded one, in which libraries choose their kernels."""


def captured(function: Method) -> Method:
    """Record the first call with each shape, and replay it with the inputs of later calls.

    Engines decode this way: on a GPU the record is a CUDA graph; elsewhere it is the operators of
    the first call, as in an exported program. Python numbers that the function reads, or stores
    in an object, keep the values of the first call: for example an offset that should be read in
    each call. So the kit gets the results that a user of the record gets.

    Positional arguments that are arrays or tensors are inputs of the record. All others are part of
    the record: new values cause a new record.

    Parameters
    ----------
    function : callable
        Takes tensors, and returns one.

    Returns
    -------
    callable
        Takes arrays or tensors in place of the tensors.
    """
    records: dict[Hashable, Method] = {}

    @wraps(function)
    def replay(*arguments: Any, **keywords: Any) -> Tensor:
        values = [to_torch(value) if hasattr(value, "shape") else value for value in arguments]
        places = [place for place, value in enumerate(values) if hasattr(value, "shape")]
        contents = [values[place] for place in places]
        fixed = [value for value in values if not hasattr(value, "shape")]
        form = tuple((value.shape, value.stride(), value.dtype, value.device) for value in contents)
        key = (form, tuple(places), tuple(fixed), tuple(sorted(keywords.items())))

        def call(*tensors: Tensor) -> Tensor:
            every = list(values)
            for place, tensor in zip(places, tensors, strict=True):
                every[place] = tensor
            result: Tensor = function(*every, **keywords)
            return result

        if key not in records:
            on_gpu = any(value.is_cuda for value in contents)
            records[key] = _graph(call, contents) if on_gpu else _operators(call, contents)
        result: Tensor = records[key](*contents)
        return result

    return replay


def _operators(call: Method, contents: list[Tensor]) -> Method:
    """Record the operators of a call, and return a function that runs them on new contents."""
    from torch.fx.experimental.proxy_tensor import make_fx

    program: Method = make_fx(call)(*contents)
    return program


def _graph(call: Method, contents: list[Tensor]) -> Method:
    """Record a call as a CUDA graph, and return a function that replays it with new contents."""
    import torch

    static = [content.clone() for content in contents]
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            call(*static)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call(*static)

    def replay(*tensors: Tensor) -> Tensor:
        for buffer, new in zip(static, tensors, strict=True):
            buffer.copy_(new)
        graph.replay()
        copy: Tensor = result.clone()
        return copy

    return replay


def logits(call: Callable[[], Any]) -> Tensor:
    """Make a call and return the input of the first softmax inside it.

    Logits are seldom returned, but all of them pass through a softmax. If the code converts them to
    float32 before, the converted logits are returned; converting them back loses nothing.

    Raises
    ------
    RuntimeError
        If no softmax is visible inside the call.
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
    """Pad queries of shape ``[..., q_len, dim]`` with zeros in front, to ``length`` rows.

    For attention that takes a query for every position of the sequence.
    """
    import torch

    return torch.nn.functional.pad(queries, (0, 0, length - queries.shape[-2], 0))


def import_torchvision() -> None:
    """Import torchvision, even if its compiled part cannot be loaded.

    PyPI's torchvision is compiled for GPUs. With a torch for CPUs its compiled part does not load,
    and the import fails at the first missing operator. A library that only computes positions uses
    none of them.
    """
    import torch

    try:
        import torchvision  # noqa: F401  # only to see whether it loads
    except RuntimeError:
        boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define("torchvision::nms", boxes)
        torch.library.define("torchvision::qnms", boxes)
