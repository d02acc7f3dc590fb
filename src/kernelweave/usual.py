"""Kernels that suit a kind of sequences, as text: for a look at the data, and for presets of the command line."""

#: Proteins of any length: composition, pairs and triples of letters, and the composition of both ends, where signals
#: say to which place a protein goes. Gaussians, because all of it has to be alike; each as wide as its distances.
PROTEINS = (
    "Gaussian(Spectrum(k=1).normalized(), gamma=4.0) + Gaussian(Spectrum(k=2).normalized(), gamma=1.0) + "
    "Gaussian(Spectrum(k=3).normalized(), gamma=0.5) + Gaussian(Spectrum(k=1).part(0, 20).normalized(), gamma=1.0) + "
    "Gaussian(Spectrum(k=1).part(0, 60).normalized(), gamma=2.0) + "
    "Gaussian(Spectrum(k=1).part(-40).normalized(), gamma=1.5)"
)
#: Texts: words, and pieces of 1 to 5 letters, as one: the short ones are in the long ones, and say little alone.
TEXTS = (
    "BagOfWords().normalized() + (Spectrum(k=1, alphabet='text') + Spectrum(k=2, alphabet='text') + "
    "Spectrum(k=3, alphabet='text') + Spectrum(k=4, alphabet='text') + Spectrum(k=5, alphabet='text')).normalized()"
)
