here = dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "posenc_harness.R"))

sinusoidal = function(given) {
    dim = given$dim
    posenc_demand(dim >= 2 && dim %% 2 == 0, "dim must be even")
    channel = seq_len(dim) - 1
    angles = outer(given$base^(-(channel - channel %% 2) / dim), given$positions$values)
    sines = rep_len(channel %% 2 == 0, length(angles))
    shape = c(length(given$positions$values), dim)
    posenc_array(given$dtype, shape, ifelse(sines, sin(angles), cos(angles)))
}

rope = function(given) {
    x = given$x
    positions = given$positions$values
    rows = rev(x$shape)[2]
    dim = rev(x$shape)[1]
    posenc_demand(dim %% 2 == 0 && rows == length(positions), "no pairs, or no positions")
    first = seq(0, by = 2, length.out = length(x$values) / 2) # channel of each pair, row after row
    omega = given$base^(-(first %% dim) / dim)
    angle = positions[first %/% dim %% rows + 1] * omega
    a = x$values[first + 1]
    b = x$values[first + 2]
    x$values[first + 1] = a * cos(angle) - b * sin(angle)
    x$values[first + 2] = a * sin(angle) + b * cos(angle)
    x
}

posenc_serve("my R library", "1.0", '[
    {"call": "sinusoidal", "combinations": ["paper"]},
    {"call": "rope", "combinations": ["interleaved"],
     "dtype": ["float64", "float32", "bfloat16", "float16"]}
]', list(sinusoidal = sinusoidal, rope = rope))
