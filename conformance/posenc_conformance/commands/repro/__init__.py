"""The command ``posenc repro``: a snippet that reproduces one failure."""
