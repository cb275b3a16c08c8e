"""The examples in lib/python/README.md, each as a program of its own."""

import os
import re
import subprocess
import sys

import aothip
from checks import done, ok

# As torchrun sets it for one process; port 0 is any that is free.
os.environ.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
PAGE = os.path.join(os.path.dirname(os.path.dirname(aothip.__file__)), "README.md")


def test_examples():
    with open(PAGE) as f:
        sections = re.split(r"^## (.*)$", f.read(), flags=re.M)
    for name, text in zip(sections[1::2], sections[2::2]):
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.S), 1):
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


sys.exit(done(globals()))
