"""AnnData and MuData: their parts as views, and scores back into them. Neither package is imported: both are read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import InputError, InputTypeError
from .multiview import MultiView

#: Where the views of one AnnData may lie.
PLACES = "'X', 'layers/NAME', 'obsm/NAME' or 'obs/COLUMN'"


def from_anndata(data: Any, views: Mapping[str, str] | Sequence[str] | None = None) -> MultiView:
    """Return parts of an AnnData or MuData object as views.

    Parameters
    ----------
    data : AnnData or MuData
    views : dict of name to place, list of places, or None
        A place is "X", "layers/counts", "obsm/X_pca", "obs/age" or "obs/age,sex"; in MuData the modality comes first:
        "rna", "rna/obsm/X_pca", "atac/layers/counts". By default X and all of `obsm`, or X of every modality.

    Returns
    -------
    views : MultiView
        In the order of `data.obs_names`, which are its `names`. A sample that a modality does not have lacks its views:
        give kernels a rule, `RBF(0.1).on("atac").if_missing()`, or leave the kernel to `MKLClassifier()`.

    Examples
    --------
    >>> from kernelweave import MKLClassifier, from_anndata  # doctest: +SKIP
    >>> X = from_anndata(adata, {"genes": "X", "pca": "obsm/X_pca", "clinic": "obs/age,sex"})  # doctest: +SKIP
    >>> model = MKLClassifier().fit(X, adata.obs["cell_type"])  # doctest: +SKIP
    """
    if not hasattr(data, "obs_names"):
        raise InputTypeError(f"from_anndata reads AnnData and MuData objects; got {type(data).__name__}.")
    modalities = dict(data.mod) if hasattr(data, "mod") else None
    names = [str(name) for name in data.obs_names]
    found: dict[Hashable, Any] = {}
    samples: dict[Hashable, list[str]] = {}
    for name, place in _wanted(data, modalities, views).items():
        whole, inner = data, place
        if modalities is not None and place.split("/", 1)[0] in modalities:
            modality, _, inner = place.partition("/")
            whole, inner = modalities[modality], inner or "X"
        found[name] = _part(whole, inner, place)
        samples[name] = [str(one) for one in whole.obs_names]
    if all(own == names for own in samples.values()):
        made = MultiView(found)
        made.names = np.array(names, dtype=object)
        return made
    return _in_order(MultiView(found, samples=samples), names)


def _wanted(data: Any, modalities: Any, views: Any) -> dict[str, str]:
    """Return names and places of the views."""
    if views is None:
        if modalities is not None:
            return {name: name for name in modalities}
        return {**({} if data.X is None else {"X": "X"}), **{name: f"obsm/{name}" for name in data.obsm}}
    chosen = dict(views) if isinstance(views, Mapping) else {place: place for place in views}
    if not chosen or not all(isinstance(place, str) for place in chosen.values()):
        raise InputError(f"views of from_anndata names places, {PLACES}; got {views!r}.")
    return chosen


def _part(data: Any, inner: str, place: str) -> Any:
    """Return one part of an AnnData object."""
    kind, _, name = inner.partition("/")
    if inner == "X" and data.X is not None:
        return data.X
    if kind in ("layers", "obsm") and name in getattr(data, kind):
        return getattr(data, kind)[name]
    columns = name.split(",")
    if kind == "obs" and name and all(column in data.obs for column in columns):
        return data.obs[columns].reset_index(drop=True)
    there = [*(["X"] if data.X is not None else []), *(f"layers/{one}" for one in data.layers)]
    there += [*(f"obsm/{one}" for one in data.obsm), *(f"obs/{one}" for one in data.obs)]
    raise InputError(f"There is no {place!r}. Places are {PLACES}; there are {', '.join(map(repr, there[:12]))}.")


def _in_order(views: MultiView, names: Sequence[str]) -> MultiView:
    """Return the views in the order of these names; those that no view has come without any."""
    assert views.names is not None
    place = {name: row for row, name in enumerate(views.names)}
    lost = [name for name in names if name not in place]
    if lost:
        raise InputError(f"No view has the sample {lost[0]!r} ({len(lost)} of {len(names)}); choose another view, too.")
    return views[np.array([place[name] for name in names])]


def to_obs(data: Any, model: Any, X: Any, key: str = "kernelweave") -> None:
    """Write what a model predicts into `data.obs`: `key`, and beside it scores.

    Parameters
    ----------
    data : AnnData or MuData
        Gets the columns `key`, the prediction, and for classifiers `key_score` (two classes) or `key_score_CLASS`, the
        decision values; with `predict_proba` also `key_probability` or `key_probability_CLASS`.
    model : fitted MKLClassifier, MKLRegressor or MKLOneClass
    X : samples
        As `from_anndata` returns them.
    key : str
    """
    columns: dict[Hashable, np.ndarray] = {key: np.asarray(model.predict(X))}
    if len(columns[key]) != len(data.obs):
        raise InputError(f"There are {len(data.obs)} samples in obs, and {len(columns[key])} in X.")
    classes = getattr(model, "classes_", None)
    for what, name in (("decision_function", "score"), ("predict_proba", "probability")):
        if classes is None or not hasattr(model, what):
            continue
        values = np.asarray(getattr(model, what)(X))
        if values.ndim == 2 and len(classes) == 2:
            values = values[:, 1]
        for c, one in enumerate([values] if values.ndim == 1 else values.T):
            columns[f"{key}_{name}" if values.ndim == 1 else f"{key}_{name}_{classes[c]}"] = one
    for column, values in columns.items():
        data.obs[column] = values
