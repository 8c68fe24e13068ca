"""What devices cost: `data/prices/*.toml`, which readers edit.

    list_of = prices.read("2009")
    list_of.of("disk").prices()     {"by capacity": 390.0, "by I/Os": 760.0}, in the list's currency
    list_of.disks()                 disks that pools are made of
"""
from typing import Annotated, Literal, NamedTuple, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from study import errors
from study.documents import published
from study.errors import UserError
from study.machines.storage import sheet
from study.project import data_file, data_files

Role = Literal["disk", "log", "cache", "memory"]
ROLES: tuple[Role, ...] = ("disk", "log", "cache", "memory")
BY_DEVICE, BY_CAPACITY, BY_IOS = "of the device", "by capacity", "by I/Os"
Positive = Annotated[float, Field(gt=0, lt=1e9)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Technology(_Strict):
    """A kind of device. Capacity in GB (10^9), rates in 1/s."""
    name: str
    role: Role
    sheet: str | None = None
    gb: Positive
    price: Positive | None = None
    price_per_gb: Positive | None = None
    iops: Positive | None = None
    price_per_iops: Positive | None = None
    source: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _has_a_price(self) -> Self:
        if self.price is None and self.price_per_gb is None:
            raise ValueError(f"{self.name} has no price; give price, or price_per_gb")
        if (self.price_per_iops is None) != (self.iops is None):
            raise ValueError(f"{self.name} has one of iops and price_per_iops; give both or none")
        if (self.sheet is None) != (self.role == "memory"):
            raise ValueError(f"{self.name} is {self.role}, and memory alone has no sheet; mend its sheet or its role")
        if self.sheet is not None:
            sheet(self.sheet)
        return self

    def prices(self) -> dict[str, float]:
        """Of one device, in each way that the file gives."""
        ways = {BY_DEVICE: self.price, BY_CAPACITY: self.price_per_gb and self.price_per_gb * self.gb,
                BY_IOS: self.iops and self.price_per_iops and self.iops * self.price_per_iops}
        return {way: float(price) for way, price in ways.items() if price is not None}

    def cost(self) -> float:
        """Of one device: its own price, or that by capacity."""
        return next(iter(self.prices().values()))


class Prices(_Strict):
    """A file."""
    title: str
    currency: str
    years: Positive
    technology: tuple[Technology, ...]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for role in ROLES:
            if not any(each.role == role for each in self.technology):
                raise ValueError(f"no technology has the role {role}; give one")
        return self

    def of(self, role: Role) -> Technology:
        """The last one of a role: of disks the faster."""
        return [each for each in self.technology if each.role == role][-1]

    def disks(self) -> tuple[Technology, ...]:
        """Of each kind of disk, by its sheet, the cheapest; in the order of the file."""
        disks = [each for each in self.technology if each.role == "disk"]
        return tuple(each for each in disks if each == min((other for other in disks if other.sheet == each.sheet),
                                                           key=Technology.cost))

    def named(self, name: str) -> Technology:
        """The technology of that name; "" is the faster disk. UserError for a name that is none."""
        if not name:
            return self.of("disk")
        if name not in (known := [each.name for each in self.technology]):
            raise UserError(f"disk is '{name}', but the prices have {', '.join(known)}; choose one of these")
        return self.technology[known.index(name)]

    def with_costs(self, **per_gb: float) -> "Prices":
        """The same with other prices per GB by role; of disks that of the faster one."""
        changed = {self.of(role).name: per_gb[role] for role in ROLES if role in per_gb}
        return self.model_copy(update={"technology": tuple(
            each.model_copy(update={"price": None, "price_per_gb": changed[each.name]}) if each.name in changed else each
            for each in self.technology)})


class Point(NamedTuple):
    """How much of each a pool has."""
    disks: int
    log: int
    cache: int
    memory_gib: float
    disk: str = ""          # name of the technology; "" is the faster one


def names() -> list[str]:
    """Of the files."""
    return sorted(path.stem for path in data_files("prices/*.toml"))


def read(name: str) -> Prices:
    """A file of data/prices. UserError, one sentence, with all that is wrong about it."""
    known = names()
    if name not in known:
        raise UserError(f"there is no file '{name}' in data/prices; " + errors.meant(
            name, known, f"it has {', '.join(known)}: name one of these or write its file"))
    file = data_file(f"prices/{name}.toml")
    try:
        made = Prices.model_validate(published.tomllib.loads(file.read_text()))
    except published.tomllib.TOMLDecodeError as error:
        raise UserError(f"{file.name} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        complaints = [errors.of_value(".".join(map(str, complaint["loc"])), complaint) for complaint in error.errors()]
        raise UserError(f"{file.name}: {'; '.join(dict.fromkeys(complaints))}") from None
    published.refuse_duplicates(file.name, "technology", [each.name for each in made.technology])
    return made


def cost(list_of: Prices, point: Point) -> float:
    """Of a pool and its host's memory, in the list's currency. No server, no power."""
    memory = list_of.of("memory")
    devices: tuple[tuple[Role, int], ...] = (("log", point.log), ("cache", point.cache))
    return (point.disks * list_of.named(point.disk).cost() + sum(n * list_of.of(role).cost() for role, n in devices)
            + point.memory_gib * 2**30 / 1e9 * memory.cost() / memory.gb)


def table(list_of: Prices) -> pd.DataFrame:
    """For readers: a row for each technology, with what one device costs in each way, and their ratio."""
    rows = [{"technology": each.name, "GB": each.gb, **each.prices()} for each in list_of.technology]
    made = pd.DataFrame(rows)
    if BY_IOS in made:
        made["ratio"] = made[BY_IOS] / made[BY_CAPACITY]
    return made
