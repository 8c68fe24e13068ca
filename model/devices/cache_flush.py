"""The flush of a disk's write cache, which ZFS asks for after every commit of the intent log and twice in every group.

A disk reports a write when it is in its buffer (`model.devices.disk`), and writes it when it gets to it
(`model.devices.disk_buffer`). A flush sets the arm to all that is there, and is done when that is on the platter. What a
commit saves by the buffer it pays at the flush. A small write that begins where the last one ended comes too late for its
sector, and waits for nearly a revolution.

Three circumstances spare it. There is no write cache, and then every write waits instead. Or a cache survives a power cut,
so nothing need be written (`is_volatile` 0: a battery-backed controller or array that says so). Or `zfs_nocacheflush` does
not ask, and is only safe with such a cache. What the flush of an SSD costs: `model.devices.ssd`.
"""

from model.devices import arm_columns as arm
from model.devices import overhead_columns as overhead
from model.devices.disk import advance
from model.devices.disk_buffer import stop, write_all
from model.jit import kernel, part


@part
def write_out(disk, state, unit, now):
    """Set the arm of a disk to all that is in its buffer, from `now` on. When it is on the platter; `now`, if it is."""
    advance(disk, state, unit, now)
    stop(state, unit)
    return write_all(disk, state, unit, now)


@kernel
def flush(disk, state, unit, now, is_volatile):
    """When a flush that comes to an idle disk at `now` is done."""
    done = write_out(disk, state, unit, now) if is_volatile else now
    return done + disk.command_ns[overhead.READ_HIT, state.units[unit, arm.WROTE]]
