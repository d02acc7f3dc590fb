"""The tables and figures of four papers, redone: python -m papers (in benchmarks/), or `make papers`.

Each row of `registry.ROWS` is one table or figure. Measuring it writes a file of results; pages and pictures are made
from these files alone, so no number in them is typed by hand.
"""
