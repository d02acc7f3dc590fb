"""Write docs/explanation/certificate.html, the picture of the certificate: python docs/make_certificate.py.

A real problem with two terms is solved at 81 weights. Each machine gives a point of the objective and the line below
it that its coefficients prove; the page lets readers choose where to solve.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kernelweave import RBF, Fixed, Linear, MKLClassifier

HERE = Path(__file__).resolve().parent
N_WEIGHTS = 81
#: One kernel for each of two columns, both of which are needed.
TERMS = (Linear().on(0), RBF(1.0).on(1))


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Return samples that a line tells apart in part, and a wave in part."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    return X, 1.5 * X[:, 0] + np.sin(2.5 * X[:, 1]) + 0.3 * rng.normal(size=80) > 0


def lines() -> list[tuple[float, float, float]]:
    """Return (weight of the first term, objective, slope of the proven line) at every weight."""
    X, y = problem()
    found = []
    for share in np.linspace(0.01, 0.99, N_WEIGHTS):
        model = MKLClassifier(TERMS[0] + TERMS[1], C=1.0, norm=Fixed([share, 1 - share]), tol=1e-10).fit(X, y)
        record = model.fitted_
        coef, support = record.coef[0], X[record.rows]
        quad = [coef @ term(support) @ coef / scale for term, scale in zip(TERMS, record.scales, strict=True)]
        found.append((float(share), float(model.objective_), 0.5 * float(quad[1] - quad[0])))
    return found


def page() -> str:
    """Return the picture as a piece of HTML: no file and no address is asked for."""
    data = [[round(value, 5) for value in line] for line in lines()]
    template = (HERE / "certificate_template.html").read_text(encoding="utf-8")
    return template.replace("[/*data*/]", json.dumps(data, separators=(",", ":")))


if __name__ == "__main__":
    (HERE / "explanation" / "certificate.html").write_text(page(), encoding="utf-8")
