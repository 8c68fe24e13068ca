"""Settings that a database would read from a text, and a scenario with such a file."""


from study.machines import conf_files, scenario


def read(tmp_path, text, name="file.conf", version=None):
    (tmp_path / name).write_text(text)
    return conf_files.read(tmp_path / name, version).values


def scenario_with(tmp_path, database, own=""):
    (tmp_path / "mine.toml").write_text(
        f'[host]\nmemory_gib = 64\n[pool.data]\nsheet = "savvio-10k2"\n[database]\n{database}\n{own}')
    return scenario.read(tmp_path / "mine.toml")
