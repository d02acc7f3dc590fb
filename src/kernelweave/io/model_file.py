"""Model files: a fitted estimator in one small file that holds data and never code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError, ModelFormatError
from ..estimators import ESTIMATORS
from ..estimators.base import BaseMKL
from ..estimators.chosen import kernel_of
from ..kernels import Kernel, parse
from ..kernels.low_rank import low_ranks
from ..kernels.states import keepers
from ..memory import budget_bytes
from ..views import Views
from .archive import arrays_budget, read_archive, write_archive
from .atomic import AtomicFile
from .model_reader import ATTRIBUTE, PLACED, TRAINING, StoredModel, made_kinds
from .plain import encode
from .support import Packer, Request, requests_of
from .word_counts import pack_counts

#: Steps of the history that are kept, and numbers of the weights on the way: all of them, or none.
HISTORY_STEPS, HISTORY_NUMBERS = 100, 10_000
#: Support samples whose similarities tell one given matrix from another.
PROBES = 64


# -- saving ------------------------------------------------------------------------------------------------------------


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted model to one file, which `load` reads in any later version of the library.

    The file holds the learned weights and coefficients, and of the training data only the support samples, and of
    these only what the terms with a positive weight read. It appears at once and whole: if anything goes wrong, an
    older file of that name is as it was.

    Parameters
    ----------
    model : MKLClassifier, MKLRegressor or MKLOneClass
        Fitted.
    path : path of the file
        Any name will do; ``.kw`` is customary.

    Raises
    ------
    InputError
        Where something of the model is not data: a kernel or loss that is a function of your own, say.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import kernelweave as kw
    >>> model = kw.MKLClassifier("RBF(0.5) + Linear()").fit([[0.0], [0.2], [1.0], [1.2]], ["a", "a", "b", "b"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.kw"
    >>> kw.save(model, path)
    >>> kw.load(path).predict([[0.1], [1.1]])
    array(['a', 'b'], dtype='<U1')
    """
    _check_model(model)
    manifest, arrays = _manifest(model)
    with AtomicFile(path) as out:
        write_archive(out.file, manifest, arrays)


def _check_model(model: Any) -> None:
    if type(model) not in ESTIMATORS:
        hint = " Save its best_estimator_." if hasattr(model, "best_estimator_") else ""
        hint = hint or (" Save its last step, and keep the other steps apart." if hasattr(model, "steps") else "")
        names = ", ".join(kind.__name__ for kind in ESTIMATORS)
        raise InputError(f"A model file keeps one of {names}; got {type(model).__name__}.{hint}")
    check_is_fitted(model, msg="This %(name)s is not fitted yet: call fit before it is saved.")
    kernel = model.fitted_.kernel
    if not all(leaf.says_all for leaf in kernel.leaves()):
        raise InputError(
            f"{kernel!r} is a function of your own, and a model file holds data only. Give its matrix as "
            "Precomputed(K, name=...), use kernels of the library, or pickle the model."
        )
    for one in (kernel_of(model.kernel), kernel, *(model.fitted_.terms if model.widths_ is not None else ())):
        if _text_is_lost(one):
            raise InputError(
                f"{one!r} cannot be read back from its text, and a model file keeps the text. Use kernels of the "
                "library, or pickle the model."
            )


def _text_is_lost(kernel: Kernel) -> bool:
    try:
        return repr(parse(repr(kernel))) != repr(kernel)
    except InputError:
        return True


def _manifest(model: BaseMKL) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what is written of a model: JSON and arrays."""
    fitted, packer = model.fitted_, Packer()
    views = fitted.support
    used = np.flatnonzero(fitted.weights.any(axis=0)) if len(views) else ()
    wanted = _distinct([request for m in used for request in requests_of(fitted.terms[m], views)])
    names = getattr(model, "feature_names_in_", None)
    manifest = {
        "library_version": version("kernelweave"),
        "estimator": type(model).__name__,
        "kernel": None if model.kernel is None else repr(kernel_of(model.kernel)),
        "parameters": {
            name: encode(value, name, made_kinds())
            for name, value in model.get_params(deep=False).items()
            if name != "kernel"
        },
        "n_features_in": model.n_features_in_,
        "feature_names_in": None if names is None else list(names),
        "classes": encode(getattr(model, "classes_", None), "classes_", made_kinds()),
        "n_support": len(views),
        "terms": fitted.term_names,
        "weights": model.weights_.tolist(),
        "scales": model.scales_.tolist(),
        "matrices": _probes(wanted, views),
        "data": packer.pack(views, wanted),
        "attributes": {
            name: encode(value, name, made_kinds())
            for name, value in vars(model).items()
            if ATTRIBUTE.fullmatch(name) and name not in PLACED
        },
        "training": {
            name: encode(
                _thinned(model.history_) if name == "history" else getattr(model, f"{name}_"), name, made_kinds()
            )
            for name in TRAINING
        },
    }
    if manifest["kernel"] != (learned := repr(fitted.kernel)):
        manifest["base_kernel"] = learned
    for name, kept in (("landmarks", _landmarks), ("references", _references), ("words", pack_counts)):
        found = kept(fitted.terms, used, packer)
        manifest |= {name: found} if found else {}
    support = model.support_.astype(np.min_scalar_type(int(model.support_.max(initial=0))))
    fixed = {"support.npy": support, "dual_coef.npy": model.dual_coef_, "intercept.npy": model.intercept_}
    trained = model.trained_
    if trained is not None:
        manifest["trained"] = {name: getattr(trained, name) for name in ("n_samples", "n_distinct", "target")}
        fixed |= {} if trained.hashes is None else {"trained.npy": trained.hashes}
    return manifest, fixed | packer.arrays


def _landmarks(terms: Sequence[Kernel], used: Iterable[int], packer: Packer) -> list[dict[str, Any]]:
    """Return the landmarks of the used terms, in the order in which the terms have them."""
    return [
        {
            "term": int(m),
            "rows": packer.keep(known.rows),
            "lost": known.lost,
            "data": packer.pack(known.views, _distinct(list(requests_of(one.kernel, known.views)))),
        }
        for m in used
        for one in low_ranks(terms[m])
        for known in [one.known]
    ]


def _references(terms: Sequence[Kernel], used: Iterable[int], packer: Packer) -> list[dict[str, Any]]:
    """Return the samples of expectations of the used terms, in the order in which the terms have them."""
    return [
        {
            "term": int(m),
            "share": packer.keep(known.share),
            "data": packer.pack(known.views, _distinct(list(requests_of(one.kernel, known.views)))),
        }
        for m in used
        for one in keepers(terms[m], "references")
        for known in [one.known]
    ]


def _distinct(requests: list[Request]) -> list[Request]:
    """Leave out what is asked for again."""
    # by their texts: columns may be slices, and the hash of a kernel that holds a matrix would read all of it
    named = {(repr(path), repr(leaf), *map(id, leaf.matrices.values())): (path, leaf) for path, leaf in requests}
    return list(named.values())


def _probes(wanted: list[Request], views: Views) -> dict[str, Any]:
    """Return, for every given matrix, what tells whether another one is the same."""
    probes: dict[str, Any] = {}
    given: dict[str, Any] = {}
    for path, leaf in wanted:
        for name, K in leaf.matrices.items():
            if given.setdefault(name, leaf) != leaf:
                raise InputError(f"Two matrices have the name {name!r}; a model file tells them apart by their names.")
            ids = views.through(path).ids()
            ids = ids[ids >= 0][:PROBES]
            values = np.asarray(K)[ids[0], ids].astype(np.float64).tolist()
            probes[name] = {"columns": np.shape(K)[1], "ids": ids.tolist(), "values": values}
    return probes


def _thinned(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return some steps of the history, the first and the last among them."""
    steps = (
        [history[i] for i in np.unique(np.linspace(0, len(history) - 1, HISTORY_STEPS).astype(int))] if history else []
    )
    numbers = sum(value.size for step in steps for value in step.values() if isinstance(value, np.ndarray))
    if numbers <= HISTORY_NUMBERS:
        return steps
    return [{k: v for k, v in step.items() if not isinstance(v, np.ndarray)} for step in steps]


# -- loading -----------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike, *, matrices: Mapping[str, Any] | None = None, memory: str | int | None = None) -> Any:
    """Read a model file; nothing in it is ever run.

    Parameters
    ----------
    path : path of the file
    matrices : dict of str to array, optional
        For kernels that were given as matrices, `Precomputed(name=...)`: the matrices, as on fitting, or with rows for
        new samples below. A file does not keep them.
    memory : str, int or None
        Most memory that the model may take, such as "2GB". By default a hundred times the size of the file and 134 MB,
        but not more than half of what is free: a small file cannot unpack to a large model unasked.

    Returns
    -------
    model : MKLClassifier, MKLRegressor or MKLOneClass
        Fitted; its predictions are those of the model that was saved, to the last bit.

    Raises
    ------
    ModelFormatError
        Where the file is not a model file, is damaged, or was written by a newer version.
    InputError
        Where a matrix is missing, or is not the one that the model was fitted on.
    """
    try:
        with open(path, "rb") as file:
            budget = arrays_budget(os.fstat(file.fileno()).st_size) if memory is None else budget_bytes(memory)
            manifest, arrays = read_archive(file, budget)
        return StoredModel(manifest, arrays, budget).model(dict(matrices or {}))
    except (ModelFormatError, RecursionError) as error:
        why = str(error) if isinstance(error, ModelFormatError) else "is damaged: it is nested too deeply."
        raise ModelFormatError(f"{os.fspath(path)!r} {why}") from None


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """Return what a model file says of itself, `model.json` without the list of arrays; no data are read."""
    try:
        with open(path, "rb") as file:
            return read_archive(file, None, only_manifest=True)[0]
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(path)!r} {error}") from None
