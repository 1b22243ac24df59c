"""The command ``posenc new``: the files of a scheme, ready to be filled."""
