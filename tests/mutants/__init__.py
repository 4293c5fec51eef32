"""Do the tests notice a wrong decision? `python -m tests.mutants --help`; `make mutants`.

Why not mutmut or cosmic-ray: cosmic-ray starts pytest anew for every mutant and rewrites files in place; mutmut has no seed, no
sample of decisions, and changes strings, of which most here are messages. Here pytest collects once, each test says which lines
it runs, and each mutant is a fork in whose memory one function has another body. No file is ever changed.
"""
