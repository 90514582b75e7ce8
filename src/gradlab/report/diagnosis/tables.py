"""Every parameter and module with its figures."""

from collections.abc import Iterator, Mapping, Sequence

from gradlab.diagnosis.record import Module, Parameter, Record
from gradlab.diagnosis.series import Series
from gradlab.markup import Html, fold, join, section, table, tag
from gradlab.wording import count, number

_ROWS = 300  # of a table
_FEW = 24  # rows that need not be opened


def section_of(record: Record) -> Html:
    """Nothing where neither was seen."""
    parts = [*_parameters(record), *_modules(record)]
    return section("Parameters and modules", *parts) if parts else Html()


def _parameters(record: Record) -> Iterator[Html]:
    if not record.parameters:
        return
    columns = [
        "parameter",
        "shape",
        "values",
        "std at the start",
        "‖gradient‖",
        "‖update‖/‖w‖",
        "‖w‖, first → last",
        "",
    ]
    rows = [
        [
            join([p.name, tag("div", p.owner, class_="quiet")]),
            "×".join(map(str, p.shape)) or "1",
            count(p.size),
            _figure(p.std),
            _figure(p.gradient.median()),
            _figure(p.typical_update),
            _course(p.weight),
            _parameter_remarks(p, by_hand=not record.optimizers),
        ]
        for p in list(record.parameters.values())[:_ROWS]
    ]
    body = _body(columns, rows, "Gradients and updates are medians over the looks.", len(record.parameters))
    yield tag("figure", *body) if len(rows) <= _FEW else fold(f"{len(record.parameters):,} parameters", *body)


def _modules(record: Record) -> Iterator[Html]:
    if not record.modules:
        return
    columns = ["module", "mean", "std", "std, first → last", ""]
    rows = [
        [
            join([m.path or "(the root)", tag("div", m.kind, class_="quiet")]),
            _figure(m.mean.median()),
            _figure(m.std.median()),
            _course(m.std),
            _module_remarks(m),
        ]
        for m in list(record.modules.values())[:_ROWS]
    ]
    note = "Mean and standard deviation are those of the outputs in training, medians over the looks."
    yield fold(f"{len(record.modules):,} modules", *_body(columns, rows, note, len(record.modules)))


def _body(columns: list[str], rows: Sequence[Sequence[str]], note: str, total: int) -> list[Html]:
    more = f" The first {_ROWS} of {total:,} are shown." if total > _ROWS else ""
    return [table(columns, rows, class_="layers"), tag("figcaption", note + more)]


def _figure(value: float) -> str:
    return "–" if value != value else number(value)


def _course(series: Series) -> str:
    return f"{number(series.first)} → {number(series.last)}" if series else "–"


def _parameter_remarks(parameter: Parameter, by_hand: bool) -> Html:
    remarks = {
        "frozen": not parameter.requires_grad,
        "not registered": not parameter.registered,
        "in no optimiser": parameter.optimizer is None and parameter.requires_grad and not by_hand,
        "no gradient": parameter.requires_grad and parameter.reached == 0,
        "never changed": not parameter.changed,
        "loaded": parameter.loaded,
        "equal rows at the start": parameter.rows_equal and len(parameter.shape) > 1,
    }
    return _remarks(remarks)


def _module_remarks(module: Module) -> Html:
    remarks = {
        "not registered": not module.registered,
        "trained in eval mode": module.trained_in_eval > 0,
        "judged in train mode": module.evaluated_in_train > 0,
    }
    return _remarks(remarks)


def _remarks(remarks: Mapping[str, bool]) -> Html:
    return join(tag("span", text, class_="remark") for text, holds in remarks.items() if holds)
