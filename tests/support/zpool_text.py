"""Output of zpool iostat as each release lays it out, from values that a test knows. The rules are those of
cmd/zpool/zpool_main.c, not the importer's."""
WAITS = {"0.7": 9, "0.8": 10, "2.2": 11}
QUEUES = {"0.7": 10, "0.8": 12, "2.2": 14}
OF_WAITS = "total_wait disk_wait syncq_wait asyncq_wait scrub trim rebuild"
HEADS = {"l": {9: OF_WAITS.removesuffix(" trim rebuild"), 10: OF_WAITS.removesuffix(" rebuild"), 11: OF_WAITS},
         "q": "syncq_read syncq_write asyncq_read asyncq_write scrubq_read trimq_write rebuildq_write"}


def header(release, options):
    heads, words = ["capacity", "operations", "bandwidth"], ["alloc", "free", "read", "write", "read", "write"]
    if "l" in options:
        heads += HEADS["l"][WAITS[release]].split()
        words += ["read", "write"] * 4 + ["wait"] * (WAITS[release] - 8)
    if "q" in options:
        heads += HEADS["q"].split()[:QUEUES[release] // 2]
        words += ["pend", "activ"] * (QUEUES[release] // 2)
    return (f"{'':14}{'   '.join(heads)}\n{'pool':14}{'  '.join(words)}\n{'-' * 12}  {'  '.join(['-----'] * len(words))}\n")


def width(release, options):
    return 6 + (WAITS[release] if "l" in options else 0) + (QUEUES[release] if "q" in options else 0)


def table(release, options, reports, stamps=None, bare=False):
    """`reports`: a list of {indented name: values}; `bare` is -H."""
    text = ""
    for n, rows in enumerate(reports):
        if stamps:
            text += f"{stamps[n]}\n"
        if not bare:
            text += header(release, options)
        for name, values in rows.items():
            shown = ["-" if value is None else str(value) for value in values]
            text += "\t".join([name.strip(), *shown]) + "\n" if bare else f"{name:14}{'  '.join(shown)}\n"
    return text


def waits(release, pool, rows, bare=False):
    """-w: `rows` are (label, values)."""
    n = WAITS[release]
    if bare:
        return f"\n{pool}\n" + "".join("\t".join(map(str, (label, *values))) + "\n" for label, values in rows)
    heads = ["total_wait", "disk_wait", "sync_queue" if release == "0.7" else "syncq_wait",
             "async_queue" if release == "0.7" else "asyncq_wait"]
    words = ["read", "write"] * 4 + ["scrub", "trim", "rebuild"][:n - 8]
    return (f"{pool:12}{'  '.join(heads)}\n{'latency':12}{'  '.join(words)}\n{'-' * 10}  {'  '.join(['-----'] * n)}\n"
            + "".join(f"{label!s:12}{'  '.join(map(str, values))}\n" for label, values in rows) + f"{'-' * 40}\n")
