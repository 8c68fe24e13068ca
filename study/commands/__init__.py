"""The command line `study`; each verb is thin, and the work is done in the packages below."""
