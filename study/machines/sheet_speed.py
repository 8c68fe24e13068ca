"""A device that is faster than its sheet in all that takes time: for asking what a machine waits for."""
from study.machines.storage import sheet

TIMES = ("overhead_ns", "average_seek_ns", "first_seek_ns", "full_seek_ns", "write_settle_ns", "read_ns", "write_ns",
         "flush_ns")
RATES = ("rpm", "outer_rate", "outer_sustained", "inner_rate", "bus_rate", "read_iops", "write_iops", "read_rate",
         "write_rate")


def faster(name: str, values: dict, factor: int = 2) -> dict[str, float]:
    """The drawn values of the sheet of that name, with which its device is so many times as fast as with `values`."""
    params = sheet(name).params
    present = {field: values.get(f"{name}.{field}", getattr(params, field)) for field in params._fields}
    changed = {field: present[field] / factor for field in TIMES if field in present}
    changed |= {field: present[field] * factor for field in RATES if field in present}
    return {f"{name}.{field}": value for field, value in changed.items()}
