"""llama.cpp's server: ``llamacpp_server.py FILE.gguf PORT [TOKENS]``."""

import signal
import sys

import xllamacpp

if __name__ == "__main__":
    file, port, *tokens = sys.argv[1:]
    parameters = xllamacpp.CommonParams()
    parameters.model.path = file
    parameters.n_ctx = int(tokens[0]) if tokens else 8192
    parameters.n_parallel = 1
    parameters.port = int(port)
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError:
        sys.exit(1)  # its log says more than the error
    print(server.listening_address, flush=True)
    signal.pause()
