"""What a fitted model knows: weights, words, positions, single predictions, and how sure of them one may be.

`import kernelweave` does not load this package. Its names are bound here at once and not on first use: a function that
is called like its file (`stability`) would otherwise be hidden by the file, as soon as that is loaded.
"""

from __future__ import annotations

from .attributions import Attributions, attributions
from .contributions import Contributions, contributions
from .deltasvm import KmerWeights, kmer_weights, read_kmer_weights
from .displays import (
    ConvergenceDisplay,
    CurvesDisplay,
    EmbeddingDisplay,
    KernelWeightsDisplay,
    KmerMapDisplay,
    MutationMapDisplay,
    PathDisplay,
    PositionImportanceDisplay,
    SequenceLogoDisplay,
    StabilityDisplay,
)
from .importance import Importance, Logo, importance, kmer_scores, logo, poim
from .kmers import KmerTable, kmer_table
from .motifs import Motif, motif, to_jaspar, to_meme
from .mutations import MutationMap, mutation_map, scan_map
from .normals import WordView, word_views
from .scores import KmerScores
from .stability import Stability, stability
from .tables import Table
from .terms import TermTable, term_table
from .variants import variant_effects

__all__ = [
    "Attributions",
    "Contributions",
    "ConvergenceDisplay",
    "CurvesDisplay",
    "EmbeddingDisplay",
    "Importance",
    "KernelWeightsDisplay",
    "KmerMapDisplay",
    "KmerScores",
    "KmerTable",
    "KmerWeights",
    "Logo",
    "Motif",
    "MutationMap",
    "MutationMapDisplay",
    "PathDisplay",
    "PositionImportanceDisplay",
    "SequenceLogoDisplay",
    "Stability",
    "StabilityDisplay",
    "Table",
    "TermTable",
    "WordView",
    "attributions",
    "contributions",
    "importance",
    "kmer_scores",
    "kmer_table",
    "kmer_weights",
    "logo",
    "motif",
    "mutation_map",
    "poim",
    "read_kmer_weights",
    "scan_map",
    "stability",
    "term_table",
    "to_jaspar",
    "to_meme",
    "variant_effects",
    "word_views",
]
