"""A way to hold kernels: the upper halves of their matrices, which are symmetric."""

import numpy as np

from kernelweave import gram as grams


class TriangleGram(grams.Gram):
    """Half of every matrix, in double precision: half the bytes."""

    def __init__(self, terms, X, factors=None, triangles=None):
        super().__init__(terms, X, factors)
        upper = np.triu_indices(self.n)
        self.triangles = [term.compute(X, None)[upper] for term in self.terms] if triangles is None else triangles

    @classmethod
    def offer(cls, terms, X, room):
        need = grams.Bytes(held=4.0 * len(X) * (len(X) + 1) * len(terms), making=8.0 * len(X) ** 2)
        if need.peak > room.budget:
            return None
        text = "upper halves of matrices", "half of the bytes say it all"
        return grams.Offer(tuple(terms), *text, need, cls.held, lambda: cls(terms, X), rank=-1)

    def rescaled(self, factors):
        return TriangleGram(self.terms, self.X, factors, self.triangles)

    def only(self, picked):
        kept = [self.triangles[m] for m in picked]
        return TriangleGram([self.terms[m] for m in picked], self.X, self.factors[list(picked)], kept)

    def block_each(self, rows, cols):
        i, j = np.minimum.outer(rows, cols), np.maximum.outer(rows, cols)
        halves = np.array(self.triangles)[:, i * self.n - i * (i + 1) // 2 + j]
        return self.factors[:, None, None] * halves


grams.GRAMS += (TriangleGram,)
