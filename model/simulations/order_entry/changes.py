"""Which records the users of the order entry change, for those who want nothing else of it."""
import numpy as np

from model.simulations.order_entry.state import Orders
from model.simulations.order_entry.workload import draw_changes


def changed_records(orders: Orders, n: int, seed: int, name: str) -> np.ndarray:
    """`n` changes, one after the other, by the law of `model.simulations.order_entry.workload`: numbers of records."""
    return draw_changes(orders, (n,), seed, name)
