"""PyTorch itself, on a GPU."""

from posenc_conformance.implementations.torch import TorchAdapter


class TorchGpuAdapter(TorchAdapter):
    """torch (seen: 2.11.0): attention and its masks, on a GPU with torch's own settings."""

    def __init__(self) -> None:
        import torch

        torch.set_default_device("cuda")
        super().__init__()
