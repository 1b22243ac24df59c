# Speaks posenc protocol 1 for a program in R: copy this file beside yours.
#
# It needs R 4 and nothing else. A whole program:
#
#     source("posenc_harness.R")
#
#     rope = function(given) {
#         x = given$x                        # dtype, shape, and values in row-major order
#         ...
#         posenc_array(x$dtype, x$shape, turned)
#     }
#
#     posenc_serve("mylib", "1.0", '[{"call": "rope", "combinations": ["half"]}]', list(rope = rope))
#
# It is run by: Rscript --vanilla adapter.R
#
# Claims are JSON, as the protocol has them. Functions are named as the calls of the specification.
# An error is the answer to bad input. What R prints goes to standard error; what a library in C prints
# to standard output breaks the conversation.

# An array. Doubles hold every dtype exactly, whole numbers up to 2^53. They are rounded to the dtype
# when they are sent.
posenc_array = function(dtype, shape, values) {
    list(dtype = dtype, shape = as.numeric(shape), values = as.numeric(values))
}

# The values as an array of R, whose dim is the shape; and back, with the dtype of the result.
posenc_in_r = function(x) {
    if (length(x$shape) < 2) x$values else aperm(array(x$values, rev(x$shape)))
}

posenc_from_r = function(dtype, values) {
    shape = if (is.null(dim(values))) length(values) else dim(values)
    posenc_array(dtype, shape, if (length(shape) < 2) values else aperm(values))
}

# Raises an error unless that holds, which is the answer to bad input.
posenc_demand = function(holds, otherwise) {
    if (!isTRUE(holds)) posenc_fail("ValueError", otherwise)
}

# Raises an error of a type. NotImplementedError says that the program does not do what it was asked:
# this counts as not claimed.
posenc_fail = function(type, message) {
    stop(structure(list(message = message, call = NULL), class = c(type, "error", "condition")))
}

# The arguments of a call by name: to ask for one that is not given is an error.
`$.posenc_given` = function(x, name) {
    found = unclass(x)[[name]]
    posenc_demand(!is.null(found), paste("nothing is given as", name))
    found
}

# Whether there is such an argument.
posenc_has = function(given, name) !is.null(unclass(given)[[name]])

# Answers requests until there are no more.
posenc_serve = function(name, version, claims, functions) {
    input = file("stdin", "r")
    output = file("/dev/stdout", "wb")
    sink(stderr()) # what is printed must not come among the answers
    while (length(line <- readLines(input, 1, warn = FALSE)) == 1) {
        asked = posenc_read(line)
        said = tryCatch(
            paste0('"result": ', posenc_answer(asked, name, version, claims, functions)),
            error = function(error) paste0(
                '"error": {"type": ', posenc_quoted(class(error)[1]),
                ', "message": ', posenc_quoted(paste(conditionMessage(error), collapse = " ")), "}"
            )
        )
        said = gsub("\n", " ", said, fixed = TRUE)
        writeBin(charToRaw(sprintf('{"id": %.0f, %s}\n', asked$id, said)), output)
        flush(output)
        if (asked$request == "goodbye") break
    }
}

posenc_answer = function(asked, name, version, claims, functions) {
    if (asked$request == "goodbye") return("null")
    if (asked$request == "describe") {
        posenc_demand(identical(asked$protocol, 1), "this program speaks posenc protocol 1")
        return(paste0(
            '{"protocol": 1, "name": ', posenc_quoted(name), ', "version": ', posenc_quoted(version),
            ', "language": "R", "claims": ', claims, "}"
        ))
    }
    called = functions[[asked$call]]
    if (is.null(called)) posenc_fail("NotImplementedError", "no function has this name")
    given = lapply(asked$arguments, function(each) {
        if (!is.list(each)) each else if (is.null(names(each))) unlist(each) else posenc_received(each)
    })
    posenc_sent(called(structure(given, class = "posenc_given")))
}

# How many bytes an element has; of a float how many bits its exponent and its fraction have.
posenc_formats = list(
    float64 = c(8, 11, 52), float32 = c(4, 8, 23), bfloat16 = c(2, 8, 7), float16 = c(2, 5, 10),
    int8 = 1, int16 = 2, int32 = 4, int64 = 8, uint8 = 1, uint16 = 2, uint32 = 4, uint64 = 8, bool = 1
)

posenc_format = function(dtype) {
    posenc_demand(dtype %in% names(posenc_formats), paste(dtype, "is no dtype"))
    posenc_formats[[dtype]]
}

posenc_received = function(wired) {
    bytes = posenc_decoded(wired$data)
    format = posenc_format(wired$dtype)
    count = length(bytes) / format[1]
    if (format[1] >= 4 && length(format) == 3) {
        values = readBin(bytes, "double", count, format[1], endian = "little")
    } else if (length(format) == 3) {
        bits = readBin(bytes, "integer", count, 2, signed = FALSE, endian = "little")
        values = posenc_float(bits, format[2], format[3])
    } else {
        values = posenc_whole(bytes, format[1], startsWith(wired$dtype, "int"))
    }
    posenc_array(wired$dtype, unlist(wired$shape), values)
}

posenc_sent = function(array) {
    format = posenc_format(array$dtype)
    values = array$values
    shape = paste0("[", paste(sprintf("%.0f", array$shape), collapse = ", "), "]")
    misfit = paste(length(values), "values are not of the shape", shape)
    posenc_demand(prod(array$shape) == length(values), misfit)
    if (length(format) == 1) {
        whole = all(is.finite(values)) && all(abs(values) <= 2^53) && all(values == round(values))
        posenc_demand(whole, "a whole number was expected, of at most 2^53")
        bytes = posenc_bytes(values, format[1])
    } else if (format[1] >= 4) {
        bytes = writeBin(values, raw(), format[1], endian = "little")
    } else {
        bytes = posenc_bytes(posenc_bits(values, format[2], format[3]), 2)
    }
    paste0(
        '{"dtype": "', array$dtype, '", "shape": ', shape, ', "data": "', posenc_encoded(bytes), '"}'
    )
}

# Floats of 16 bits.
posenc_float = function(bits, exponent, fraction) {
    largest = 2^exponent - 1
    power = bits %/% 2^fraction %% 2^exponent
    units = bits %% 2^fraction
    size = ifelse(power == 0, units, units + 2^fraction) * 2^(pmax(power, 1) - largest %/% 2 - fraction)
    size[power == largest] = ifelse(units[power == largest] == 0, Inf, NaN)
    ifelse(bits >= 32768, -size, size)
}

# Rounds to the nearest value, and of two to the even one.
posenc_bits = function(values, exponent, fraction) {
    bias = 2^(exponent - 1) - 1
    infinity = (2^exponent - 1) * 2^fraction
    size = abs(values)
    power = floor(log2(size)) # which may be off beside a power of two
    power = power + (size >= 2^(power + 1)) - (size < 2^power)
    power = pmin(pmax(power, 1 - bias), bias + 1)
    # The bit of the units that is not stored adds one to the power.
    stored = (power + bias - 1) * 2^fraction + round(size * 2^(fraction - power))
    stored = pmin(stored, infinity)
    stored[is.nan(values)] = infinity + 2^(fraction - 1)
    stored + 32768 * (values < 0 | (values == 0 & 1 / values < 0)) %in% TRUE
}

posenc_whole = function(bytes, size, signed) {
    pieces = matrix(as.numeric(bytes), nrow = size)
    if (signed) pieces[size, ] = pieces[size, ] - 256 * (pieces[size, ] >= 128)
    pieces = pieces * 256^(seq_len(size) - 1)
    # Six bytes and two are exact, each for itself; their sum is so up to 2^53.
    low = colSums(pieces[seq_len(size) <= 6, , drop = FALSE])
    values = low + colSums(pieces[seq_len(size) > 6, , drop = FALSE])
    fits = abs(values) < 2^53 | (abs(values) == 2^53 & low == 0)
    posenc_demand(all(fits), "a whole number is larger than 2^53")
    values
}

posenc_bytes = function(values, size) {
    bytes = matrix(0, size, length(values))
    for (n in seq_len(size)) {
        bytes[n, ] = values %% 256
        values = (values - bytes[n, ]) / 256
    }
    as.raw(bytes)
}

posenc_letters = charToRaw("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

posenc_encoded = function(bytes) {
    missing = -length(bytes) %% 3
    three = matrix(as.integer(c(bytes, raw(missing))), nrow = 3)
    whole = three[1, ] * 65536 + three[2, ] * 256 + three[3, ]
    four = rbind(whole %/% 262144, whole %/% 4096 %% 64, whole %/% 64 %% 64, whole %% 64)
    text = posenc_letters[four + 1]
    if (missing) text[length(text) + 1 - seq_len(missing)] = charToRaw("=")
    rawToChar(text)
}

posenc_decoded = function(text) {
    letters = charToRaw(text)
    missing = sum(letters == charToRaw("="))
    place = integer(256)
    place[as.integer(posenc_letters) + 1] = 0:63
    four = matrix(place[as.integer(letters) + 1], nrow = 4)
    whole = four[1, ] * 262144 + four[2, ] * 4096 + four[3, ] * 64 + four[4, ]
    bytes = as.raw(rbind(whole %/% 65536, whole %/% 256 %% 256, whole %% 256))
    bytes[seq_len(length(bytes) - missing)]
}

# Reads JSON: a list, a text, a number, TRUE, FALSE or NULL. Texts are whole words of its grammar, so
# that a long one takes no longer than a look.
posenc_read = function(text) {
    Encoding(text) = "UTF-8"
    grammar = '"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+"|[][{}:,]|[^][{}:,"\\s]++'
    words = regmatches(text, gregexpr(grammar, text, perl = TRUE))[[1]]
    at = 0
    read = function() {
        at <<- at + 1
        word = words[at]
        if (word == "{" || word == "[") return(read_list(word == "{"))
        if (startsWith(word, '"')) return(posenc_text(substr(word, 2, nchar(word) - 1)))
        switch(word, null = NULL, true = TRUE, false = FALSE, as.numeric(word))
    }
    read_list = function(named) {
        found = list()
        while (!words[at + 1] %in% c("}", "]")) {
            name = if (named) read() else length(found) + 1
            if (named) at <<- at + 1 # the colon
            value = read()
            if (is.null(value)) found[name] = list(NULL) else found[[name]] = value
            if (words[at + 1] == ",") at <<- at + 1
        }
        at <<- at + 1
        found
    }
    read()
}

posenc_text = function(text) {
    if (!grepl("\\", text, fixed = TRUE)) return(text)
    escapes = "\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]..|\\\\u....|\\\\."
    found = gregexpr(escapes, text, perl = TRUE)
    plain = function(escape) {
        kind = substr(escape, 2, 2)
        if (kind != "u") return(switch(kind, b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", kind))
        code = strtoi(substr(escape, 3, 6), 16)
        if (nchar(escape) == 12) {
            code = 65536 + (code - 55296) * 1024 + strtoi(substr(escape, 9, 12), 16) - 56320
        }
        intToUtf8(code)
    }
    regmatches(text, found) = list(vapply(regmatches(text, found)[[1]], plain, ""))
    text
}

posenc_quoted = function(text) {
    codes = utf8ToInt(iconv(enc2utf8(text), "UTF-8", "UTF-8", sub = "byte"))
    escaped = vapply(codes, function(code) {
        if (code == 34 || code == 92) return(paste0("\\", intToUtf8(code)))
        if (code >= 32 && code <= 126) return(intToUtf8(code))
        if (code < 65536) return(sprintf("\\u%04x", code))
        code = code - 65536
        sprintf("\\u%04x\\u%04x", 55296L + code %/% 1024L, 56320L + code %% 1024L)
    }, "")
    paste0('"', paste(escaped, collapse = ""), '"')
}
