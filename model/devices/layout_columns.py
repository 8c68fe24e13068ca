"""The columns of the tables of a layout (`model.devices.disk_geometry.Layout`)."""

# Columns of Layout.zones, a row for each zone. BLOCK, SLIP and REMAP also hold the ends of the last zone, in one row more.
BLOCK = 0  # number of its first block
CYLINDER = 1  # index of its first cylinder
SECTORS = 2  # count of sectors of a track
GRAIN = 3  # count of sectors of a grain: 1, or those of a track
UNIT = 4  # count of grains of a unit
DATA = 5  # count of those with data
FRONT = 6  # count of spare ones in front of the data
EMPTY = 7  # count of data sectors at the start that hold no block
SLIP = 8  # index of its first slip
REMAP = 9  # index of its first remap
N_ZONE_COLUMNS = 10  # count

# Columns of Layout.turns, a row for each zone.
OFFSET = 0  # sectors by which its first track is turned against the index
TRACK_SKEW = 1  # sectors by which a track is turned against the one before it in the cylinder
CYLINDER_SKEW = 2  # sectors by which a cylinder's first track is turned against the track before it
N_TURN_COLUMNS = 3  # count

# Columns of Layout.slips, rising within a zone.
PLACE = 0  # index of the grain that is skipped
KEY = 1  # index, as search key, in grains: see model.devices.disk_geometry
N_SLIP_COLUMNS = 2  # count

# Columns of Layout.remaps. The first two rise by DEFECT, the last two by SORTED_HOME.
DEFECT = 0  # index: place of a defect
HOME = 1  # place where its block lives
SORTED_HOME = 2  # place where a block lives
ITS_DEFECT = 3  # place of the defect of that block
N_REMAP_COLUMNS = 4  # count
