"""The command ``posenc init``: look at a library, try what it finds, write an adapter."""
