"""The command ``posenc init``: search a library, try its candidates, write an adapter."""
