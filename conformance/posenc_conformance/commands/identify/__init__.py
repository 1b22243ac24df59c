"""The command ``posenc identify``: what a saved array is."""
