"""The other figures of the post on dedup, over all that it leaves open: check-sums, memory, writes, the throttle.

    results = post_figures.predict(draws, seeds, seed)      the ensemble: see `study.ensembles.ensembles`

Quantities have the names of the published ones. Check-sums are cycles a byte over a clock. An entry's size is that of the
model's table, grown to as many entries, or to a part of them. A table of twice as many has twice as many blocks. Calls that
wait for the intent log are simulated (`study.experiments.dedup_2010.sharing`), for RUN_S. Where none is slow in that time,
the pool has absorbed RUN_S or more.
"""
import math

import pandas as pd

from model.events.streams import stream
from model.zfs.dedup.table import group, new_table
from model.zfs.dedup.zap import KEY_BITS, ZapParams, enter_all, leaf_entries, new_zap, size_of
from study.documents import claims, priors
from study.documents.priors import Known
from study.ensembles import ensembles, kept
from study.experiments.dedup_2010.sharing import synchronous_waits
from study.experiments.dedup_2010.table_costs import BASE, EXPERIMENT, UNITS, with_table
from study.experiments.tiers_2009.devices import response_us
from study.grades import claim_predictions
from study.machines.dedup_pool import MEAN_FILL, metadata_room
from study.machines.devices import of_sheet

RUN = "dedup"
QUANTITIES = ("checksum.", "disk.", "entry.", "memory.", "table_block.", "throttle.", "unique_data.")
CLAIMS = tuple(f"{RUN} {name}" for name in QUANTITIES)     # see `claim_predictions.record_all`
RUN_S = 120.0           # a run of synchronous writes: four groups of 30 s
GROWN = 2**18           # entries of a table that is grown; larger ones are taken to be like it
MANY_LEAVES = 2048      # of a table that a group touches; larger ones, and groups, are scaled down together
LABELS = {("sha_code", "plain C"): "SHA-256 in plain C", ("sha_code", "assembler"): "SHA-256 in assembler",
          ("entry_chunks", 5): "entries of five chunks", ("entry_chunks", 4): "entries of four chunks",
          ("table_block_kib", 4): "table blocks of 4 KiB", ("table_block_kib", 16): "table blocks of 16 KiB",
          ("memory_holds", "the table"): "memory for the table alone",
          ("memory_holds", "the machine"): "memory of the whole machine", ("unit_of_data", 1000): "TB of 1000^4 B",
          ("unit_of_data", 1024): "TB of 1024^4 B", ("throttle_was_fast", 1): "throttle at its most",
          ("throttle_was_fast", 0): "throttle at its least", ("table_disk", "sata-7k2-1tb"): "disks of 7200 rpm",
          ("table_disk", "sas-15k-300"): "disks of 15 000 rpm"}


def known() -> Known:
    """Ranges and conditions of the post, and of the sheets of its disks."""
    of_post = priors.read(EXPERIMENT)
    disks = next(switch.choices for switch in of_post.switches if switch.name == "table_disk")
    return Known((*of_post.priors, *(prior for name in disks for prior in of_sheet(str(name)))), of_post.switches)


def quantities(values: dict, seed: int) -> dict[str, float]:
    """Of one case, by published name and in its unit."""
    rate = values["clock_ghz"] * 1e9 / values["cycles" if values["sha_code"] == "assembler" else "cycles_c"]
    entry = entry_bytes(values["table_entries"], values["entry_chunks"], seed)
    memory = 32 * 2**30 if values["memory_holds"] == "the table" else metadata_room(32 * 2**30, "2010")
    tb, whole = float(values["unit_of_data"])**4, values["memory_gib"] * 2**30
    large_ms, small_us = 1e3 * UNITS["128K"] / rate, 1e6 * UNITS["8K"] / rate
    alone = values | {"device_request_kib": 4, "under_way": 1, "miss_ns": 0}
    return {"checksum.bandwidth": rate / 1e6, "checksum.large_time": large_ms, "checksum.small_time": small_us,
            "checksum.extra_read_time": large_ms, "disk.response_high": response_us(values["table_disk"], alone) / 1e3,
            "entry.size": entry, "memory.metadata_share": 100 * metadata_room(whole, "2010") / whole,
            "table_block.replaces": replaced(values, seed), "throttle.absorbed": absorbed_s(values, seed),
            "unique_data.at_128k": memory / entry * UNITS["128K"] / tb,
            "unique_data.at_8k": memory / entry * UNITS["8K"] / tb}


def entry_bytes(entries: float, chunks: int, seed: int) -> float:
    """B of the table in core for an entry, as `zdb -DD` counts them."""
    n = float(entries)
    while n > GROWN:
        n /= 2
    params = ZapParams(entry_chunks=int(chunks))
    zap = new_zap(params, round(n))
    keys = stream(seed, "keys of a table").integers(0, 2**KEY_BITS, round(n), dtype="int64")
    keys.sort()
    enter_all(zap, keys)
    return size_of(zap, params).zdb_in_core


def replaced(values: dict, seed: int) -> float:
    """Duplicates of a group for each block of the table that it dirties."""
    params = ZapParams(leaf_shift=10 + int(values["table_block_kib"]).bit_length() - 1,
                       entry_chunks=int(values["entry_chunks"]))
    most = MANY_LEAVES * leaf_entries(params) * MEAN_FILL
    scale = max(1.0, values["table_entries"] / most)
    entries, duplicates = round(values["table_entries"] / scale), max(1, round(values["group_blocks"] / scale))
    table, draws = new_table(params, entries), stream(seed, "a group of duplicates")
    keys = draws.integers(0, 2**KEY_BITS, entries, dtype="int64")
    group(table, keys, 1)
    group(table, keys, 2)       # all have two owners: a third moves no entry from one object to the other
    return duplicates / group(table, draws.choice(keys, duplicates), 3).dirtied


def absorbed_s(values: dict, seed: int) -> float:
    """When the first synchronous write takes long, s; RUN_S if none does."""
    machine = with_table(values["table_times"], values["found_share"], BASE._replace(
        n_disks=round(values["dedup_disks"]), sheet=values["table_disk"], offered=values["offered_mb"] * 1e6, is_sync=True,
        has_log_device=True, was_fast=bool(values["throttle_was_fast"]), seconds=RUN_S, warm_s=RUN_S / 3))
    first = synchronous_waits(machine, True, seed)[1]
    return RUN_S if math.isnan(first) else first


def predict(draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble: a row per case. Nothing is fitted, because no level is printed."""
    unknown = known()
    return ensembles.run(ensembles.cases(unknown, draws, seeds, seed, ensembles.NUMBERS), _case, variants=(RUN,),
                         ensemble=kept.Ensemble("dedup-costs", __name__, ensembles.parts_of(unknown), ("hardware/*.toml",)))


def _case(values: dict, seed: int, _variant: str) -> dict[str, float]:
    return quantities(values, seed)


def record_all(results: pd.DataFrame, notebook: str) -> None:
    """What is predicted of each figure, for the run store."""
    for runs in CLAIMS:
        claim_predictions.record_all(results, notebook, not_modelled, runs)


def over_printed(scores: pd.DataFrame) -> pd.DataFrame:
    """Of `claim_predictions.scores`, over the printed number: claim, low, middle, high, and from where to where the words
    allow (inf: without an end)."""
    allowed = claims.targets().set_index("claim_id").loc[scores.claim]
    shares = [scores[f"unfitted {end}"].to_numpy() / scores.published.to_numpy() for end in ("5 %", "50 %", "95 %")]
    return pd.DataFrame({"claim": scores.claim, "low": shares[0], "middle": shares[1], "high": shares[2],
                         "from": (allowed.low / allowed.value).to_numpy(), "to": (allowed.high / allowed.value).to_numpy()})


SHOWN = {"us": "µs"}     # units of claims, for readers


def shown(scores: pd.DataFrame) -> pd.DataFrame:
    """For readers: claim, what it says, as printed, 5, 50 and 95 % of what is simulated, unit, grade."""
    by_id, units = {claim.id: claim for claim in claims.read()}, claims.targets().set_index("claim_id").unit.replace(SHOWN)
    return pd.DataFrame([(row["claim"], by_id[row["claim"]].text, by_id[row["claim"]].printed, row["unfitted 5 %"],
                          row["unfitted 50 %"], row["unfitted 95 %"], units[row["claim"]], row["grade"])
                         for row in scores.to_dict("records")],
                        columns=["claim", "what", "printed", "5 %", "50 %", "95 %", "unit", "grade"])


def metrics(scores: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    units = claims.targets().set_index("claim_id").unit
    return pd.DataFrame([(f"post.{row['claim']}-{end}", row[f"unfitted {share}"], units[row["claim"]])
                         for row in scores.to_dict("records")
                         for end, share in (("low", "5 %"), ("middle", "50 %"), ("high", "95 %"))],
                        columns=["name", "value", "unit"])


def not_modelled(quantity: str) -> str:
    """Why a quantity is not among what is predicted."""
    return f"nothing here gives {quantity}"

