"""The machine that tests of advice ask about, and its steps."""


from study import project

HERE = project.DATA / "machines" / "two-disks-and-an-ssd.toml"


def the(all_steps, recipe):
    return [step for step in all_steps if step.recipe.id == recipe]
