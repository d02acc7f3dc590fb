"""What words say about shorter and longer ones: scores of all words of some letters, and lists of the words there are.

Levels lie one after the other: word u of k letters, the first letter on top, is entry n_letters + ... +
n_letters^(k - 1) + u.
"""

import numpy as np

from kernelweave._fast import jit

# What a longer word adds to the part of it that it shares with a window: it lies inside, hangs out to the left, to the
# right, or to both sides.
INSIDE, LEFT, RIGHT, BOTH = range(4)


@jit
def _letter_chance(code, chance):
    """Probability of a letter under chance (n_letters,); an unknown letter has none."""
    return chance[code] if code < len(chance) and code < 255 else 0.0


@jit
def overlaps(codes, layer, p, tables, chance, shares):
    """What every sequence adds to its own words from p on, per unit of its coefficient: shares (Q, orders, 4).

    codes (Q, L), layer (Q,), tables (n_layers, L, degree). shares[q, o - 1] = table[p, o - 1], and the sums over the
    words from i of k letters that cover all o letters, or end with them, of table[i, k - 1] times the probability of
    what hangs out, under chance (L, n_letters); shares come as zeros.
    """
    _, length, degree = tables.shape
    orders = shares.shape[1]
    for q in range(len(codes)):
        table, mine, letters = tables[layer[q]], shares[q], codes[q]
        for o in range(min(orders, degree)):
            mine[o, INSIDE] = table[p, o]
        before = 1.0
        for i in range(p, max(-1, p - degree), -1):
            if i < p:
                before *= _letter_chance(letters[i], chance[i])
                if before == 0.0:
                    break
            stop = min(length, i + degree)
            beyond = 0.0  # Σ over words from i that end beyond e, of their weights times the chance of what is beyond
            for e in range(stop, p, -1):
                if e < stop:
                    beyond = _letter_chance(letters[e], chance[e]) * (table[i, e - i] + beyond)
                if e - p <= orders:
                    if i == p:
                        mine[e - p - 1, RIGHT] = beyond
                    else:
                        mine[e - p - 1, LEFT] += before * table[i, e - i - 1]
                        mine[e - p - 1, BOTH] += before * beyond


def even_overlaps(table, p, before, after, orders, chance):
    """`overlaps` of one sequence, (orders, 4), where every letter has the same chance.

    It depends on how many letters from p on, and how many before p, are known: before and after. table (L, degree).
    """
    length, degree = table.shape
    shares = np.zeros((orders, 4))
    before, after = min(before, degree - 1, p), min(after, degree, length - p)
    starts, ends = np.arange(p - before, p + 1), np.arange(p + 1, p + after + 1)
    sizes = ends - starts[:, None]
    weights = np.where(sizes <= degree, table[starts[:, None], np.minimum(sizes, degree) - 1], 0.0)
    gaps = ends - ends[:, None]
    beyond = weights @ np.where(gaps > 0, chance ** np.maximum(gaps, 0), 0.0).T
    out = chance ** (p - starts[:-1])
    n = min(orders, after)
    shares[: min(orders, degree), INSIDE] = table[p, : min(orders, degree)]
    shares[:n, RIGHT] = beyond[-1, :n]
    shares[:n, LEFT] = out @ weights[:-1, :n]
    shares[:n, BOTH] = out @ beyond[:-1, :n]
    return shares


@jit
def add_words(codes, coef, kinds, shares, p, n_letters, own):
    """Add what every sequence says about its words from p on to own (levels, 4): coef times its share of each.

    codes (Q, L), coef (Q,), kinds (Q,) int64 into shares (., orders, 4).
    """
    known = min(n_letters, 255)
    for q in range(len(codes)):
        u, start, size = 0, 0, 1
        for o in range(shares.shape[1]):
            letter = np.int64(codes[q, p + o])
            if letter >= known:
                break
            u = u * n_letters + letter
            for side in range(4):
                own[start + u, side] += coef[q] * shares[kinds[q], o, side]
            size *= n_letters
            start += size


@jit
def join_words(own, n_letters, last_inside, last_right, inside, left, right, out):
    """Sum up what a window gets from all words that overlap it: out (levels,) from own (levels, 4).

    Words inside u = those inside u without its last letter, and without its first one, but not both, and u itself.
    last_inside and last_right are the sums for windows one letter further on; inside, left and right are filled.
    """
    start, below, under = 0, 0, 0  # where the levels of k, k - 1 and k - 2 letters begin
    size = 1
    while start < len(own):
        lower, size = size, size * n_letters
        lowest = lower // n_letters
        for u in range(size):
            s, a, b = own[start + u, INSIDE], own[start + u, LEFT], own[start + u, RIGHT]
            head, tail = below + u // n_letters, below + u % lower
            if start > 0:
                s += inside[head] + last_inside[tail]
                a += left[head]
                b += last_right[tail]
                if below > 0:
                    s -= last_inside[under + (u // n_letters) % lowest]
            inside[start + u], left[start + u], right[start + u] = s, a, b
            out[start + u] = s + a + b + own[start + u, BOTH]
        start, below, under = start + size, start, below


@jit
def add_free_words(words, lengths, weights, chance, own):
    """As `add_words`, for words that count anywhere: words (M, k), lengths and weights (M,), chance (n_letters,)."""
    n_letters = len(chance)
    for m in range(len(words)):
        k = lengths[m]
        start, o = 0, 1
        while start < len(own) and o <= k:
            size = n_letters**o
            for i in range(k - o + 1):
                share, u = weights[m], np.int64(0)
                for j in range(k):
                    if i <= j < i + o:
                        u = u * n_letters + words[m, j]
                    else:
                        share *= chance[words[m, j]]
                kind = INSIDE if k == o else RIGHT if i == 0 else LEFT if i == k - o else BOTH
                own[start + u, kind] += share
            start += size
            o += 1


def list_words(letters, coef, layer, tables, owner, order, p, n_letters, threshold):
    """All words from p on with |weight| > threshold: found (m, 3) int64, letters, a row, owners; and weights (m,).

    letters (L, Q), coef, layer, owner (Q,), tables (n_layers, L, degree); `order` (Q,) sorts the sequences from p on.
    """
    limit = min(tables.shape[2], len(letters) - p)
    rows = letters[p : p + limit].take(order, axis=1)
    known, same = rows < min(n_letters, 255), np.zeros(rows.shape, bool)
    same[:, 1:] = rows[:, 1:] == rows[:, :-1]
    for k in range(1, limit):
        known[k] &= known[k - 1]
        same[k] &= same[k - 1]
    size, common = known.sum(axis=0), (same & known).sum(axis=0)
    found, weights = np.empty((int(size.sum()), 3), np.int64), np.empty(int(size.sum()))
    stamp = np.full(int(owner.max(initial=-1)) + 1, -1)
    table = np.ascontiguousarray(tables[:, p, :limit])
    m = _list_words(order, size, common, coef, layer, table, owner, stamp, threshold, found, weights)
    return found[:m], weights[:m]


@jit
def _list_words(order, size, common, coef, layer, table, owner, stamp, threshold, found, weights):
    """`list_words` of sequences in order: known letters of each, and those it shares with the one before, (Q,)."""
    n = len(order)
    m = seen = 0
    for k in range(table.shape[1]):
        first, count, weight = -1, 0, 0.0
        for r in range(n + 1):
            if first >= 0 and (r == n or common[r] <= k):
                if abs(weight) > threshold:
                    found[m, 0], found[m, 1], found[m, 2] = k + 1, order[first], count
                    weights[m] = weight
                    m += 1
                first = -1
            if r < n and size[r] > k:
                if first < 0:
                    first, count, weight = r, 0, 0.0
                    seen += 1
                q = order[r]
                weight += coef[q] * table[layer[q], k]
                if stamp[owner[q]] != seen:
                    stamp[owner[q]] = seen
                    count += 1
    return m
