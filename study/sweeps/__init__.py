"""Many runs of a notebook, or many draws of its experiment, on the processors of this machine or of a cluster."""
