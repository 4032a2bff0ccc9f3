"""The parts of `benchmarks/gpu.py`: functions of (options, write) that call `write` with each row that they
have found."""
