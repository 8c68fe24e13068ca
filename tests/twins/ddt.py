"""The dedup table by its rules in plain Python: each object is {prefix of bits, as text: {key: references}}."""
KEY_BITS = 63


def bits(key):
    return f"{key:0{KEY_BITS}b}"


def home(leaves, key):
    """The prefix of the leaf that a key belongs to."""
    text = bits(key)
    return next(text[:n] for n in range(KEY_BITS + 1) if text[:n] in leaves)


def enter(leaves, key, references, capacity):
    """Enter a key that is not there: prefixes of all leaves that changed."""
    prefix, changed = home(leaves, key), {home(leaves, key)}
    while len(leaves[prefix]) == capacity:
        entries = leaves.pop(prefix)
        for bit in "01":
            leaves[prefix + bit] = {k: n for k, n in entries.items() if bits(k)[len(prefix)] == bit}
            changed.add(prefix + bit)
        changed.discard(prefix)
        prefix = home(leaves, key)
    leaves[prefix][key] = references
    return changed


class NaiveTable:
    def __init__(self, capacity):
        self.capacity, self.duplicate, self.unique = capacity, {"": {}}, {"": {}}

    def entries(self):
        return {key: n for leaves in (self.duplicate, self.unique) for leaf in leaves.values() for key, n in leaf.items()}

    def write(self, key):
        """What it was."""
        if key in self.duplicate[home(self.duplicate, key)]:
            self.duplicate[home(self.duplicate, key)][key] += 1
            return "again"
        if key in self.unique[home(self.unique, key)]:
            del self.unique[home(self.unique, key)][key]
            enter(self.duplicate, key, 2, self.capacity)
            return "second"
        enter(self.unique, key, 1, self.capacity)
        return "new"

    def free(self, key):
        leaf = self.duplicate[home(self.duplicate, key)]
        if key in leaf:
            leaf[key] -= 1
            if leaf[key] == 1:
                del leaf[key]
                enter(self.unique, key, 1, self.capacity)
                return "back"
            return "again freed"
        return "last" if self.unique[home(self.unique, key)].pop(key, None) else "absent"


def shape(leaves):
    """Of an object: prefix and keys of each leaf."""
    return {prefix: set(entries) for prefix, entries in leaves.items()}
