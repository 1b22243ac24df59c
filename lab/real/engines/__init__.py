"""Adapters of engines for which the kit has no extra.

Each is judged in an environment that has the engine, numpy and ml-dtypes:

    pytest --impl=lab/real/engines/mlx_lm.py --posenc-python=path/to/venv \\
        --posenc-known=lab/real/engines/mlx-lm.yaml
"""
