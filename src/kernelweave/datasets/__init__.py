"""Generated data whose structure is known, to see whether learning finds it."""

from .genomes import MadeGenome, make_genome
from .motifs import make_motifs, make_shifted_motif
from .numbers import make_relevant, make_sines, make_star
from .regions import MatchedRegions, matched_regions
from .splice_sites import SPLICE_KINDS, SPLICE_SIGNALS, make_splice_sites

__all__ = [
    "SPLICE_KINDS",
    "SPLICE_SIGNALS",
    "MadeGenome",
    "MatchedRegions",
    "make_genome",
    "make_motifs",
    "make_relevant",
    "make_shifted_motif",
    "make_sines",
    "make_splice_sites",
    "make_star",
    "matched_regions",
]
