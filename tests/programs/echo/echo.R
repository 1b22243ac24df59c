# Returns its arguments through the harness.

here = dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "posenc_harness.R"))

echo = function(given) {
    x = given$x
    cat("hello\n")
    cat("world")
    if (length(x$shape) > 1) return(posenc_from_r(given$dtype, posenc_in_r(x)))
    posenc_array(given$dtype, x$shape, x$values)
}

posenc_serve('echo "1"', "1.0", '[
    {"call": "echo"}
]', list(
    echo = echo,
    floats = function(given) posenc_array("float32", given$x$shape, given$x$values),
    numbers = function(given) posenc_array("float64", 2, c(given$a, given$b)),
    refuse = function(given) posenc_fail("DomainError", given$message),
    decline = function(given) posenc_fail("NotImplementedError", "not here"),
    misfit = function(given) posenc_array("float32", c(3, 2), numeric(5))
))
