"""RAID-Z sector by sector: a naive twin of `model.zfs.vdev.raid`, with defects that tests must notice."""

DEFECTS = (
    "parity is last in its row",
    "the data fills row after row",
    "parity never changes places",
    "every block begins on the first disk",
    "a run is not rounded up",
    "a run is rounded up to p",
    "the last row has no parity",
)


def cells(n_children, n_parity, ashift, offset, psize, defect=None):
    """(what is in every sector of a block, as {sector: ("parity", row), ("data", number) or ("padding", 0)})."""
    assert defect is None or defect in DEFECTS
    sector_bytes = 2**ashift
    first = offset // sector_bytes
    if defect == "every block begins on the first disk":
        first -= first % n_children
    left, sector, rows = -(-psize // sector_bytes), first, []
    while left:  # row after row, every row n_children sectors long but the last
        here = min(left, n_children - n_parity)
        parity = 0 if defect == "the last row has no parity" and here == left and rows else n_parity
        roles = ["parity"] * parity + ["data"] * here
        if defect == "parity is last in its row":
            roles.reverse()
        rows.append([(sector + i, role) for i, role in enumerate(roles)])
        sector += len(roles)
        left -= here
    if n_parity == 1 and offset // 2**20 % 2 and defect != "parity never changes places":
        rows = [[(row[1][0], row[0][1]), (row[0][0], row[1][1]), *row[2:]] for row in rows]
    if defect == "the data fills row after row":
        data = [at for row in rows for at, role in row if role == "data"]
    else:  # one column after the other
        columns = range(max(len(row) for row in rows))
        data = [row[i][0] for i in columns for row in rows if i < len(row) and row[i][1] == "data"]
    by_sector = {at: ("data", number) for number, at in enumerate(data)}
    by_sector |= {at: ("parity", i) for i, row in enumerate(rows) for at, role in row if role == "parity"}
    step = {"a run is not rounded up": 1, "a run is rounded up to p": n_parity}.get(defect, n_parity + 1)
    while len(by_sector) % step:
        by_sector[sector] = ("padding", 0)
        sector += 1
    return by_sector


def on_disks(n_children, by_sector):
    """The same by (disk, sector of the disk)."""
    return {(sector % n_children, sector // n_children): content for sector, content in by_sector.items()}
