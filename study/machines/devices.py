"""Devices and pools of scenarios in the model, as their sheets have them, as drawn, and as the scenario says.

Names of a sheet's fields among drawn values are `<sheet>.<field>`.
"""
from model.devices.data_sheet import SheetParams
from model.devices.ssd import PAGE_BYTES, SsdParams
from model.filesystems.zfs import store as zfs_store
from model.zfs.vdev import raid
from study.documents.priors import Prior
from study.machines.scenario import Scenario
from study.machines.storage import Devices, Pool, sheet

WIDE = 4                        # a range over more than this is drawn by its logarithm
BATTERY_BYTES = 256 * 2**20     # cache of a controller with a battery: StorageTek SAS RAID, of the servers of 2008


def devices_of(machine: Scenario) -> list[Devices]:
    """All groups of devices of a machine, in both its pools."""
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
    """An SSD that collects garbage for scattered bytes. Beyond the first 4 KiB of a write they go to flash at the rate of 4
    KiB writes (`share` 0) or the bandwidth (1). Between, in the logarithm. None is faster than that."""
    iops = min(params.write_iops, params.write_rate // PAGE_BYTES)      # drawn one by one
    slow = iops * PAGE_BYTES
    rate = round(slow * (params.write_rate / slow) ** share)
    return params._replace(write_iops=iops, random_rate=min(max(rate, slow), params.write_rate))


def of_device(devices: Devices, values: dict) -> SheetParams | SsdParams:
    """Its parameters in the model, as drawn and as the scenario says."""
    device = sheet(devices.sheet)
    params = device.params
    drawn = {field: round(values[f"{devices.sheet}.{field}"]) for field in params._fields
             if f"{devices.sheet}.{field}" in values}
    params = params._replace(**drawn | {"disk_bytes": devices.device_bytes})
    if isinstance(params, SsdParams):
        if device.collects:
            params = scattered(params, values["scattered_share"])
        return params._replace(buffer_bytes=min(params.buffer_bytes, params.disk_bytes),
                               is_volatile=0 if devices.battery else params.is_volatile)
    params = params._replace(window=min(params.window, params.depth), inner_rate=min(params.inner_rate, params.outer_rate),
                             outer_sustained=min(params.outer_sustained, params.outer_rate))    # drawn one by one
    if devices.write_cache is not None:
        params = params._replace(buffers_writes=int(devices.write_cache))
    if devices.battery:
        return params._replace(buffers_writes=1, buffer_bytes=max(params.buffer_bytes, BATTERY_BYTES))
    return params


def _group(devices: Devices, values: dict) -> zfs_store.Group:
    kind = "single" if devices.layout == "stripe" else devices.layout
    vdev = raid.vdev_params(kind, devices.group, devices.ashift)
    return zfs_store.Group(of_device(devices, values), devices.n_vdevs, vdev)


def of_pool(pool: Pool, values: dict) -> zfs_store.Pool:
    """The model's pool for that of a scenario, with the `values` of a draw."""
    log, cache = (None if part is None else _group(part, values) for part in (pool.log, pool.cache))
    return zfs_store.Pool(_group(pool.data, values), log, cache)
