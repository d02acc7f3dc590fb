"""Models of other programs as models of this library."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import InputError
from ..io.gkm_pairs import is_pair, read_pair
from ..io.gkm_text import read_gkm_model
from ..kernels import Kernel, parse
from ..views import as_views


def from_gkm(path: str | os.PathLike, *, kernel: Kernel | str | None = None) -> Any:
    """Read a machine with a gapped k-mer kernel that LS-GKM, gkmsvm-lite or gkmSVM for R wrote.

    Decision values are theirs, for sequences of the letters A, C, G and T. Words with other letters are skipped here;
    LS-GKM takes these letters for A.

    Parameters
    ----------
    path : path of the file
        ``....model.txt`` of LS-GKM (its six kernels, classification and regression), plain or gzip, or the ``.npz`` of
        gkmsvm-lite (but for its centre weights, which are something else), or of gkmSVM ``..._svalpha.out`` or
        ``..._svseq.fa``, side by side, or ``....gkmmodel``.
    kernel : Kernel, its text, or None
        Models of gkmSVM do not say with which kernel they were trained. None for its defaults, L = 10, K = 6, maxnmm =
        3 and the truncated filter on both strands:
        ``GappedKmer(10, 6, True, 'dna', filter='truncated', max_mismatches=3).normalized()``.

    Returns
    -------
    model : MKLClassifier or MKLRegressor
        Predicts, scans, explains and is saved as any other. How it was trained is not known: `gap_` is NaN.

    Raises
    ------
    ModelFormatError
        Where the file is none of these, or is damaged.
    """
    from . import MKLClassifier, MKLRegressor

    kernel = parse(kernel) if isinstance(kernel, str) else kernel
    if is_pair(path):
        found = read_pair(path, kernel)
    elif kernel is None:
        found = read_gkm_model(path)
    else:
        raise InputError(f"{os.fspath(path)!r} names its kernel itself; kernel= is for the models of gkmSVM for R.")
    model: Any = (MKLRegressor if found.classes is None else MKLClassifier)(found.kernel, norm="fixed", scaling=None)
    support = as_views(found.sequences)
    if found.classes is not None:
        model.classes_ = np.array(found.classes)
    n = len(found.sequences)
    model.n_features_in_, model.widths_, model.trained_, model.alignment_ = 1, None, None, None
    one = np.ones(1)
    model.restore((found.kernel,), one, one[None], support, np.arange(n), found.coef[None], np.array([found.intercept]))
    model.objective_ = model.lower_bound_ = model.gap_ = np.nan
    model.converged_, model.stop_reason_, model.solver_ = False, f"converted from {found.program}", "fixed"
    model.n_iter_ = model.n_solves_ = 0
    model.history_, model.notes_ = [], [f"The model was trained by {found.program}; nothing is known of the training."]
    return model
