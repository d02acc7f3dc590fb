"""
A table with columns of many kinds
==================================

Numbers with gaps, categories, free text: the table of a small clinic. We train on it as it is, find out which
columns are worth having, and see how far the result can be trusted. Change a cell and run the rest again.
"""

# %%
# The table
# ---------
# Everything is made here, so the truth is known: age matters in a wave, the dose on a line and only with drug "a", and
# one word in the notes. The ward is noise.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 400
table = pd.DataFrame(
    {
        "age": rng.uniform(20, 80, n),
        "dose": rng.gamma(2.0, 50.0, n),
        "drug": rng.choice(["a", "b"], n),
        "ward": rng.choice(["north", "south", "west"], n),
    }
)
worried = rng.random(n) < 0.3
table["notes"] = np.where(worried, "complains about dizziness since monday", "no complaints, slept well on monday")
pain = (
    2.0 * np.sin(table["age"] / 8)
    + np.where(table["drug"] == "a", -table["dose"] / 60, 0.0)
    + 1.5 * worried
    + 0.3 * rng.normal(size=n)
)
table.loc[rng.random(n) < 0.1, "dose"] = np.nan  # one dose in ten was not written down
table.head()

# %%
# Nothing to choose
# -----------------
# Without a kernel, one is chosen by the look of the columns, and ``notes_`` tells which and why.
from kernelweave import MKLRegressor

train, test = slice(0, 300), slice(300, None)
model = MKLRegressor().fit(table[train], pain[train])
print(f"R2 on new patients: {model.score(table[test], pain[test]):.2f}")
print(f"certificate: gap {model.gap_:.1e}, {model.stop_reason_}")

# %%
# Say what you know
# -----------------
# One term for each idea. A product says that one column means another thing for each value of the other.
from kernelweave import RBF, BagOfWords, Categorical, KernelWeightsDisplay, Linear

ideas = {
    "a wave in age": RBF(5.0).standardized().on("age"),
    "the dose": Linear().standardized(missing="centre").on("dose"),
    "the dose, drug by drug": Categorical().on("drug") * Linear().standardized(missing="centre").on("dose"),
    "words of the notes": BagOfWords().normalized().on("notes"),
    "the ward": Categorical().on("ward"),
}
model = MKLRegressor(sum(ideas.values()), C="auto").fit(table[train], pain[train])
print(f"R2 on new patients: {model.score(table[test], pain[test]):.2f}")
display = KernelWeightsDisplay.from_weights(model.weights_, list(ideas))
plt.show()

# %%
# Which columns could be left out?
# --------------------------------
# The honest way to ask is to leave them out, one after another.
for name in ideas:
    rest = sum(kernel for other, kernel in ideas.items() if other != name)
    without = MKLRegressor(rest, C=model.C_).fit(table[train], pain[train])
    print(f"without {name:<23} R2 {without.score(table[test], pain[test]):.2f}")

# %%
# Are the weights more than luck?
# -------------------------------
# Refits on bootstrap samples give intervals, and refits with permuted targets what chance brings.
from kernelweave import StabilityDisplay
from kernelweave.explain import stability

model = MKLRegressor(sum(ideas.values()), C=model.C_)
found = stability(model, table[train], pain[train], n_bootstrap=20, n_permutations=20, random_state=0)
print(dict(zip(ideas, found.significant.tolist(), strict=True)))
StabilityDisplay.from_stability(found)
plt.show()
