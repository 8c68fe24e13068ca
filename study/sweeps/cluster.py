"""Workers: processes of this machine, or those of a Dask cluster that runs already.

    with Workers(2, None) as workers: …                         two processes here; what they say is encrypted
    with Workers(None, "tcp://10.0.0.5:8786") as workers: …     any scheduler; the manual of Dask says how to start one

    workers.client      of Dask; they are started when this is first asked for
"""
import contextlib
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from study.errors import UserError
from study.project import CACHE

if TYPE_CHECKING:
    from distributed import Client

TIMEOUT = "20s"
LOCALLY = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": [],      # nobody looks at pages
           "distributed.scheduler.allowed-failures": 1}     # a point that has killed two workers fails
SCRATCH = CACHE / "sweeps"      # of workers; Dask removes what those left that were killed
LOCAL_PORT = "127.0.0.1:0"      # of the web servers without pages, which cannot be left out


class Workers(contextlib.ExitStack):
    """Workers that are started when they are first asked for, and end with the block."""

    def __init__(self, count: int | None, address: str | None) -> None:
        super().__init__()
        self.count, self.address = count, address
        self._client: Client | None = None

    @property
    def client(self) -> "Client":
        """The client of the Dask cluster, which is started when it is first asked for."""
        if self._client is None:
            self._client = self.enter_context(connected(self.count, self.address))
        return self._client


@contextlib.contextmanager
def connected(workers: int | None, address: str | None) -> Iterator["Client"]:
    """A client of `workers` local processes (None: one per processor), or of the scheduler at `address`."""
    import dask
    from distributed import Client, LocalCluster
    from distributed.security import Security
    if address is not None:
        with _client(address) as client:
            yield client
        return
    n_workers = workers or len(os.sched_getaffinity(0))
    with dask.config.set(LOCALLY | {"temporary-directory": str(SCRATCH)}), \
            LocalCluster(n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=LOCAL_PORT,
                         worker_dashboard_address=LOCAL_PORT, memory_limit=0, security=Security.temporary(),
                         silence_logs=logging.CRITICAL) as cluster, \
            Client(cluster) as client:
        yield client


@contextlib.contextmanager
def _client(address: str) -> Iterator["Client"]:
    from distributed import Client
    try:
        client = Client(address, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        raise UserError(f"no Dask scheduler answers at {address} ({type(error).__name__}); start one with "
                        "`dask scheduler`, or leave --cluster out") from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise UserError(f"the scheduler at {address} has no workers; start one with `dask worker {address}`")
        yield client
