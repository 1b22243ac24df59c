"""A package per family, a module per scheme; ``posenc`` exports the names in each ``__all__``."""
