"""A package per family, one module per scheme; ``__all__`` of each names what ``posenc`` offers."""
