"""Devices and pools of scenarios in the model, as their sheets have them, as drawn, and as the scenario says.

Names of a sheet's fields among drawn values are `<sheet>.<field>`.
"""
from model.devices.data_sheet import SheetParams
from model.devices.ssd import PAGE_BYTES, SsdParams
from model.filesystems.zfs import store as zfs_files
from model.zfs.vdev import raid as vdev_map
from study.documents.priors import Prior
from study.machines.scenario import Scenario
from study.machines.storage import Devices, Pool, sheet

WIDE = 4                        # a range over more than this is drawn by its logarithm
BATTERY_BYTES = 256 * 2**20     # cache of a controller with a battery: StorageTek SAS RAID, of the servers of 2008


def devices_of(machine: Scenario) -> list[Devices]:
    pools = [pool for pool in (machine.pool, machine.log_pool) if pool is not None]
    return [part for pool in pools for part in (pool.data, pool.log, pool.cache) if part is not None]


def of_sheet(name: str) -> list[Prior]:
    """The ranges of a device's sheet as priors."""
    device = sheet(name)
    sources = dict(zip(device.table.name, device.table.source, strict=True))
    return [Prior(name=f"{name}.{field}", of="device", experiments=(), source=sources[field], low=low,
                  central=getattr(device.params, field), high=high, unit="", less=None,
                  shape="log" if low > 0 and high > WIDE * low else "uniform")
            for field, (low, high) in device.ranges.items()]


def scattered(params: SsdParams, share: float) -> SsdParams:
    """An SSD that collects garbage for scattered bytes: those beyond the first 4 KiB of a write go to flash at the rate of
    4 KiB writes (`share` 0), at the bandwidth (1), or between, in the logarithm. None is faster than that."""
    iops = min(params.write_iops, params.write_rate // PAGE_BYTES)      # drawn one by one
    slow = iops * PAGE_BYTES
    rate = round(slow * (params.write_rate / slow) ** share)
    return params._replace(write_iops=iops, random_rate=min(max(rate, slow), params.write_rate))


def of_device(one: Devices, values: dict) -> SheetParams | SsdParams:
    """Its parameters in the model, as drawn and as the scenario says."""
    device = sheet(one.sheet)
    params = device.params
    drawn = {field: round(values[f"{one.sheet}.{field}"]) for field in params._fields if f"{one.sheet}.{field}" in values}
    params = params._replace(**drawn | {"disk_bytes": one.device_bytes})
    if isinstance(params, SsdParams):
        if device.collects:
            params = scattered(params, values["scattered_share"])
        return params._replace(buffer_bytes=min(params.buffer_bytes, params.disk_bytes),
                               is_volatile=0 if one.battery else params.is_volatile)
    params = params._replace(window=min(params.window, params.depth), inner_rate=min(params.inner_rate, params.outer_rate),
                             outer_sustained=min(params.outer_sustained, params.outer_rate))    # drawn one by one
    if one.write_cache is not None:
        params = params._replace(buffers_writes=int(one.write_cache))
    return params._replace(buffers_writes=1, buffer_bytes=max(params.buffer_bytes, BATTERY_BYTES)) if one.battery else params


def _group(one: Devices, values: dict) -> zfs_files.Group:
    kind = "single" if one.layout == "stripe" else one.layout
    return zfs_files.Group(of_device(one, values), one.n_vdevs, vdev_map.vdev_params(kind, one.group, one.ashift))


def of_pool(one: Pool, values: dict) -> zfs_files.Pool:
    log, cache = (None if part is None else _group(part, values) for part in (one.log, one.cache))
    return zfs_files.Pool(_group(one.data, values), log, cache)
