"""What the papers report, as data: numbers only, by label of a line and name of a column."""

from __future__ import annotations

from .frame import Cells, shown


def _table(columns: str, lines: str) -> Cells:
    """Return cells of a table in plain text: names of columns, then a label and values in every line; - is nothing."""
    names, cells = columns.split(), {}
    for line in lines.strip().splitlines():
        label, *values = line.split()
        pairs = zip(names, values, strict=True)
        cells[f"{int(label):,}"] = {name: float(value) for name, value in pairs if value != "-"}
    return cells


#: Seconds, eight 2.4 GHz Opterons; human acceptor sites.
TABLE_42 = _table(
    "WDPre WD1 WD4 WD8 LinWD1 LinWD4 LinWD8",
    """
    500 1 1 1 1 1 1 1
    1000 2 1 1 1 3 1 1
    5000 29 7 5 5 16 4 5
    10000 109 19 13 12 35 10 11
    30000 934 110 52 45 136 33 27
    50000 - 448 170 125 254 61 45
    100000 - 1233 472 386 309 101 84
    200000 - 4460 1543 1284 779 220 166
    500000 - 22229 8664 6998 2978 898 611
    1000000 - - - - 7189 2366 1474
    2000000 - - - - - - 4274
    5000000 - - - - - - 18547
    10000000 - - - - - - 97484
    """,
)
TABLE_43 = _table(
    "SpecPre Spec LinSpec1 LinSpec4 LinSpec8",
    """
    500 1 1 1 1 1
    1000 2 2 1 1 1
    5000 27 38 4 2 3
    10000 104 117 4 5 4
    30000 915 715 33 17 13
    50000 - 1207 38 25 26
    100000 - 3982 127 64 84
    200000 - 14200 419 254 283
    500000 - 181241 3027 1719 1611
    1000000 - - 27350 14581 12991
    """,
)
#: Of nine sizes, the last two can be told from the text; the others are "web pages 1" and so on.
TABLE_44 = {
    f"web pages, {size}": dict(zip(("Spec", "LinSpec", "accuracy", "auROC"), values, strict=True))
    for size, *values in (
        ("size 1", 2, 3, 89.59, 94.37),
        ("size 2", 97, 255, 92.12, 97.82),
        ("size 3", 201, 840, 93.50, 98.41),
        ("size 4", 1977, 4030, 96.36, 99.11),
        ("size 5", 6039, 9128, 97.03, 99.32),
        ("size 6", 19063, 11948, 97.46, 99.43),
        ("size 7", 94012, 44706, 97.83, 99.59),
        ("70,000", 193327, 83802, 97.98, 99.61),
        ("100,000", None, 107661, 98.18, 99.64),
    )
}
TABLE_45 = _table(
    "auROC auPRC",
    """
    500 75.55 3.94
    1000 79.86 6.22
    5000 90.49 15.07
    10000 92.83 25.25
    30000 94.77 34.76
    50000 95.52 41.06
    100000 96.14 47.61
    200000 96.57 53.04
    500000 96.93 59.09
    1000000 97.19 63.51
    2000000 97.36 67.04
    5000000 97.54 70.47
    10000000 97.67 72.46
    """,
)
#: The Markov chain of order 4, on ten million.
MARKOV = {"auROC": 96.03, "auPRC": 44.64}
SUBPROBLEMS = (12, 32, 42, 52, 72, 92, 112, 132, 152)
TABLE_46 = _table(
    " ".join(f"Q={Q}" for Q in SUBPROBLEMS),
    """
    500 2 1 1 2 2 1 2 2 2
    1000 4 3 3 3 3 3 3 3 3
    5000 22 16 16 15 15 15 16 16 17
    10000 51 35 35 36 39 42 43 43 43
    30000 204 138 136 139 148 156 165 175 132
    50000 397 264 254 266 272 290 303 315 327
    100000 449 317 309 368 344 374 387 721 752
    200000 1107 771 779 848 796 867 1573 940 1670
    500000 4691 2754 2978 2714 2910 3063 4369 3995 3457
    1000000 14429 8211 7189 8462 8524 9857 9574 8727 9077
    """,
)
TABLE_47 = _table(
    "PreMKL MKL LinMKL1 LinMKL4 LinMKL8",
    """
    500 22 22 11 10 80
    1000 56 64 139 116 116
    5000 518 393 223 124 108
    10000 2786 1181 474 209 172
    30000 - 25227 1853 648 462
    50000 - 204492 3849 1292 857
    100000 - - 10745 3456 2145
    200000 - - 34933 10677 6540
    500000 - - 185886 56614 33625
    1000000 - - - 214021 124691
    """,
)
#: Per cent, by random letters of seven.
FIGURE_48 = {
    "0 of 7": {"auROC": 100.0},
    "2 of 7": {"auROC": 100.0},
    "4 of 7": {"auROC": 99.8},
    "5 of 7": {"auROC": 85.0},
}
FIGURE_49 = {"4 of 7": {"auROC, mean": 99.6}, "5 of 7": {"auROC, mean": 83.0}}
FIGURE_410 = {"without shift": {"auROC": 92.8}, "shift 15": {"auROC": 96.6, "AAA from": 49, "AAA to": 64}}
FIGURE_411 = {"100,000": {"auROC": 99.7, "site between": "60 and 61", "heaviest 5- and 6-mers at": "57, 58"}}
#: RMSE ± standard deviation over thirty hold-outs.
TABLE_1 = {
    name: dict(zip(("KRR", "SimpleMKL", "SPG-GMKL", "TSMKL"), values, strict=True))
    for name, *values in (
        ("airfoil", "4.22529 ± 0.17282", "3.83287 ± 0.20978", "3.40593 ± 0.32411", "3.13291 ± 0.29307"),
        ("communities", "5.82782 ± 0.33076", "5.79657 ± 0.29028", "5.86840 ± 0.29237", "5.00437 ± 0.31056"),
        ("slump", "7.53245 ± 0.51391", "6.48337 ± 0.45852", "6.09983 ± 0.52536", "5.46865 ± 0.38802"),
        ("cooling", "1.85125 ± 0.12772", "1.33792 ± 0.10755", "1.23957 ± 0.10164", "1.15763 ± 0.10176"),
        ("heating", "2.68947 ± 0.18045", "2.40471 ± 0.21294", "1.40673 ± 0.03337", "1.04312 ± 0.14548"),
    )
}


def sizes(*numbers: int) -> list[str]:
    """Return labels of lines for numbers of samples."""
    return [shown(number) for number in numbers]
