"""What the tests of the Python module share: TAP, and comparisons of NumPy arrays."""

count = failed = 0
where = ""  # before every name


def ok(good, name):
    global count, failed
    count += 1
    failed += not good
    print("ok" if good else "not ok", count, "-", where + name)


def near(got, expected, tolerance, name):
    import numpy

    got, expected = numpy.asarray(got, numpy.float64), numpy.asarray(expected, numpy.float64)
    error = numpy.max(numpy.abs(got - expected), initial=0)
    ok(error <= tolerance, name)
    if not error <= tolerance:
        print(f"#   largest error {error}, allowed {tolerance}")


def raises(kind, text, function, name):
    try:
        function()
    except kind as why:
        ok(text in str(why), name)
        if text not in str(why):
            print(f"#   says: {why}")
    except Exception as why:
        ok(False, name)
        print(f"#   raises {type(why).__name__}: {why}")
    else:
        ok(False, name)


FP8 = "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"


def fp8_values(kind):
    """What the 256 codes of a type of FP8 stand for."""
    bits, fnuz, values = 3 if "e4m3" in kind else 2, kind.endswith("fnuz"), []
    bias = (1 << (6 - bits)) - (0 if fnuz else 1)
    for code in range(256):
        exponent, fraction = (code & 127) >> bits, code & ((1 << bits) - 1)
        value = (fraction / 2**bits + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias)
        if code == 0x80 if fnuz else code & 127 == 127 if bits == 3 else exponent == 31:
            value = float("nan") if fnuz or fraction else float("inf")
        values.append(-value if code & 128 else value)
    return values


def fp8_multiplied(gpu):
    """The type of FP8 whose q this GPU takes; None: it takes none."""
    return ("float8_e4m3fnuz" if gpu == "gfx942" else
            "float8_e4m3fn" if gpu[:5] in ("gfx95", "gfx12") else None)


def close(got, want, tolerance):
    """Whether tensors agree, as far as the largest of `want` goes."""
    return float((got - want).abs().max()) <= tolerance * max(1e-2, float(want.abs().max()))


class Launches:
    """How often aothip has computed attention, by ctypes."""

    def __init__(self):
        from aothip import attention

        self.count, own = 0, attention.Problem.forward

        def forward(problem, *arguments, **named):
            self.count += 1
            return own(problem, *arguments, **named)

        attention.Problem.forward = forward


def each_model(module, rows, compare, label=0):
    """compare() of each row, whose first is a class of `module`; rows[label] names it."""
    for row in rows:
        if not hasattr(module, row[0]):
            ok(True, f"{row[label]} # SKIP not in {module.__name__} {module.__version__}")
            continue
        try:
            compare(*row)
        except Exception as why:  # the other models still run
            ok(False, f"{row[label]}: {type(why).__name__}: {why}")


def flash_attn_for_host():
    """pip's flash-attn; None without it. Its operators are declared for GPUs alone: here the same
    functions of the package serve tensors of the host."""
    try:
        import flash_attn
        from flash_attn import flash_attn_interface
    except ImportError:
        return None
    for name in ("_flash_attn_forward", "_flash_attn_varlen_forward", "_flash_attn_backward",
                 "_flash_attn_varlen_backward"):
        operator = getattr(flash_attn_interface, name)
        if hasattr(operator, "register_kernel"):
            operator.register_kernel("cpu")(operator._init_fn)
    return flash_attn


def run(names):
    """Runs every test_* among `names`."""
    for test in [f for name, f in sorted(names.items()) if name.startswith("test_")]:
        try:
            test()
        except Exception as why:  # the other tests still run
            ok(False, f"{test.__name__}: {type(why).__name__}: {why}")


def plan():
    """The last line; the exit status."""
    print(f"1..{count}")
    return failed > 0


def done(names):
    """Both; the exit status."""
    run(names)
    return plan()
