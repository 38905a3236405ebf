"""The parts of the soak: each tries one promise many times and tells what did not hold."""
