"""Devices of the machines, `data/hardware/*.toml`: a file for each, every number with unit, source, and how it is known.

    device = hardware.read("x25-e")
    device.params       # SsdParams or SheetParams of the model, the best guesses
    device.ranges       # {field: (low, high)} of what is not known exactly, in the model's units
    device.table        # for readers: name, value, range, unit, known, source
    device.collects     # whether it is an SSD that collects garbage for scattered bytes: `study.machines.devices`
"""
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from model.devices.data_sheet import SheetParams, sheet_disk
from model.devices.ssd import SsdParams, check_ssd
from study.documents import published
from study.documents.priors import not_empty
from study.errors import UserError
from study.project import data_file, data_files

KINDS: dict[str, type] = {"disk": SheetParams, "ssd": SsdParams}
FIELDS = {"disk": SheetParams._fields, "ssd": tuple({*SsdParams._fields} - {"random_rate"})}    # that a sheet has
UNITS = {"1": 1, "rpm": 1, "IOPS": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "GB": 10**9, "MB/s": 10**6,
         "ns": 1, "us": 10**3, "ms": 10**6}     # to the model's: B, B/s, ns

if TYPE_CHECKING:       # which reads no list made at run time
    _Unit = str
else:
    _Unit = Literal[tuple(UNITS)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Value(_Strict):
    """A number: printed in a document, measured, derived from such numbers, between those of related devices, or assumed."""
    name: str
    value: float
    low: float | None = None
    high: float | None = None
    unit: _Unit
    known: Literal["printed", "measured", "derived", "between", "assumed"]
    source: Annotated[str, AfterValidator(not_empty)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = self.low, self.high
        if (low is None) != (high is None) or (low is not None and high is not None and not low <= self.value <= high):
            raise ValueError(f"{low} to {high} is no range about {self.value:g}; give low and high in order, or "
                             "neither")
        return self

    def in_model_units(self, number: float) -> int:
        """A number in the unit of the model: B, B/s or ns."""
        return round(number * UNITS[self.unit])


class _Device(_Strict):
    name: str
    kind: Literal["disk", "ssd"]
    scattered: Literal["at bandwidth"] | None = None    # bytes of a scattered write beyond the first 4 KiB; None: slower
    note: str


class _File(_Strict):
    device: _Device
    value: tuple[Value, ...]


class Device(NamedTuple):
    """A drive as its file has it: parameters of the model, and ranges of those that are not known."""
    name: str
    kind: str           # disk or ssd
    note: str
    params: SheetParams | SsdParams
    ranges: dict        # field: (low, high)
    table: pd.DataFrame
    collects: bool      # garbage for all bytes of scattered writes


def read(name: str) -> Device:
    """The device of `data/hardware/<name>.toml`. Raises UserError, one sentence, for one that is incomplete or cannot be."""
    file = f"hardware/{name}.toml"
    try:
        content = _File.model_validate(published.tomllib.loads(data_file(file).read_text()))
    except published.tomllib.TOMLDecodeError as error:
        raise UserError(f"{file} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        raise UserError(published.explain(file, error)) from None
    values = {row.name: row for row in content.value}
    published.refuse_duplicates(file, "value", [row.name for row in content.value])
    device, params = content.device, _params(file, content.device.kind, values)
    ranges = {key: (row.in_model_units(row.low), row.in_model_units(row.high)) for key, row in values.items()
              if row.low is not None and row.high is not None}
    rows = [(row.name, row.value, "" if row.low is None else f"{row.low:g} to {row.high:g}", row.unit, row.known, row.source)
            for row in content.value]
    table = pd.DataFrame(rows, columns=["name", "value", "range", "unit", "known", "source"])
    return Device(name=device.name, kind=device.kind, note=device.note, params=params, ranges=ranges, table=table,
                  collects=device.kind == "ssd" and device.scattered is None)


def what(name: str) -> str:
    """What the sheet of that name is of, in the words on top of its file."""
    return data_file(f"hardware/{name}.toml").read_text().partition("\n")[0].removeprefix("# ").partition(". How to read")[0]


def summaries() -> list[dict[str, Any]]:
    """Each sheet of data/hardware: what it is of, capacity in GB (10^9), rpm or random reads and writes a second. Then how
    many of its values are known how."""
    rows = []
    for path in data_files("hardware/*.toml"):
        device = read(path.stem)
        speed = {field: getattr(device.params, field, None) for field in ("rpm", "read_iops", "write_iops")}
        rows.append({"sheet": path.stem, "what": what(path.stem), "device": device.name, "kind": device.kind,
                     "gb": device.params.disk_bytes / 1e9, **speed, "known": Counter(device.table.known.sort_values())})
    return rows


def other_disk(present: SheetParams, name: str, kept: tuple[str, ...]) -> SheetParams:
    """The disk of `data/hardware/<name>.toml` in place of the present one, of which it keeps some fields."""
    params = read(name).params
    assert isinstance(params, SheetParams)
    return params._replace(**{field: getattr(present, field) for field in kept})


def _params(file: str, kind: str, values: dict) -> SheetParams | SsdParams:
    """The model's parameters; the file must name every field of a sheet, and no other."""
    fields = FIELDS[kind]
    for wrong, complaint in ((set(values) - set(fields), "is nothing that such a device has; leave it out"),
                             (set(fields) - set(values), "is missing; give it with a source")):
        if wrong:
            raise UserError(f"{file}: {min(wrong)} of a {kind} {complaint}")
    params = KINDS[kind](**{key: row.in_model_units(row.value) for key, row in values.items()})
    try:
        sheet_disk(params) if kind == "disk" else check_ssd(params)
    except ValueError as error:
        raise UserError(f"{file}: {error}") from None
    return params
