"""aothip-torch on a made-up PyTorch: what it says, swaps and restores, and that it leaves one or the
other wherever it is killed: at each thing that it asks of the system.

usage: test_swap.py PROGRAM TORCH OURS SCRATCH
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shutil
import sys

program, TORCH, OURS, scratch = sys.argv[1:]
loader = importlib.machinery.SourceFileLoader("aothip_torch", program)
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("aothip_torch", loader))
sys.dont_write_bytecode = True
loader.exec_module(tool)
NAME = "libaotriton_v2.so.0.11.2"
tree = os.path.join(scratch, "torch")
count = failed = 0


def ok(good, name):
    global count, failed
    count += 1
    failed += not good
    print("ok" if good else "not ok", count, "-", name)


def picture(directory):
    """Every name below a directory, with content, mode and time of files."""
    found = {}
    for where, names, files in os.walk(directory):
        for name in names + files:
            path = os.path.join(where, name)
            about = os.lstat(path)
            if os.path.islink(path):
                what = os.readlink(path)
            elif os.path.isdir(path):
                what = None
            else:
                with open(path, "rb") as f:
                    what = f.read(), about.st_mode, about.st_mtime_ns
            found[os.path.relpath(path, directory)] = what
    return found


def fresh():
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(TORCH, tree, symlinks=True)


def run(*words):
    """(exit status, what it says)"""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = tool.main(["--torch", tree, *words])
    return status, said.getvalue()


def killed_at(n, *words):
    """Runs it in a process that ends at the n-th thing asked of the system; False if it was done
    before."""
    child = os.fork()
    if child == 0:
        left = n

        def hook(event, _):
            nonlocal left
            if event == "open" or event.startswith(("os.", "shutil.")):
                left -= 1
                if not left:
                    os._exit(9)

        sys.addaudithook(hook)
        os._exit(run(*words)[0])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def whole(before, ours):
    """Whether PyTorch has AOTriton's library or ours, with all it needs, and lost nothing."""
    now = picture(tree)
    lost = [n for n in before if n != "lib/" + NAME and now.get(n) != before[n]]
    library = now["lib/" + NAME]
    if lost or library is None:
        return False
    if library[0] == before["lib/" + NAME][0]:
        return True
    return library[0] == ours[NAME][0] and all(
        now.get("lib/" + n, (None,))[0] == what[0] for n, what in ours.items()
        if n.startswith("aotriton.images/") and what and "__signature__" not in n)


fresh()
BEFORE, ours = picture(tree), picture(OURS)
status, said = run("status", OURS)
ok(status == 0 and "wants AOTriton 0.11.2" in said and "it has AOTriton" in said and
   "fits it" in said and "of aothip: none" in said, "status before")
status, said = run("use", OURS)
ok(status == 0 and picture(tree)["lib/" + NAME][0] == ours[NAME][0], "ours is put there")
ok(whole(BEFORE, ours), "with its images, and nothing is lost")
status, said = run("status", OURS)
ok("it has aothip" in said and "of aothip: gfx1100 gfx942" in said, "status then")
once = picture(tree)
ok(run("use", OURS)[0] == 0 and {n: w and w[0] for n, w in picture(tree).items()} ==
   {n: w and w[0] for n, w in once.items()}, "putting it there again changes nothing")
ok(run("restore")[0] == 0 and picture(tree) == BEFORE, "restored to the byte, mode and time")
ok(run("restore")[0] == 0 and picture(tree) == BEFORE, "restoring again changes nothing")

# A library that stands in under another's name is a link.
os.rename(f"{tree}/lib/{NAME}", f"{tree}/lib/other.so")
os.symlink("other.so", f"{tree}/lib/{NAME}")
linked = picture(tree)
ok(run("use", OURS)[0] == 0 and run("restore")[0] == 0 and picture(tree) == linked, "a link, too")

# pip put another AOTriton there meanwhile.
fresh()
run("use", OURS)
os.remove(f"{tree}/lib/{NAME}")
shutil.copy2(f"{TORCH}/lib/newer.so", f"{tree}/lib/{NAME}")
ok(run("use", OURS)[0] == 0 and run("restore")[0] == 0, "after PyTorch was installed anew")
ok(picture(tree)["lib/" + NAME][0] == BEFORE["lib/newer.so"][0], "its own library comes back")

fresh()
for name, words, text in (("nothing", ("use", scratch), "has none"),
                          ("theirs", ("use", f"{tree}/lib"), "is not aothip"),
                          ("one that needs another", ("use", f"{OURS}/needy"), "stand alone"),
                          ("another release", ("use", f"{OURS}/older"), "has 0.10.0")):
    status, said = run(*words)
    ok(status == 1 and text in said and picture(tree) == BEFORE, f"refused: {name}")
    if text not in said:
        print("#", said)
ok("--with-aotriton-abi=0.11.2b" in said, "and says how to configure")
ok(run("swap")[0] == 2 and run("use", "a", "b")[0] == 2, "wrong usage")
os.remove(f"{tree}/lib/libtorch_hip.so")
ok("no PyTorch that was built for ROCm" in run()[1], "no PyTorch for ROCm")

for words, prepare in ((("use", OURS), ()), (("restore",), (("use", OURS),)),
                       (("use", OURS), (("use", OURS),))):
    bad, n = [], 0
    while True:
        n += 1
        fresh()
        for earlier in prepare:
            run(*earlier)
        if not killed_at(n, *words):
            break
        if not whole(BEFORE, ours):
            bad.append(f"{n}: neither")
        middle = f"{scratch}/middle"
        shutil.rmtree(middle, ignore_errors=True)
        shutil.copytree(tree, middle, symlinks=True)
        if run("restore")[0] or picture(tree) != BEFORE:
            bad.append(f"{n}: not restored")
        shutil.rmtree(tree)
        os.rename(middle, tree)
        if run("use", OURS)[0] or tool.Torch(tree).ours() is False or not whole(BEFORE, ours):
            bad.append(f"{n}: not completed")
        if run("restore")[0] or picture(tree) != BEFORE:
            bad.append(f"{n}: not restored then")
    ok(not bad and n > 15, f"{words[0]}{' again' * (words[0] == 'use' and bool(prepare))}, killed "
       f"at each of {n - 1} steps, leaves one or the other, and can be done again")
    for line in bad:
        print("#", line)

print(f"1..{count}")
sys.exit(failed > 0)
