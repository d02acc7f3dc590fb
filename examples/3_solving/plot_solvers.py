"""
Five ways to the same weights
=============================

With ``norm=1`` the best weights are unique in all that matters, and five solvers find them. They differ in how many
machines they have to solve on the way, and in how they approach the end. Chapelle and Rakotomamonjy, *Second order
optimization of kernel parameters* (2008), compared two of them by their gap and by the paths of their weights; here
are all five, on generated data.
"""

# %%
# The problem
# -----------
# Gaussian kernels of ten widths and polynomials of degree 1 to 3, on all eight variables and on each of them alone:
# 117 terms. Terms are scaled to a re-centred trace of one, as in the paper.
import matplotlib.pyplot as plt
import numpy as np

from kernelweave import RBF, MKLClassifier, Polynomial, per_feature
from kernelweave.mkl import Hessian

rng = np.random.default_rng(0)
n = 120
X = rng.standard_normal((n, 8))
risk = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] + X[:, 3] * X[:, 4]
y = risk + 0.3 * rng.standard_normal(n) > np.median(risk)
widths = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
basis = [RBF(gamma) for gamma in widths] + [Polynomial(degree) for degree in (1, 2, 3)]
kernel = sum(basis) + sum(per_feature(one) for one in basis)

solvers = {
    "silp": "silp",
    "silp_chunking": "silp_chunking",
    "simple": "simple",
    "hessian": "hessian",
    "mixed": Hessian(simple_first=True),
}
models = {
    name: MKLClassifier(kernel, C=n, scaling="trace", solver=solver, tol=1e-3, max_iter=5000).fit(X, y)
    for name, solver in solvers.items()
}
print("solver         objective  gap      terms  steps  machines solved")
for name, model in models.items():
    kept = np.sum(model.weights_ > 1e-6)
    print(f"{name:<14} {model.objective_:<10.6g} {model.gap_:.1e}  {kept:<5}  {model.n_iter_:<5}  {model.n_solves_}")

# %%
# The gap on the way
# ------------------
# The relative duality gap bounds how much could still be gained; it can exceed 100 % as long as the lower bound is
# below zero. Newton's method needs a handful of steps and ends steeply. Cutting planes close in steadily. The reduced
# gradient goes from border to border, one weight reaching zero after another, and each of its steps takes several
# machines. "mixed" is Newton's method after one step of the reduced gradient.
styles = {
    "silp": ("#88ccee", "-"),
    "silp_chunking": ("#117733", "--"),
    "simple": ("#cc6677", "-"),
    "hessian": ("#332288", "-"),
    "mixed": ("#ddaa33", "--"),
}
fig, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained", sharey=True)
for name, model in models.items():
    colour, line = styles[name]
    gaps = [100 * entry["gap"] for entry in model.history_]
    for ax, unit in zip(axes, ("n_solves", "seconds"), strict=True):
        ax.step([entry[unit] for entry in model.history_], gaps, where="post", color=colour, ls=line, label=name)
        ax.plot(model.history_[-1][unit], gaps[-1], "o", color=colour)
for ax, label in zip(axes, ("machines solved", "time (s)"), strict=True):
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(label)
    ax.axhline(0.1, color="0.6", lw=0.8, ls=":")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("relative duality gap (%)")
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside lower center", ncols=5, frameon=False)

# %%
# Dots mark the end of every run, at or below the dotted line of ``tol=1e-3``. Machines solved by ``"silp_chunking"``
# are single steps of the dual solver, not whole solutions. Seconds depend on the computer and on what else it does:
# the counts are what to compare.

# %%
# The weights on the way
# ----------------------
# Every line is the weight of one term. On the left some weights are still moving when the gap meets ``tol``: where
# kernels can stand in for each other, the objective hardly changes along the way. For weights that are to be read,
# ask for a smaller gap.
kept = np.argsort(-models["hessian"].weights_)[:9]
colours = plt.colormaps["viridis"](np.linspace(0.0, 0.95, len(kept)))
fig, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained", sharey=True)
titles = {"simple": "SimpleMKL: the reduced gradient", "hessian": "HessianMKL: Newton's method"}
for ax, (name, title) in zip(axes, titles.items(), strict=True):
    path = np.array([entry["weights"] for entry in models[name].history_])
    steps = np.arange(1, len(path) + 1)
    others = np.setdiff1d(np.flatnonzero(path.max(axis=0) > 0.01), kept)
    for m in others:
        ax.plot(steps, path[:, m], color="0.8", lw=0.8)
    for m, colour in zip(kept, colours, strict=True):
        ax.plot(steps, path[:, m], color=colour, label=models[name].term_names_[m])
    ax.set_title(title)
    ax.set_xlabel("step of the solver")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("weight (share of 1)")
axes[0].set_xscale("log")
axes[0].set_xlabel("step of the solver (logarithmic)")
axes[1].xaxis.get_major_locator().set_params(integer=True)
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside lower center", ncols=3, frameon=False, fontsize="small")

# %%
# In grey: terms that had a weight on the way and lost it.
plt.show()
