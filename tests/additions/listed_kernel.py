"""A string kernel whose features are listed: the codons of the first reading frame."""

from dataclasses import dataclass

from kernelweave import kernels
from kernelweave.kernels.word_vocabulary import WordVocabulary


@dataclass(eq=False, repr=False)
class Codons(kernels.ExplicitKernel):
    """k(x, y) = Σ_u n_u(x) n_u(y), with n_u the number of codons u in the first reading frame."""

    alphabet: str = "dna"
    definite = True

    def parts(self, alphabet, degree=None):
        return [(1.0, WordVocabulary(self.cut, self.spans))]

    def cut(self, text):
        return [word for _, _, word in self.spans(text)]

    def spans(self, text):
        return [(i, i + 3, text[i : i + 3]) for i in range(0, len(text) - 2, 3)]


kernels.KERNELS += (Codons,)
