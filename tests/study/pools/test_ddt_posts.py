"""Outputs of dedup tables as people post them: of many releases, with prompts, quoted, wrapped, cut. Numbers are made up."""
import pytest

from study.errors import UserError
from study.pools import ddt

HEAD = """bucket              allocated                       referenced          
______   ______________________________   ______________________________
refcnt   blocks   LSIZE   PSIZE   DSIZE   blocks   LSIZE   PSIZE   DSIZE
------   ------   -----   -----   -----   ------   -----   -----   -----
"""
ROWS = """     1    1.50M    192G    150G    151G    1.50M    192G    150G    151G
     2     256K     32G     25G   25.2G     540K   67.5G   52.7G   53.1G
     4    32.0K      4G   3.20G   3.22G     150K   18.8G   15.0G   15.1G
 Total    1.78M    228G    178G    179G    2.17M    278G    218G    219G
"""
HISTOGRAM = HEAD + ROWS
RATIO = "dedup = 1.22, compress = 1.28, copies = 1.01, dedup * compress / copies = 1.55\n"
AGGREGATED = f"\nDDT histogram (aggregated over all DDTs):\n\n{HISTOGRAM}\n{RATIO}"
DUPLICATE, UNIQUE = 294912, 1572864
ENTRIES = DUPLICATE + UNIQUE
OBJECTS = (f"DDT-sha256-zap-duplicate: {DUPLICATE} entries, size 400 on disk, 200 in core\n"
           f"DDT-sha256-zap-unique: {UNIQUE} entries, size 350 on disk, 180 in core\n")
CORE = DUPLICATE * 200 + UNIQUE * 180
ILLUMOS = OBJECTS + AGGREGATED
FDT = (f"DDT-sha256: version=1 [FDT]; flags=0x03 [FLAT LOG]; rootobj=1025\n"
       f"DDT-sha256-zap-duplicate: dspace=100663296; mspace=58982400; entries={DUPLICATE}\n"
       f"DDT-sha256-zap-unique: dspace=436207616; mspace=283115520; entries={UNIQUE}\n"
       "DDT-log-sha256-0: flags=0x00; obj=1030; len=0; txg=8812; entries=0\n"
       "DDT-log-sha256-1: flags=0x02 [CHECKPOINT]; obj=1031; len=327680; txg=8813; entries=1020\n")
STATUS = """  pool: tank
 state: ONLINE
  scan: scrub repaired 0B in 05:12:44 with 0 errors on Sun Mar 12 05:36:45 2023
config:

\tNAME        STATE     READ WRITE CKSUM
\ttank        ONLINE       0     0     0
\t  mirror-0  ONLINE       0     0     0
\t    sda     ONLINE       0     0     0
\t    sdb     ONLINE       0     0     0

errors: No known data errors

"""
NO_TABLE = STATUS.replace("tank", "rpool") + " dedup: no DDT entries\n"


def status(sizes):
    return f"{STATUS} dedup: DDT entries {ENTRIES}, {sizes}\n\n{HISTOGRAM}\n"


def of_object(name):
    return f"DDT-sha256-zap-{name}: object={ {'duplicate': 1027, 'unique': 1028}[name]}\n\n{HISTOGRAM}\n"


def mail(text):
    return "On Tue, 4 May 2010, somebody wrote:\n" + "".join(f"> {line}\n" for line in text.splitlines()) + "\nIt is slow.\n"


OF_2_3 = FDT.replace("DDT-sha256-zap-unique:", of_object("duplicate") + "DDT-sha256-zap-unique:").replace(
    "DDT-log-sha256-0:", of_object("unique") + "DDT-log-sha256-0:")
POSTS = {
    "illumos of 2010, zdb -DD": (ILLUMOS, CORE),
    "illumos, zdb -DDD, with a histogram for each object": (
        OBJECTS.replace("DDT-sha256-zap-unique", f"\n{HISTOGRAM}\n\nDDT-sha256-zap-unique") + f"\n{HISTOGRAM}\n"
        + AGGREGATED, CORE),
    "illumos, with prompt and time": (
        "root@nas:~# time zdb -DD tank\n" + ILLUMOS + "\nreal    12m3.402s\nuser    0m41.120s\nroot@nas:~#\n", CORE),
    "FreeBSD 9, zpool status -D": (
        "[root@freenas ~]# zpool status -D tank\n" + status("size 444 on disk, 143 in core"), ENTRIES * 143),
    "OpenZFS 0.8, zdb -DDDD": (
        OBJECTS + AGGREGATED.replace("\nDDT histogram", "DDT-sha256-zap-duplicate contents:\n\n\nDDT histogram"), CORE),
    "OpenZFS 2.1, zpool status -D": (status("size 444B on disk, 143B in core"), ENTRIES * 143),
    "OpenZFS 2.1, two check-sums": (
        OBJECTS.replace(f"unique: {UNIQUE}", f"unique: {UNIQUE - 1000}")
        + "DDT-skein-zap-unique: 1000 entries, size 350 on disk, 180 in core\n" + AGGREGATED, CORE),
    "OpenZFS 2.2, blake3": (ILLUMOS.replace("sha256", "blake3"), CORE),
    "OpenZFS 2.3, zdb -DD with a log": (FDT + AGGREGATED, 58982400 + 283115520),
    "OpenZFS 2.3, zdb -DDD": (OF_2_3 + AGGREGATED, 58982400 + 283115520),
    "OpenZFS 2.3, zdb -DDDD": (
        (OF_2_3 + AGGREGATED).replace("\nDDT histogram", "DDT-sha256-zap-duplicate: contents:\n\n\nDDT histogram"),
        58982400 + 283115520),
    "OpenZFS 2.3, zpool status -D with a quota": (
        status("size 512M on disk, 326M in core, 301M cached (92.33%)").replace(
            "\n\nbucket", "\n dedup quota: 1G\n\nbucket"), 326 * 2**20),
    "zdb -S": ("Simulated DDT histogram:\n\n" + HISTOGRAM + "\n" + RATIO, None),
    "zdb -S, with prompt": ("$ sudo zdb -S tank\nSimulated DDT histogram:\n\n" + HISTOGRAM + "\n" + RATIO + "$ \n", None),
    "two pools, one without dedup": (NO_TABLE + "\n" + status("size 444B on disk, 143B in core"), ENTRIES * 143),
    "a pool without dedup last": (status("size 444B on disk, 143B in core") + "\n" + NO_TABLE, ENTRIES * 143),
    "a mail": (mail(ILLUMOS), CORE),
    "a mail to a mail": (mail(mail(ILLUMOS)), CORE),
    "lines of Windows": (ILLUMOS.replace("\n", "\r\n"), CORE),
    "Markdown": ("Here it is:\n\n```\n" + ILLUMOS + "```\n\nThanks!\n", CORE),
    "indented by four blanks": ("".join(f"    {line}\n" for line in ILLUMOS.splitlines()), CORE),
    "blanks at the end of lines taken off": ("\n".join(map(str.rstrip, ILLUMOS.splitlines())), CORE),
    "columns parted by single blanks": ("\n".join(" ".join(line.split()) for line in ILLUMOS.splitlines()), CORE),
    "without the head of the histogram's columns": (ILLUMOS.replace(HEAD.splitlines()[1] + "\n", ""), CORE),
    "warnings before": ("zdb: can't open 'tank': but cachefile was found\n" + ILLUMOS, CORE),
}


def read(folder, text):
    """As the command reads a file."""
    path = folder / "post.txt"
    path.write_bytes(text.encode())
    return ddt.read(path)


@pytest.mark.parametrize("post", POSTS)
def test_posts_are_read_right(tmp_path, post):
    text, core = POSTS[post]
    table = read(tmp_path, text)
    assert table.in_core_bytes == core
    assert table.is_simulated == (core is None)
    assert table.entries == pytest.approx(ENTRIES, rel=0.01)
    assert table.ratio == pytest.approx(219 / 179, rel=0.005)


REFUSED = {
    "two pools with tables": (2 * status("size 444B on disk, 143B in core"), "more than one table"),
    "cut after the objects": (OBJECTS, "ends before the histogram"),
    "cut inside the histogram": (ILLUMOS[:ILLUMOS.index(" Total")], "before the row Total"),
    "cut inside a row": (ILLUMOS[:ILLUMOS.index(" Total") - 30], "is no row of the histogram|before the row Total"),
    "cut in an object": (OBJECTS[:-40], "is cut or changed"),
    "cut in a quoted mail": (mail(ILLUMOS)[:mail(ILLUMOS).index("Total")], "before the row Total|is no row"),
    "fast dedup, one object lost": (FDT.replace("DDT-sha256-zap-unique", "") + AGGREGATED, "something is missing|cut"),
    "an object lost": ("\n".join(ILLUMOS.splitlines()[1:]), "something is missing"),
    "a row lost": (ILLUMOS.replace(ROWS.splitlines()[1] + "\n", ""), "something is missing"),
    "a small row lost": (ILLUMOS.replace(ROWS.splitlines()[2] + "\n", ""), "something is missing"),
    "a row of a hundredth lost, of zdb -S": (
        "Simulated DDT histogram:\n\n" + HISTOGRAM.replace(ROWS.splitlines()[2] + "\n", "") + "\n" + RATIO,
        "something is missing"),
    "a digit changed": (ILLUMOS.replace("32.0K      4G", "32.0K      9G"), "rows have 250181844992 logical bytes"),
    "the beginning lost": (ILLUMOS[ILLUMOS.index("     2"):], "has nothing of a dedup table|is cut or changed"),
    "no pool with dedup": (2 * NO_TABLE, "of a pool without dedup"),
    "empty tables": ("All DDTs are empty\n", "of a pool without dedup"),
    "zpool list": ("NAME   SIZE  ALLOC   FREE  CAP  DEDUP  HEALTH\ntank  10.9T  7.2T  3.7T  66%  1.37x  ONLINE\n",
                   "has nothing of a dedup table|no line of a table"),
    "an error": ("zdb: can't open 'tank': No such file or directory\n", "has nothing of a dedup table"),
    "rounded totals of another table": (ILLUMOS.replace("1.78M    228G", "3.56M    456G"), "something is missing"),
}


@pytest.mark.parametrize("post", REFUSED)
def test_what_is_cut_or_of_another_kind_is_one_sentence(tmp_path, post):
    text, words = REFUSED[post]
    with pytest.raises(UserError, match=words) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)
