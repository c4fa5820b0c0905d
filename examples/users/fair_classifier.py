"""An operations researcher's first hour: a fair 0-1 SVM from a CSV with words and holes, as files, with bounds and gaps.

python examples/users/fair_classifier.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import marginopt as mo


def write_applicants(path: Path, n: int = 120) -> None:
    """Write a random table of applicants: a binary column, a heavy-tailed one, words, missing values, a label that is a word."""
    rng = np.random.default_rng(1)
    gender, region = rng.integers(0, 2, n), rng.choice(["north", "south"], n)
    income, age = 30.0 + 8.0 * rng.standard_t(3, n), rng.integers(19, 70, n)
    score = 0.05 * (income - 30.0) + 0.6 * gender - 0.3 + 0.4 * rng.normal(size=n)
    lines = ["income,age,gender,region,granted"]
    for i in range(n):
        cell = "" if i % 17 == 0 else f"{income[i]:.2f}"
        lines.append(f"{cell},{age[i]},{gender[i]},{region[i]},{'yes' if score[i] > 0.0 else 'no'}")
    path.write_text("\n".join(lines) + "\n")


def main(folder: Path) -> dict[str, float]:
    """Run the whole task and return what the test asserts."""
    write_applicants(folder / "applicants.csv")
    data = mo.read(folder / "applicants.csv", label="granted", missing="median", categories="indicators", leave_out=["age"])
    data = data.prepared()
    print(data)

    # at most five points between the groups' shares of "yes", and no more than 40% of the "yes" below the margin
    rules = [mo.parity("gender", 0.05, by="counts"), mo.error_budget("yes", 0.4)]
    train = data.subsample(60, 0)
    fair = mo.Margin(train, loss="zero-one", regulariser="half-l2", sample_weight=1.0, subject_to=rules, upper_bound=60.0)
    print(fair)
    for suffix in ("lp", "mps"):
        fair.write(folder / f"fair.{suffix}")
    (folder / "fair.tex").write_text(fair.latex(standalone=True))
    again = mo.read(folder / "fair.mps")
    assert again.names()[: len(data.feature_names)] == [f"w[{name}]" for name in data.feature_names]

    result = mo.solve(fair, time_limit=60)
    print(result)
    print(fair.explain(result))
    positive = fair.predict(result.values, train.X) == "yes"
    group = train.X[:, data.feature_names.index("gender")]
    shares = [float(positive[group == value].mean()) for value in np.unique(group)]
    print("shares of yes by gender:", shares)

    # the conic bound of the same problem with the linear row, and gaps over sub-samples
    conic = mo.Margin(
        train, loss="strongest-conic", regulariser="half-l2", sample_weight=1.0, subject_to=mo.parity("gender", 0.05)
    )
    bound = mo.solve(conic)
    print(bound)
    report = mo.gap_report(data.subsamples(14, seeds=range(10)), ["big-m", "conic"], progress=False, time_limit=20)
    print(report)
    # means leave out the samples on which the intercept alone is best
    rows = [row for row in report.rows if row.instance.key not in report.trivial]
    gaps = {
        name: float(np.mean([row.gap.high for row in rows if name in row.relaxation.relaxation])) for name in ("big-M", "conic")
    }
    page = report.markdown()
    return {
        "status": float(result.status is mo.Status.OPTIMAL), "difference": abs(shares[0] - shares[-1]), "conic": bound.gap,
        "problems": float(len(report.instances)), "counted": float(len(rows)) / 2.0, "big-m gap": gaps["big-M"],
        "conic gap": gaps["conic"], "printed": float(all(f" {gap:.2%} " in page for gap in gaps.values())),
    }  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
