"""The command ``posenc``, one module or package for each thing that it does."""
