"""From the content of a model file to a fitted estimator: every part is checked against the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import signature
from types import NoneType
from typing import Any

import numpy as np

from .. import dual, losses, mkl, norms
from ..errors import InputError
from ..estimators import ESTIMATORS
from ..estimators.base import BaseMKL
from ..estimators.chosen import kernel_of
from ..estimators.trained import MOST, Trained
from ..kernels import RBF, Identity, Kernel, parse
from ..kernels.values import same_value
from ..mkl.widths import Widths
from ..views import Views
from .kept import NotKept
from .landmarks import kept_landmarks, terms_at
from .plain import MAX_CHARACTERS, characters, damaged, decode, fields, grows
from .references import check_references, kept_references, terms_expecting
from .support import Unpacker
from .word_counts import kept_counts, terms_counting

#: What is kept of the training, each as the attribute of that name with an underscore.
TRAINING: dict[str, type] = {"objective": float, "lower_bound": float, "gap": float, "converged": bool}
TRAINING |= {"stop_reason": str, "n_iter": int, "n_solves": int, "solver": str, "notes": list, "history": list}
#: Fitted attributes that have a place of their own; all others go under "attributes".
PLACED = {"support_", "dual_coef_", "intercept_", "weights_", "scales_", "term_names_", "kernel_", "classes_"}
PLACED |= {"base_kernel_", "n_features_in_", "trained_", "feature_names_in_", *(f"{name}_" for name in TRAINING)}
ATTRIBUTE = re.compile(r"[A-Za-z](\w*[A-Za-z0-9])?_", re.ASCII)


def made_kinds() -> dict[str, type]:
    """Return the classes that parameters and fitted attributes may be of, by name: those of the registries now."""
    registries = (losses.LOSSES, norms.NORMS, mkl.SOLVERS, dual.DUAL_SOLVERS)
    return {kind.__name__: kind for kinds in (*registries, (mkl.ActiveTerms, mkl.Plain, Widths)) for kind in kinds}


@dataclass
class StoredModel:
    """What a file holds, to be made into a model again."""

    manifest: dict[str, Any]
    arrays: dict[str, np.ndarray]
    memory: int

    def model(self, matrices: dict[str, Any]) -> BaseMKL:
        """Return the fitted estimator, every part of it checked against the others."""
        keys: dict[str, Any] = {"library_version": str, "estimator": str, "kernel": (str, NoneType)}
        keys |= {"parameters": dict, "n_features_in": int, "feature_names_in": (list, NoneType)}
        keys |= {"classes": (dict, NoneType), "n_support": int, "terms": list, "weights": list, "scales": list}
        keys |= {"matrices": dict, "data": dict, "attributes": dict, "training": dict}
        trained = self.manifest.pop("trained", None)  # which files of the first version do not have
        base = self.manifest.pop("base_kernel", None)  # of kernels that learned more than weights
        landmarks = self.manifest.pop("landmarks", [])  # of models with LowRank
        references = self.manifest.pop("references", [])  # of models that expect something of missing views
        words = self.manifest.pop("words", [])  # of models in which rare words count more
        fields(self.manifest, "model.json", **keys)
        if characters(self.manifest) > MAX_CHARACTERS:
            raise damaged("its arrays of strings are too large")
        model = self._estimator(matrices)
        model.base_kernel_ = self._base(model, base, matrices)
        n_machines = self._classes(model)
        unpacker = Unpacker(self.arrays, self._count("n_support"), self.memory, model.base_kernel_.takes_gaps)
        machines = self._machines(unpacker, n_machines)
        model.trained_ = self._trained(trained, unpacker)
        support = unpacker.unpack(self.manifest["data"])
        kept, expected = kept_landmarks(landmarks, unpacker), kept_references(references, unpacker)
        counted = kept_counts(words, unpacker)
        if unpacker.arrays:
            raise damaged(f"nothing uses its array {sorted(unpacker.arrays)[0]!r}")
        self._columns(model, support)
        terms, scales, weights = self._terms(model, support, matrices, n_machines)
        used = np.flatnonzero(weights.any(axis=0)) if len(support) else ()
        terms = terms_expecting(terms_counting(terms, used, counted), used, expected)
        terms = terms_at(terms, used, kept, self.memory)
        check_references(terms, used)
        model.restore(terms, scales, weights, support, *machines)
        self._training(model)
        self._check_matrices(model, matrices)
        return model

    def _count(self, name: str) -> int:
        if self.manifest[name] < 0:
            raise damaged(f"{name} is {self.manifest[name]}")
        return int(self.manifest[name])

    def _kernel(self, text: Any, matrices: dict[str, Any]) -> Kernel:
        try:
            return parse(text, matrices)
        except (InputError, ValueError, TypeError) as error:
            raise damaged(f"its kernel cannot be read: {str(error).rstrip('.')}") from None

    def _base(self, model: BaseMKL, text: Any, matrices: dict[str, Any]) -> Kernel:
        """Return the kernel with what it learned; None as a kernel was RBF() up to the second version."""
        if text is not None:
            fields({"base_kernel": text}, "model.json", base_kernel=str)
            return self._kernel(text, matrices)
        return RBF() if model.kernel is None else kernel_of(model.kernel)

    def _estimator(self, matrices: dict[str, Any]) -> BaseMKL:
        name, text = self.manifest["estimator"], self.manifest["kernel"]
        kind = {kind.__name__: kind for kind in ESTIMATORS}.get(name)
        if kind is None:
            raise damaged(f"there is no estimator {name[:40]!r}")
        known = signature(kind).parameters
        given = {key: decode(value, made_kinds()) for key, value in self.manifest["parameters"].items()}
        for key in given:
            if key not in known or key == "kernel":
                raise damaged(f"{name} has no parameter {key[:40]!r}")
        weights = given.get("weights", "shared")
        shared = isinstance(weights, str) and weights in ("shared", "per_class", "per_target")
        jobs = given.get("n_jobs")
        threads = jobs is None or (isinstance(jobs, int) and not isinstance(jobs, bool))
        if not shared or not threads or not isinstance(given.get("learn_C", False), bool):
            raise damaged("its parameters 'weights', 'learn_C' and 'n_jobs' are not what they may be")
        return kind(kernel=None if text is None else self._kernel(text, matrices), **given)

    def _classes(self, model: BaseMKL) -> int:
        """Set the classes, and return how many machines they take."""
        classes = decode(self.manifest["classes"], made_kinds())
        if (classes is not None) != hasattr(model, "class_weight"):
            raise damaged("a classifier has classes, and nothing else has")
        several = self.manifest["attributes"].get("n_outputs_" if classes is None else "multilabel_", False)
        if not isinstance(several, int) or several < 0 or (several and hasattr(model, "nu")):
            raise damaged("it does not say how many targets it has")
        if classes is None:
            if several > 1:
                model.n_outputs_ = several
            return max(1, several)
        labels = classes.tolist() if isinstance(classes, np.ndarray) and classes.ndim == 1 else []
        plain = all(isinstance(label, (str, int, float)) for label in labels)
        if len(labels) < 2 or not plain or len(set(labels)) < len(labels):
            raise damaged("its classes are not at least two labels that differ")
        model.classes_, model.multilabel_ = classes, bool(several)
        return 1 if len(labels) == 2 and not several else len(labels)

    def _machines(self, arrays: Unpacker, n_machines: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows of the support samples, coefficients and intercepts."""
        support = arrays.take("support.npy", "u", arrays.n).astype(np.int64)
        if (support < 0).any() or not grows(support, strictly=True):
            raise damaged("the numbers of its support samples do not grow")
        coef = arrays.take("dual_coef.npy", "f", n_machines, arrays.n)
        intercepts = arrays.take("intercept.npy", "f", n_machines)
        for name, array in (("dual_coef.npy", coef), ("intercept.npy", intercepts)):
            if array.dtype != np.float64:  # what solvers make; compiled code and sums count on it
                raise damaged(f"{name} has the type {array.dtype}; coefficients are float64")
        return support, coef, intercepts

    def _trained(self, node: Any, arrays: Unpacker) -> Trained | None:
        """Return what the file says of the training samples, all of them."""
        if node is None:
            return None
        keys: dict[str, Any] = {"n_samples": int, "n_distinct": int, "target": (str, NoneType)}
        n, distinct, target = fields(node, "what it was trained on", **keys)
        hashes = arrays.take("trained.npy", "u", None) if "trained.npy" in arrays.arrays else None
        if not arrays.n <= n or not 1 <= distinct <= n:
            raise damaged(f"it was not trained on {n} samples, {distinct} of them distinct")
        if hashes is not None and (hashes.dtype != np.uint64 or len(hashes) != min(distinct, MOST)):
            raise damaged("its hashes are not those of its training samples")
        if hashes is not None and not (hashes[1:] > hashes[:-1]).all():
            raise damaged("the hashes of its training samples do not grow")
        return Trained(n, distinct, hashes, target)

    def _columns(self, model: BaseMKL, support: Views) -> None:
        names, n = self.manifest["feature_names_in"], self._count("n_features_in")
        try:
            n_labels = len(support.labels)
        except NotKept:
            n_labels = n
        if n_labels != n or (names is not None and (len(names) != n or not all(isinstance(c, str) for c in names))):
            raise damaged(f"it has {n} features, but data or names of another number")
        model.n_features_in_ = n
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)

    def _terms(
        self, model: BaseMKL, support: Views, matrices: dict[str, Any], n_machines: int
    ) -> tuple[tuple[Kernel, ...], np.ndarray, np.ndarray]:
        """Return terms, scales and weights, a row for every set of them."""
        texts, terms = self.manifest["terms"], self._terms_of(model, support, matrices)
        if not texts or not self._same_terms(terms, texts, matrices):
            raise damaged("its terms are not those of its kernel")
        apart = n_machines > 1 and getattr(model, "weights", "shared") != "shared"
        weights = self._numbers("weights", (n_machines, len(terms)) if apart else (len(terms),))
        scales = self._numbers("scales", (len(terms),))
        if (weights < 0).any() or (scales <= 0).any():
            raise damaged("a weight is below 0, or a scale is not above it")
        with np.errstate(over="ignore"):
            if np.isinf(weights / scales).any():
                raise damaged("a weight is too large for its scale")
        return terms, scales, np.atleast_2d(weights)

    def _same_terms(self, terms: tuple[Kernel, ...], texts: list[Any], matrices: dict[str, Any]) -> bool:
        """Whether texts stand for these terms; an older version may have left out what is the default."""
        return len(terms) == len(texts) and all(
            text == repr(term) or (isinstance(text, str) and repr(self._kernel(text, matrices)) == repr(term))
            for term, text in zip(terms, texts, strict=True)
        )

    def _terms_of(self, model: BaseMKL, support: Views, matrices: dict[str, Any]) -> tuple[Kernel, ...]:
        widths = "widths_" in self.manifest["attributes"] and self.manifest["attributes"]["widths_"] is not None
        if not widths:
            try:
                terms = model.base_kernel_.terms(support)
                return (*terms, Identity()) if getattr(model, "learn_C", False) else terms
            except NotKept:  # the number of terms depends on data that none of those in use reads
                pass
            except InputError as error:
                raise damaged(f"its kernel does not fit its data: {str(error).rstrip('.')}") from None
        return tuple(self._kernel(text, matrices) for text in self.manifest["terms"])

    def _numbers(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        values = decode({"array": "float64", "values": self.manifest[name]}, made_kinds())
        if values.shape != shape or not np.isfinite(values).all():
            raise damaged(f"{name} are not {' × '.join(map(str, shape))} finite numbers")
        return values

    def _training(self, model: BaseMKL) -> None:
        values = {key: decode(value, made_kinds()) for key, value in self.manifest["training"].items()}
        fields(values, "the training", **TRAINING)
        for key, value in values.items():
            setattr(model, f"{key}_", value)
        for key, node in self.manifest["attributes"].items():
            if not ATTRIBUTE.fullmatch(key) or key in PLACED or hasattr(type(model), key):
                raise damaged(f"{key[:40]!r} is not an attribute of a model")
            setattr(model, key, decode(node, made_kinds()))
        if hasattr(model, "nu") and not same_value(getattr(model, "offset_", None), -model.intercept_[0]):
            raise damaged("its offset is not that of its machine")

    def _check_matrices(self, model: BaseMKL, matrices: dict[str, Any]) -> None:
        """Raise where a matrix that prediction needs is missing, or is another than the model was fitted on."""
        needed = self.manifest["matrices"]
        known = {name for leaf in model.base_kernel_.leaves() for name in leaf.matrices}
        for name in matrices:
            if name not in known:
                has = f"it has {', '.join(sorted(map(repr, known)))}" if known else "it has none"
                raise InputError(f"The model has no matrix {name!r}: {has}.")
        for name, probe in needed.items():
            columns, ids, values = fields(probe, f"the matrix {name[:40]!r}", columns=int, ids=list, values=list)
            if name not in matrices:
                raise InputError(
                    f"The model compares samples by the matrix {name!r}, which its file does not keep: pass it as "
                    f"load(path, matrices={{{name!r}: K}}), its {columns} columns being the samples that were there on "
                    "fitting, and rows for new samples below those of these."
                )
            K = np.asarray(matrices[name])
            rows = decode({"array": "int64", "values": ids}, made_kinds())
            wanted = decode({"array": "float64", "values": values}, made_kinds())
            if rows.ndim != 1 or wanted.shape != rows.shape or not len(rows) or not (rows >= 0).all():
                raise damaged(f"what it says of the matrix {name[:40]!r} is not one number for every sample")
            fits = K.ndim == 2 and K.shape[1] == columns and len(K) >= columns and rows.max() < columns
            if not fits or not np.allclose(K[rows[0], rows], wanted, rtol=1e-5, atol=1e-8):
                raise InputError(
                    f"The matrix {name!r}, of shape {K.shape}, is not the one that the model was fitted on: that had "
                    f"{columns} columns, or other similarities of the support samples."
                )
