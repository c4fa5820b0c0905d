"""The 0-1 benchmark: rows are kept and not run again, files are read together, means are held against the printed ones."""

import pytest


def test_an_interrupted_table_goes_on(run_benchmark, tmp_path):
    words = ("clusters", "--n", "24", "--p", "2", "--sigma", ".5", "--lam", "3", "--outliers", "none", "--out", "rows.csv")
    run_benchmark("zero_one.py", *words, "--seeds", "2")
    before = (tmp_path / "rows.csv").read_text()
    assert len(before.splitlines()) == 3
    run_benchmark("zero_one.py", *words, "--seeds", "3")
    after = (tmp_path / "rows.csv").read_text()
    assert after.startswith(before) and len(after.splitlines()) == 4
    assert "zero-one-bb" in run_benchmark("zero_one.py", "summary", "rows.csv")


HEADER = "n,d,C,set,threads,limit,tol,seconds,upper,lower,gap,nodes,engine\n"
PUBLISHED = (
    "set,n,d,C,bigM_proven_of_5,bigM_mean_upper,bigM_mean_gap_pct,benders_proven_of_5,benders_mean_upper,benders_mean_gap_pct\n"
    "A,60,2,1,5,15.42,0,5,15.42,0\nA,60,2,10,5,99.5,0,4,99.5,0\nA,60,2,100,4,800,1,4,800.1,1\n"
)


def test_files_are_read_together_and_held_against_the_published_means(run_benchmark, tmp_path):
    means = {1: 15.4196, 10: 99.61, 100: 799.0}
    for part, sets in (("a.csv", (0, 1)), ("b.csv", (2, 3, 4))):
        rows = [f"60,2,{C},{i},1,60,1e-06,0.5,{mean},{mean},0,10,boxes\n" for C, mean in means.items() for i in sets]
        (tmp_path / part).write_text(HEADER + "".join(rows))
    (tmp_path / "published.csv").write_text(PUBLISHED)
    lines = run_benchmark("zero_one.py", "summary", "a.csv", "b.csv", "--published", "published.csv").splitlines()
    by_cost = {line.split()[2]: line for line in lines if line.strip().startswith("60")}
    assert by_cost["1"].endswith("yes") and by_cost["10"].endswith("NO") and not by_cost["100"].endswith(("yes", "NO"))
    assert "proven: ours 15 of 15, published 13" in lines
    assert lines[-1].endswith("1 of 2")
    assert "not all sets" in run_benchmark("zero_one.py", "summary", "a.csv", "--published", "published.csv")


def test_tables_are_not_mixed(run_benchmark, tmp_path):
    (tmp_path / "a.csv").write_text(HEADER)
    with pytest.raises(SystemExit):
        run_benchmark("zero_one.py", "targets", "--only", "200x3", "--seeds", "0", "--out", "a.csv")
