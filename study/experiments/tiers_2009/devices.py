"""How long one request takes at the devices of the price table of 2009, from data sheets: what of slide 6 can be predicted.

    results = devices.predict(draws=20, seeds=2, seed=1)    the ensemble: see `study.ensembles.ensembles`

A disk takes a command's overhead, a seek of the average length, half a revolution and the transfer. Of several under way
each waits for those before it: commands in order. An SSD takes its response time of a read and the rest of the bytes, and
does `channels` at a time. To each comes what the host does for an I/O (`miss_ns`).

A write of an SSD takes its response time and the rest of the bytes, one after the other. SSDs for writing are taken to be
the one for reading. Both have 64 GB at one price on the slide, and the sheet of the other quotes the slide (`write-ssd-18`).

Prices are conditions and are not predicted. Nor are memory and cloud storage: no sheet has them. I/Os a second are not
predicted either, as the slide does not say with how many under way.
"""
import pandas as pd

from model.devices.data_sheet import SheetParams
from model.devices.ssd import PAGE_BYTES, SsdParams
from study.documents import priors, published
from study.documents.priors import Known
from study.ensembles import ensembles, intervals
from study.machines.devices import of_device, of_sheet
from study.machines.storage import Devices

EXPERIMENT, RUN = "devices", "price-table"
CAPACITY_DISK, READ_SSD = "sata-7k2-1tb", "x25-e"
MINUTE_NS, KIB = 60 * 10**9, 2**10
CLAIMS = {"capacity-hdd": "speed-capacity-hdd", "performance-hdd": "speed-performance-hdd",
          "ssd-write": "speed-ssd-write", "ssd-read": "speed-ssd-read"}


def known() -> Known:
    """Conditions of the table, and ranges of the sheets."""
    of_table = priors.read(EXPERIMENT)
    disks = next(switch.choices for switch in of_table.switches if switch.name == "performance_disk")
    sheets = (CAPACITY_DISK, READ_SSD, *map(str, disks))
    return Known((*of_table.priors, *(prior for name in sheets for prior in of_sheet(name))), of_table.switches)


def response_us(sheet: str, values: dict) -> float:
    """Of a read at random, us."""
    device, n_bytes = of_device(Devices(sheet=sheet), values), int(values["device_request_kib"] * KIB)
    n = int(values["under_way"])
    if isinstance(device, SsdParams):
        alone = device.read_ns + max(0, n_bytes - PAGE_BYTES) * 10**9 / device.read_rate
        rounds = -(-n // device.channels)
    else:
        assert isinstance(device, SheetParams)
        rate = (device.outer_rate + device.inner_rate) / 2
        alone = device.overhead_ns + device.average_seek_ns + MINUTE_NS / device.rpm / 2 + n_bytes * 1e9 / rate
        rounds = n
    return (rounds * alone + values["miss_ns"]) / 1e3


def write_us(sheet: str, values: dict) -> float:
    """Of a write of an SSD, us; each waits for those before it."""
    device, n_bytes = of_device(Devices(sheet=sheet), values), int(values["device_request_kib"] * KIB)
    assert isinstance(device, SsdParams)
    alone = device.write_ns + max(0, n_bytes - PAGE_BYTES) * 10**9 / device.write_rate
    return (int(values["under_way"]) * alone + values["miss_ns"]) / 1e3


def quantities(values: dict) -> dict[str, float]:
    """Of each technology that is predicted, by its published name, us."""
    sheets = {"capacity-hdd": CAPACITY_DISK, "performance-hdd": values["performance_disk"], "ssd-read": READ_SSD}
    reads = {f"{name}.response": response_us(sheet, values) for name, sheet in sheets.items()}
    return reads | {"ssd-write.response": write_us(READ_SSD, values)}


def predict(draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble. There is no chance in it, and nothing is fitted."""
    cases = ensembles.cases(known(), draws, seeds, seed)
    return ensembles.run(cases, lambda values, _seed, _variant: quantities(values), variants=(RUN,))


LABELS = {
    ("performance_disk", "sas-15k-300"): "disk of 15 000 rpm", ("performance_disk", "savvio-10k2"): "10 000 rpm, 2.5 inch",
    ("performance_disk", "fc-10k-146"): "10 000 rpm, 3.5 inch",
    ("device_request_kib", 4): "requests of 4 KiB", ("device_request_kib", 8): "requests of 8 KiB",
    ("under_way", 1): "one under way", ("under_way", 4): "four under way"}


TECHNOLOGIES = ("cloud", "capacity-hdd", "performance-hdd", "ssd-write", "ssd-read", "dram")


def printed() -> pd.DataFrame:
    """The table as the slide prints it, for readers, with what follows from it. Columns: technology, response_us, iops, how
    many I/Os must be under way for both (Little's law), and its slowness against memory. Nothing is predicted from it."""
    run = next(run for run in published.runs() if run.run_id == f"rajadurai-2009/{RUN}")
    numbers = dict(zip(run.metrics.name, run.metrics.value, strict=True))
    table = pd.DataFrame([(name, numbers[f"{name}.response"], numbers[f"{name}.iops"]) for name in TECHNOLOGIES],
                         columns=["technology", "response_us", "iops"])
    return table.assign(under_way=table.response_us * table.iops / 1e6,
                        times_dram=table.response_us / numbers["dram.response"])


def beside_printed(results: pd.DataFrame) -> pd.DataFrame:
    """For the scale of latencies: technology, printed, low, high (us)."""
    rows = []
    for row in printed().itertuples():
        column = f"{RUN}/{row.technology}.response"
        low, _, high = intervals.interval(ensembles.unfitted(results)[column]) if column in results else (None,) * 3
        rows.append((row.technology, row.response_us, low, high))
    return pd.DataFrame(rows, columns=["technology", "printed", "low", "high"]).astype({"low": float, "high": float})


def metrics(results: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    shown = beside_printed(results).dropna()
    return pd.DataFrame([(f"{row.technology}.response-{end}", getattr(row, end), "us") for row in shown.itertuples()
                         for end in ("low", "high")], columns=["name", "value", "unit"])


def not_modelled(quantity: str) -> str:
    """Why a quantity is not among what is predicted."""
    return f"no sheet of a device gives {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """The rows of the claims in a sentence."""
    by_claim = scores.set_index("claim")
    return "; ".join(f"{name}: {by_claim.grade[claim]} (printed {by_claim.published[claim]:,.0f} us, simulated "
                     f"{by_claim['unfitted 5 %'][claim]:,.0f} to {by_claim['unfitted 95 %'][claim]:,.0f})"
                     for name, claim in CLAIMS.items())
