"""The command ``posenc export``: test vectors that need neither Python nor the kit."""
