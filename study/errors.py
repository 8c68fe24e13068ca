"""The one kind of error that is the user's to mend."""
import errno

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS}


class UserError(Exception):
    """One sentence: what is wrong, its value, the bound, what to do. The command line prints it and exits with 2."""


def of_the_system(error: OSError) -> UserError:
    """An error of the file system as one sentence."""
    where = f" at {error.filename}" if error.filename else ""
    if error.errno in NO_SPACE:
        return UserError(f"no space left{where} ({error.strerror}); free some and run the same command again: "
                         "finished runs are kept and not repeated")
    if error.errno in NOT_WRITABLE:
        return UserError(f"cannot write{where} ({error.strerror}); make the folder writable (STUDY_RUNS names another "
                         "place for runs and their store)")
    return UserError(f"{error.strerror or error}{where}; mend it and run the same command again")
