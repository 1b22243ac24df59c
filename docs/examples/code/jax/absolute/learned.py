def learned(positions, table):
    if any(not 0 <= p < len(table) for p in positions.tolist()):  # JAX would take the nearest row
        raise IndexError(f"the table has rows for positions 0 to {len(table) - 1}")
    return table[positions]
