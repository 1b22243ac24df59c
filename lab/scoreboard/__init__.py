"""The scoreboard: released libraries, judged one by one, with stored reports."""
