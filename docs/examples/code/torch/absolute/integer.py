def integer(positions, dim):
    return positions[:, None].float().repeat(1, dim)
