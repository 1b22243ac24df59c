"""The scoreboard: what released libraries do, judged one by one and kept as reports."""
