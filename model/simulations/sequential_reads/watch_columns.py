"""Columns of what is recorded of sequential readers (`model.simulations.sequential_reads.state.Recorder`). Imported as
`watched`. Those of commands: `model.zfs.vdev.recorder_columns`."""

# Elements of Recorder.n.
ACTIVITIES = 0  # count of activities recorded
COMMANDS = 1  # count of commands recorded: recorded.COMMANDS
CALLS = 2  # count of calls of zfetch recorded
N_TABLES = 3

# Columns of Recorder.activities.
BEGAN = 0  # ns
ENDED = 1  # ns
ACTIVITY = 2  # COPYING, ISSUING, WAITING or STALLED
WAITED_FOR = 3  # index of the indirect block that the thread waited for, or NOBODY
N_ACTIVITY_COLUMNS = 4

# Columns of Recorder.calls.
FILE = 0  # index of the file
RECORD = 1  # index of the record that zfetch was shown, in the file
WAS_THERE = 2  # 1: the record was in core or being read
TICK = 3  # clock tick of the call
N_ASKED = 4  # count of records that zfetch asked for
N_CALL_COLUMNS = 5
