"""Kernels that suit a kind of sequences, as text: for a look at the data, and for presets of the command line."""

#: Proteins of any length: composition, pairs, triples, and words of five with one letter wrong.
PROTEINS = (
    "Spectrum(k=1).normalized() + Spectrum(k=2).normalized() + Spectrum(k=3).normalized() + "
    "Mismatch(k=5, mismatches=1).normalized()"
)
#: Texts: words, and pieces of words.
TEXTS = (
    "BagOfWords().normalized() + Spectrum(k=3, alphabet='text').normalized() + "
    "Spectrum(k=5, alphabet='text').normalized()"
)
