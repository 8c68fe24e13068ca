"""UFS of a scenario: which volumes there are, what lies on which, and how much memory caches files."""
import numpy as np

from model.databases.postgres.toolkit import REST
from model.devices.command_queue import Drive
from model.devices.data_sheet import SheetParams, new_drive
from model.devices.ssd import SsdParams
from model.events.streams import stream
from model.filesystems.ufs import columns as ufs
from model.filesystems.ufs.state import Ufs, UfsParams, new_ufs
from model.filesystems.ufs.volumes import Stripe
from study.machines.scenario import Scenario
from study.machines.servers import buffer_bytes, speed
from study.machines.storage import GIB, Devices

NAMES = ("reads", "read_bytes", "writes", "written_bytes")     # as those of other machines
ALL = 0
N_IOS = 2**19                   # on their way at most: 4 GiB of pages


def store(machine: Scenario, values: dict, devices: dict, files: np.ndarray, kinds: list[int], n_processes: int, seed: int,
          n_seconds: int) -> Ufs:
    """`devices`: parameters of those of the pool and, if there is one, of the log's pool. `files`: see
    model.simulations.database_server. `kinds`: of the tables' files, as model.databases.postgres.toolkit has them."""
    if "interlace_kib" not in values:
        raise ValueError("UFS is simulated in the tests of June 2008 only, since no range is given for it elsewhere; choose "
                         "zfs")
    places = {"pool": machine.pool.data} | ({"log_pool": machine.log_pool.data} if machine.log_pool else {})
    params_of = {name: _params_of(params, places[name], values) for name, params in devices.items() if params is not None}
    kinds_of = {params: _device(params) for params in params_of.values()}       # alike: one drive
    drives = {name: kinds_of[params] for name, params in params_of.items()}
    interlace, data = int(values["interlace_kib"]) * 1024, machine.pool.data
    if machine.ufs.apart:
        if data.count != REST + 1:
            raise ValueError(f"tables, indexes and the rest are to be apart on {data.count} devices; give 3")
        stripes = [Stripe(drives["pool"], 1, interlace)] * data.count
        stripe_of = [REST, *kinds, REST]
    else:
        stripes, stripe_of = [Stripe(drives["pool"], data.count, interlace)], [ALL] * (len(files) + 1)
    if machine.log_pool is not None:
        stripe_of[0] = len(stripes)
        stripes.append(Stripe(drives["log_pool"], machine.log_pool.data.count, interlace))
    some_drive = next((drive for drive in drives.values() if not hasattr(drive, "disk_bytes")), new_drive(SheetParams()))
    phases = stream(seed, "spindles").integers(0, 6_000_000, sum(stripe.members for stripe in stripes))
    return new_ufs(files[:, 1].tolist(), stripes, stripe_of, n_processes, _params(machine, values), some_drive, phases,
                   N_IOS, n_seconds)


def _params_of(params: SheetParams | SsdParams, place: Devices, values: dict) -> SheetParams | SsdParams:
    """Of a disk: whether it takes writes into its buffer is drawn, unless the scenario says so."""
    if isinstance(params, SsdParams) or place.battery or place.write_cache is not None:
        return params
    return params._replace(buffers_writes=int(values.get("ufs_write_cache", 0)))


def _device(params: SheetParams | SsdParams) -> Drive | SsdParams:
    return params if isinstance(params, SsdParams) else new_drive(params)


def memory_for_files(machine: Scenario, values: dict) -> int:
    """What buffers, processes and the kernel leave."""
    return max(0, int((machine.host.memory_gib - values["other_gib"]) * GIB - buffer_bytes(machine)))


def _params(machine: Scenario, values: dict) -> UfsParams:
    direct = int(machine.ufs.directio)
    return UfsParams(memory_bytes=memory_for_files(machine, values), log_directio=direct, table_directio=direct,
                     throttles=int(machine.ufs.throttle), autoup_s=machine.ufs.autoup_s,
                     call_ns=round(values["ufs_call_ns"] / speed(machine, values)),
                     starts_full=int(values.get("is_warm", 1) if machine.files.warm is None else machine.files.warm))


def device_series(place: Ufs) -> dict:
    """Of the data, and of the log if it has a volume of its own: per count an array over the seconds that were recorded."""
    log, of = int(place.file[0, ufs.STRIPE]), place.volumes.per_second
    if not (place.file[1:, ufs.STRIPE] != log).all():
        return {"data": dict(zip(NAMES, of.sum(axis=0), strict=True))}
    return {"data": dict(zip(NAMES, of.sum(axis=0) - of[log], strict=True)),
            "log pool": dict(zip(NAMES, of[log], strict=True))}
