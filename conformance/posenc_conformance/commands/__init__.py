"""The command ``posenc``, one module or package per subcommand."""
