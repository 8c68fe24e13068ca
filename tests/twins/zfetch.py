"""zfetch of one file a second time, as plainly as it can be said: a list of dictionaries, in unsigned arithmetic.

Written from the specification (section 4.4), in its words and letters, not from the kernels. `defect` breaks one rule
on purpose.
"""

DEFECTS = (
    "new streams come last",
    "streams are asked oldest first",
    "a covered block counts as a use",
    "covered whether prefetched or not, the other way round",
    "the window never stops growing",
    "a window grows backward past its limit",
    "sequential streams are never reset",
    "a window of one block is reset as well",
    "striding streams are never reset",
    "a reset ends there",
    "a reset stream is kept",
    "no backward streams",
    "no forward strides",
    "no backward strides",
    "strides move the window by a block",
    "no colinear streams",
    "colinear only forward",
    "colinear streams are both kept",
    "a merged stream keeps its stride",
    "the cap stays as it is",
    "the cap has no limit",
    "the cap is in blocks",
    "prefetches again what it has prefetched",
    "prefetching is not a use",
    "goes on behind the end of the file",
    "takes no block more at the end of the file",
    "stops short of the start of the file",
    "goes past the start of the file",
    "streams idle for two seconds are replaced",
    "idle streams are never replaced",
    "a file may have a stream more",
    "small files have no stream",
    "every file may have all streams",
    "a stream may be there twice",
)
M = 2**64


class TwinOfZfetch:
    """`streams` is the list, head first; a stream has o, l, s, p, c, d, last as in the specification."""

    def __init__(self, params, defect=None):
        assert defect is None or defect in DEFECTS
        self.params, self.defect, self.streams = params, defect, []

    def has(self, defect):
        assert defect in DEFECTS
        return self.defect == defect

    def read_block(self, b, prefetched, now, maxblkid):
        """What to prefetch, as a list of (start, count)."""
        self.now, self.maxblkid, self.fetched = now, maxblkid, []
        if not self.find(b, prefetched) and not self.colinear(b):
            self.new(b)
        return self.fetched

    # (1)

    def find(self, b, prefetched):
        """Whether that was all."""
        for z in self.streams[::-1] if self.has("streams are asked oldest first") else self.streams:
            covered = (z["o"] + z["l"]) % M > b >= z["o"]
            if covered and self.counts_as_covered(prefetched):
                if self.has("a covered block counts as a use"):
                    z["last"] = self.now
                return True
            reset = self.offer(z, b, prefetched)
            if reset is not None:
                break
        else:
            return False
        if reset and not self.has("a reset stream is kept"):
            self.streams.remove(z)
        if reset:
            return self.has("a reset ends there")
        self.dofetch(z)
        return True

    def counts_as_covered(self, prefetched):
        always = self.params.covered_if_missed
        if self.has("covered whether prefetched or not, the other way round"):
            always = not always
        return prefetched or always

    def offer(self, z, b, prefetched):
        """None if b is not for z; else whether z is to be reset."""
        sequential = not prefetched and (z["l"] > 1 or self.has("a window of one block is reset as well"))
        sequential = sequential and not self.has("sequential streams are never reset")
        strided = not prefetched and not self.has("striding streams are never reset")
        step = 1 if self.has("strides move the window by a block") else z["s"]
        if b == (z["o"] + z["l"]) % M:
            self.grow_forward(z)
            return sequential
        if b == (z["o"] - 1) % M and not self.has("no backward streams"):
            self.grow_backward(z)
            return sequential
        if (b - z["o"] - z["s"]) % M < z["l"] != z["s"] and not self.has("no forward strides"):
            z.update(o=z["o"] + step, d=1)
            return strided
        if (b - z["o"] + z["s"]) % M < z["l"] != z["s"] and not self.has("no backward strides"):
            z.update(o=z["o"] - step if z["o"] > step else 0, d=-1)
            z["p"] = z["p"] - 2 * z["s"] if z["p"] > 2 * z["s"] else 0
            return strided
        return None

    def grow_forward(self, z):
        z.update(l=z["l"] + 1, d=1)
        excess = z["l"] - self.params.block_cap
        if excess > 0 and not self.has("the window never stops growing"):
            z.update(o=z["o"] + excess, l=z["l"] - excess)

    def grow_backward(self, z):
        z.update(o=z["o"] - 1 if z["o"] > 1 else 0, p=z["p"] - 1 if z["p"] > 1 else 0, l=z["l"] + 1, d=-1)
        excess = z["l"] - self.params.block_cap
        if excess > 0 and not self.has("a window grows backward past its limit"):
            z.update(p=z["p"] - excess if z["p"] > excess else 0, l=z["l"] - excess)

    # (2)

    def colinear(self, b):
        for i, w in enumerate(self.streams):
            for c in self.streams[i + 1:]:
                if self.has("no colinear streams") or w["l"] != w["s"] or c["l"] != c["s"]:
                    continue
                for base, diff in ((c, c["o"] - w["o"]), (w, w["o"] - c["o"])):
                    if base["o"] + diff == b and (diff >= 0 or not self.has("colinear only forward")):
                        self.merge(w, c, b, diff)
                        return True
        return False

    def merge(self, w, c, b, diff):
        stride = w["s"] if self.has("a merged stream keeps its stride") else abs(diff)
        w.update(o=b, d=-1 if diff < 0 else 1, s=stride, p=b + stride)
        if not self.has("colinear streams are both kept"):
            self.streams = [z for z in self.streams if z is not c]
        self.dofetch(w)

    # (3)

    def new(self, b):
        idle_s = 1 if self.has("streams idle for two seconds are replaced") else self.params.min_idle_s
        idle = [z for z in self.streams if (self.now - z["last"]) // self.params.hz > idle_s]
        if idle and not self.has("idle streams are never replaced"):
            self.streams = [z for z in self.streams if z is not idle[0]]
        elif len(self.streams) >= self.limit():
            return
        z = {"o": b, "l": 1, "s": 1, "p": b + 1, "c": 1, "d": 1, "last": self.now}
        others = [{**stream, "last": self.now} for stream in self.streams]
        if z not in others or self.has("a stream may be there twice"):
            self.streams.insert(len(self.streams) if self.has("new streams come last") else 0, z)

    def limit(self):
        share = self.maxblkid // self.params.block_cap
        if self.has("every file may have all streams"):
            share = self.params.max_streams
        n_min = 0 if self.has("small files have no stream") else 1
        return max(n_min, min(self.params.max_streams, share)) + self.has("a file may have a stream more")

    # dofetch

    def dofetch(self, z):
        cap = M if self.has("the cap has no limit") else self.params.block_cap
        z["s"] = max(z["s"], z["l"])
        z["c"] = z["c"] if self.has("the cap stays as it is") else min(cap, 2 * z["c"])
        t = z["o"] + z["s"] if self.has("prefetches again what it has prefetched") else max(z["p"], z["o"] + z["s"])
        limit = z["o"] + z["l"] + (z["c"] if self.has("the cap is in blocks") else z["c"] * z["s"] // z["l"])
        while t < limit:
            a = z["o"] + z["d"] * (t - z["o"])
            if a < 0:
                if (-a > z["l"] or self.has("stops short of the start of the file")) and (
                        not self.has("goes past the start of the file")):
                    break
                a = 0
            got = self.fetch(a, z["l"])
            t += z["s"]
            if got < z["l"] and not self.has("goes on behind the end of the file"):
                break
        z["p"] = t
        if not self.has("prefetching is not a use"):
            z["last"] = self.now

    def fetch(self, a, n):
        if a > self.maxblkid:
            return 0
        more = 0 if self.has("takes no block more at the end of the file") else 1
        if a + n + more > self.maxblkid:
            n = self.maxblkid - a + 1 if more else min(n, self.maxblkid - a + 1)
        self.fetched.append((a, n))
        return n
