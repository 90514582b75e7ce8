"""What each column of one's own table was taken for."""

from typing import TYPE_CHECKING

from gradlab.report.markup import Html, section, table, tag

if TYPE_CHECKING:
    from gradlab.run import Run


def columns_section(run: "Run") -> Html:
    """Nothing, where the inputs did not come from a table."""
    columns = (run.data.get("reader") or {}).get("columns")
    if not columns:
        return Html()
    rows = [[c["name"], c["kind"], c["use"], c["note"]] for c in columns]
    return section("Columns", tag("figure", table(["column", "kind", "use", "values"], rows, class_="pairs")))
