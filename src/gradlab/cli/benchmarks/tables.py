"""`gradlab bench tables`: a table by default beside scikit-learn's methods."""

from collections.abc import Sequence

from rich.console import Console

from gradlab.bench.tables.scores import TABLES, Scored, bench_tables
from gradlab.cli.benchmarks.output import OUTPUT, Output, progress
from gradlab.cli.output import table


def tables(*names: str, folds: int = 5, output: Output = OUTPUT) -> None:
    """A table by default (`gradlab train csv`) beside scikit-learn's network, linear model and boosted trees.

    All have the same folds; AUC of two classes, accuracy of several, R² of numbers. The tables are those that
    scikit-learn brings, and three invented ones of 15,000 rows with money, percent, dates and many categories.

    Example: `gradlab bench tables wine churn --folds 3`

    Parameters
    ----------
    names
        Which: iris, wine, breast-cancer, diabetes, churn, sales, faults; default all.
    folds
        Of the cross-validation.
    """
    output.show(bench_tables(names or TABLES, folds, progress), show_tables)


def show_tables(screen: Console, results: Sequence[Scored]) -> None:
    for name in dict.fromkeys(result.table for result in results):
        scored = [result for result in results if result.table == name]
        rows = ([r.method, f"{r.score:.4f}", f"{r.standard_error:.4f}", f"{r.seconds:.2f}"] for r in scored)
        columns = ("", scored[0].metric, "standard error", "seconds of a fit")
        screen.print(table(*columns, rows=rows, title=f"{name}, {scored[0].rows:,} rows"))
