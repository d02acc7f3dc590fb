"""Windows that look like acceptor splice sites and like what is mistaken for them; for `datasets.splice_sites`."""

import numpy as np

from . import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A, _MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_INTERGENIC, _INTRON, _EXON = 0, 1, 2
_A, _C, _G, _T = 0, 1, 2, 3


@jit
def _mixed(x):
    """Scatter the bits of x, uint64 (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_A
    x = (x ^ (x >> np.uint64(27))) * _MIX_B
    return x ^ (x >> np.uint64(31))


@jit
def _draw(state):
    """Return 64 random bits, and move state (1,) uint64 on."""
    state[0] += _GOLDEN
    return _mixed(state[0])


@jit
def _uniform(state):
    """Return a number in [0, 1)."""
    return float(_draw(state) >> np.uint64(11)) / 9007199254740992.0


@jit
def _below(state, n):
    """Return a whole number in 0 ... n − 1."""
    return np.int64(_uniform(state) * n)


@jit
def _pick(state, cumulated):
    """Return the first i with u < cumulated[i], u uniform."""
    u, i = _uniform(state), 0
    while i < cumulated.size - 1 and u >= cumulated[i]:
        i += 1
    return i


@jit
def _chain(state, thresholds, row, start, stop):
    """Fill row[start:stop] with codes from a Markov chain; thresholds (4, 3) int64 of 16 bits, by the letter before."""
    before = np.int64(row[start - 1]) if start > 0 else np.int64(_draw(state) >> np.uint64(62))
    bits, left = np.uint64(0), 0
    for i in range(start, stop):
        if left == 0:
            bits, left = _draw(state), 4
        u = np.int64(bits & np.uint64(0xFFFF))
        bits, left = bits >> np.uint64(16), left - 1
        code = np.int64(0)
        for k in range(3):
            code += u >= thresholds[before, k]
        row[i] = code
        before = code


@jit
def _open_frame(state, row, start, stop):
    """Make row[start:stop] readable: no stop codon (TAA, TAG, TGA) in one of its three frames."""
    for i in range(start + _below(state, 3), stop - 2, 3):
        second, third = row[i + 1], row[i + 2]
        if row[i] == _T and ((second == _A and third in (_A, _G)) or (second == _G and third == _A)):
            row[i + 2] = _C


@jit
def _repeat(state, elements, row):
    """Lay a short unit in tandem, or one of the elements (n, length) uint8 with one letter in ten changed, over row."""
    if _uniform(state) < 0.5:
        unit, length = 1 + _below(state, 4), 12 + _below(state, 29)
        start = _below(state, row.size - length)
        for i in range(start, start + length):
            row[i] = (_draw(state) >> np.uint64(62)) if i < start + unit else row[i - unit]
    else:
        element = elements[_below(state, elements.shape[0])]
        start = _below(state, row.size - element.size)
        for i in range(element.size):
            row[start + i] = element[i] if _uniform(state) < 0.9 else (_draw(state) >> np.uint64(62))


@jit
def _signal(state, row, at, tract, core, keep, branch):
    """Plant a site with AG at `at`: a tract, the core's letters with probability `keep`, a branch point with `branch`.

    tract (4,) and core (n, 4) are cumulated probabilities; the last row of the core is the letter after AG.
    """
    first = at + 3 - core.shape[0]
    for i in range(max(0, at - 25), max(0, first)):
        if i < row.size and _uniform(state) < 0.8:
            row[i] = _pick(state, tract)
    for k in range(core.shape[0]):
        if 0 <= first + k < row.size and _uniform(state) < keep:
            row[first + k] = _pick(state, core[k])
    start = at - 17 - _below(state, 10)  # C T A A C; the second A is the one that branches
    if _uniform(state) < branch and start >= 0 and start + 5 <= row.size:
        for k in range(5):
            if _uniform(state) < 0.9:
                row[start + k] = _C if k in (0, 4) else (_T if k == 1 else _A)


@jit
def _site_background(state, chains, row, at):
    """Fill row with an intron up to `at` + 2 and an exon after it; the intron may begin inside the row."""
    end = min(max(at + 2, 0), row.size)
    begin = 0
    if _uniform(state) < 0.4:
        begin = max(0, at - 42 - _below(state, 30))
    _chain(state, chains[_EXON], row, 0, begin)
    _open_frame(state, row, 0, begin)
    _chain(state, chains[_INTRON], row, begin, end)
    if begin > 0 and begin + 2 <= end:
        row[begin], row[begin + 1] = _G, _T
    _chain(state, chains[_EXON], row, end, row.size)
    _open_frame(state, row, end, row.size)


@jit
def windows(first, seed, site, shares, repeats, chains, tract, core, elements, letters, out, kinds):
    """Fill out (m, window) uint8 with the letters of windows first, first + 1, ..., and kinds (m,) uint8.

    shares (7,) are the cumulated probabilities of the kinds. A window depends on seed (uint64) and its number alone.
    """
    state = np.empty(1, np.uint64)
    row = np.empty(out.shape[1], np.uint8)
    for m in range(out.shape[0]):
        state[0] = _mixed(seed + np.uint64(first + m) * _GOLDEN)
        kind = _pick(state, shares)
        kinds[m] = kind
        at = site
        if kind == 5:  # the true site is near by
            at += (1 + _below(state, 20)) * (1 if _uniform(state) < 0.5 else -1)
        if kind == 0 or kind >= 4:
            _site_background(state, chains, row, at)
        else:
            _chain(state, chains[kind - 1], row, 0, row.size)
            if kind - 1 == _EXON:
                _open_frame(state, row, 0, row.size)
        if _uniform(state) < repeats:
            _repeat(state, elements, row)
        if kind == 0 or kind >= 5:
            weak = _uniform(state) < 0.1
            _signal(state, row, at, tract, core, 0.6 if weak else 1.0, 0.8)
        elif kind == 4:
            _signal(state, row, at, tract, core, 0.4, 0.0)
        row[site], row[site + 1] = _A, _G
        for i in range(row.size):
            out[m, i] = letters[row[i]]
