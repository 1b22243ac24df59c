"""Engines that have no extra of their own, as adapters.

Each is judged in an environment that has the engine, numpy and ml-dtypes:

    pytest --impl=real/engines/mlx_lm.py --posenc-python=path/to/venv \\
        --posenc-known=real/engines/mlx-lm.yaml
"""
