"""The examples in the pages lib/python/doors, each as a program of its own."""

import glob
import os
import re
import subprocess
import sys

import aothip
from checks import done, ok

# As torchrun sets it for one process; port 0 is any that is free.
os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1",
                  MASTER_PORT="0")
PAGES = os.path.join(os.path.dirname(os.path.dirname(aothip.__file__)), "doors", "*.md")


def run_examples(page):
    name = os.path.basename(page)
    with open(page) as f:
        examples = re.findall(r"```python\n(.*?)```", f.read(), re.S)
    ok(examples, f"{name} has an example")
    for number, code in enumerate(examples, 1):
        missing = [module for module in re.findall(r"^(?:import|from) (\w+)", code, re.M)
                   if module != "aothip" and subprocess.run(
                       [sys.executable, "-c", f"import {module}"],
                       capture_output=True).returncode]
        if missing:
            ok(True, f"{name}, example {number} # SKIP no {', '.join(missing)}")
            continue
        found = subprocess.run([sys.executable, "-W", "error::DeprecationWarning:__main__",
                                "-c", code], capture_output=True, text=True)
        ok(found.returncode == 0, f"{name}, example {number}")
        if found.returncode:
            print("#  ", found.stderr.replace("\n", "\n#   "))


def test_examples():
    for page in sorted(glob.glob(PAGES)):
        run_examples(page)


sys.exit(done(globals()))
