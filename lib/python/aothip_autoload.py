"""What `import torch` calls where the wheel is installed (PyTorch's entry point for back ends, from
2.5 on): with AOTHIP_ENABLE=1, aothip.enable(); else nothing, and nothing is loaded."""

import os
import sys


def autoload():
    choice = os.environ.get("AOTHIP_ENABLE", "0")
    if choice in ("", "0"):
        return
    if choice not in ("1", "everything"):
        sys.exit(f"aothip: AOTHIP_ENABLE is {choice!r}; it may be 0, 1 or everything")
    import aothip

    aothip.enable(everything=choice == "everything")
