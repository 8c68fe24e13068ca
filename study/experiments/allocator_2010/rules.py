"""The rules of the allocator before and after 2010.Q1, and every change by itself (spec 2)."""
from typing import Any

from model.zfs.eras import era
from model.zfs.metaslab.state import BONUS_AREA, FRAGMENTED, LARGEST, MetaslabParams
from model.zfs.space.pickers import VARIANTS

OLD = "b117"

WEIGHTS: dict[str, Any] = {"bonus_scope": BONUS_AREA, "reassess": 1}
CODED: dict[str, Any] = {"bonus_multiplier": 1, "bonus_divisor": 1}
DESCRIBED: dict[str, Any] = {"bonus_multiplier": 3, "bonus_divisor": 2}
BY_TEXT = {"bonus_multiplier": 3, "bonus_divisor": 1}    # before a fresh one where it is 33 % empty
STEPS: dict[str, tuple[str, dict]] = {       # every change by itself
    "threshold": ("best fit from 96 % full", {"picker": VARIANTS["141_df"]}),
    "weights": ("weighed anew, old bonus kept", WEIGHTS),
    "bonus-coded": ("no bonus (as coded)", WEIGHTS | CODED),
    "bonus-described": ("bonus 1.5 (as described)", WEIGHTS | DESCRIBED),
    "bonus-text": ("bonus 3 (33 % empty, as told)", WEIGHTS | BY_TEXT),
    "primary": ("given up when fragmented", {"primary_until": FRAGMENTED, "passivate_with": LARGEST}),
    "deferral": ("freed space withheld", {"defer_txgs": 2, "skips_unchanged": 1}),     # hg 10921 is both
    "prefetch": ("space maps read ahead", {"prefetch_maps": 3}),
    "new-dynamic-fit": ("new dynamic fit", {"picker": VARIANTS["141_ndf"]}),
}
ALL: dict[str, tuple[str, tuple[str, str]]] = {         # and all of them
    "all-coded": ("all, bonus as coded", ("dynamic fit", "as coded")),
    "all-described": ("all, bonus as described", ("dynamic fit", "as described")),
    "all-b141": ("all, new dynamic fit", ("new dynamic fit", "as coded")),
}


def old_rules() -> MetaslabParams:
    """The allocator's parameters before 2010.Q1."""
    return era(OLD).metaslab


def new_rules(picker: str = "dynamic fit", bonus: str = "as coded") -> MetaslabParams:
    """The rules of 2010.Q1, as far as they are known."""
    rules = era("b141_df" if picker == "dynamic fit" else "b141").metaslab
    return rules._replace(**(CODED if bonus == "as coded" else DESCRIBED))


def custom_rules(threshold_pct: int, bonus: float) -> MetaslabParams:
    """The new rules with best fit from that occupancy on, and that bonus."""
    rules = new_rules()
    return rules._replace(picker=rules.picker._replace(best_fit_below_pct=100 - threshold_pct),
                          bonus_multiplier=round(100 * bonus), bonus_divisor=100)
