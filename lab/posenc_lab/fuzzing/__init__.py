"""Fuzzing: malformed files and replies for every reader in the kit."""
