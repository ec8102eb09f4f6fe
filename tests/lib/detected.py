#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Count the random streams that `ntrace decode --detect` decodes exactly.

    detected.py FOLDER FIRST COUNT plain|cut|ring|deviating

FOLDER has prog.elf, prog.pcs with its executed PCs, and the program roundtrip (tests/dialect). A seed selects an
encoder and its options. "cut" removes the start of the stream, and "ring" puts it into a ring buffer that wraps. A
seed is exact if `ntrace decode` prints the same PCs with --detect and with the options of the encoder. The program
lists the seeds that are not exact.

With "deviating", the board's encoder uses random deviations and variants. Each stream is decoded with options
that name the deviations, and without them, and both results are compared with the executed PCs.
"""
import os
import random
import resource
import shutil
import subprocess
import sys

TOP = os.path.abspath(os.path.dirname(__file__) + "/../..")
OUT = os.environ.get("O", TOP + "/build")
RTL = TOP + "/tests/dialect/rtl/"
RETURNS = ("return-over-sync", "return-over-debug", "good-htm", "primes-htm-ir", "primes-htm-all")


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def decode(args):
    """Return the printed PCs, the error messages, and the processor time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(OUT + "/bin/ntrace", "decode", "--pcs", *args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, done.stderr.decode(), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def board(rng, folder, work, more=()):
    """Make a trace of the board's encoder. Return the options for the code, and those for the encoder."""
    pcs = open(folder + "/prog.pcs", "rb").read().split()
    size = rng.choice([300, 3000, 20000])
    at = rng.randrange(max(1, len(pcs) - size))
    with open(work + "/pcs", "wb") as file:
        file.write(b"\n".join(pcs[at:at + size]) + b"\n")
    encode, true = list(more), []

    def maybe(chance, *options):
        if rng.random() < chance:
            encode.extend(options)
            return True
        return False

    for options in (["--timestamp"], ["--sequential-jump"], ["--all-jumps"], ["--extend-addr"]):
        true += options if maybe(0.3, *options) else []
    if maybe(0.4, "--implicit-return"):
        true += ["--implicit-return"]
        maybe(0.4, "--return-depth", str(rng.choice([1, 2, 4, 8, 16])))
    if rng.random() < 0.5:
        bits = rng.randrange(1, 13)
        encode += ["--src-bits", str(bits), "--src", str(rng.randrange(1 << bits))]
        true += ["--src-bits", str(bits)]
    btm = maybe(0.4, "--mode", "btm")
    maybe(0.4, "--repeat-branch" if btm else "--repeated-history")
    maybe(0.3, "--context", str(rng.randrange(1, 1000)))
    maybe(0.3, "--btype-extended")
    maybe(0.2, "--hist-always")
    maybe(0.2, "--hist-bits", str(rng.randrange(2, 32)))
    maybe(0.2, "--icnt-bits", str(rng.randrange(6, 22)))
    maybe(0.6, "--sync-mode", str(rng.randrange(1, 4)), "--sync-max", str(rng.randrange(9)))
    run(OUT + "/bin/ntrace-dev", "encode", "--elf", folder + "/prog.elf", "--pcs", work + "/pcs", "-o", work + "/t",
        *encode)
    return ["--elf", folder + "/prog.elf"], true


DEVIATIONS = ("sync-lacks-bit", "direct-sync-in-htm", "hist-in-btm", "no-hist-in-htm", "stack-over-sync")
VARIANTS = ("pad", "idle", "split", "icnt-first", "hist-any", "hist-flush", "hrepeat-split", "linear-direct", "trigger",
            "ownership", "vendor", "vendor-codes", "debug", "return-strict")


def deviating(rng, folder, work):
    """Make a trace of the board's encoder with random deviations. Return the options for the code, those for the
    encoder, and those that name the deviations."""
    deviations = [name for name in DEVIATIONS if rng.random() < 0.5]
    chosen = deviations + [name for name in VARIANTS if rng.random() < 0.1]
    code, true = board(rng, folder, work, [word for name in chosen for word in ("--variant", name)] +
                       (["--sync-delayed"] if rng.random() < 0.5 else []))
    return code, true, ["--accept", ",".join(deviations)] if deviations else []


def is_part(pcs, executed):
    """Return True if all PCs were executed in this order, possibly with others between them."""
    rest = iter(executed)
    return all(pc in rest for pc in pcs)


def deviate(first, count, folder):
    """Decode traces with random deviations, and print how many results equal the executed PCs."""
    named = unknown = total = wrong = 0
    for seed in range(first, first + count):
        rng = random.Random(seed)
        work = f"{folder}/deviating-{seed}"
        os.makedirs(work, exist_ok=True)
        code, true, names = deviating(rng, folder, work)
        executed = open(work + "/pcs", "rb").read()
        right, messages, _ = decode(true + names + code + [work + "/t"])
        found = decode(true + code + [work + "/t"])[0]
        named += right == executed
        total += executed.count(10)
        unknown += found.count(10)
        part = is_part(found.split(), executed.split())
        wrong += not part
        if right != executed or not part:
            print(f"# {seed}: {' '.join(true + names)}: {messages.partition(chr(10))[0]}"
                  f"{'' if part else ', and a wrong PC if unknown'}", flush=True)
        else:
            shutil.rmtree(work)
    print(f"{named} of {count} exact with named deviations; {100 * unknown / total:.2f} % of {total} instructions "
          f"without a name, {wrong} runs with an instruction that was not executed")


def by_chance(rng, _folder, work):
    """Make a trace of the encoder of tests/random."""
    run(OUT + "/random/random", "--seeds", str(rng.randrange(1, 10 ** 6)), "1", "procs=1", "cut=0", "parallel=0",
        "mixed=0", "guests=0", "--dump", work + "/t")
    return open(work + "/t.code").read().split(), open(work + "/t.options").read().split()


def dialect(rng, folder, work):
    """Make a trace of the encoder of tests/dialect, which imitates SiFive's encoder or the K3's."""
    kind = rng.choice(["k3", "random", "random"])
    run(folder + "/roundtrip", "write", str(rng.randrange(1, 10 ** 6)), str(rng.choice([400, 4000])), work, kind, "1")
    os.rename(work + "/0.nt", work + "/t")
    code = ["--elf", work + "/prog.elf"]
    if kind == "k3":
        return code, ["--src-bits", "12", "--timestamp"]
    executed = open(work + "/0.pcs", "rb").read()
    every = [["--encoder", "sifive0", "--src-bits", str(bits)] for bits in range(3)]
    return code, next(true for true in every if decode(true + code + [work + "/t"])[0] == executed)


def rtl(rng, _folder, work):
    """Choose a trace of the encoder in RTL that others wrote (tests/dialect/rtl)."""
    names = sorted(name[:-3] for name in os.listdir(RTL) if name.endswith(".nt") and os.path.exists(
        RTL + name[:-3] + ".pcs") and not name.startswith(("jtc", "overflow"))) + ["primes-btm", "primes-htm-all"]
    name = rng.choice(names)
    shutil.copy(RTL + name + ".nt", work + "/t")
    elf = TOP + "/samples/primes" if name.startswith("primes") else RTL + name + ".elf"
    return ["--elf", elf], ["--encoder", "accemic"] + (["--implicit-return"] if name in RETURNS else []) + (
        ["--timestamp"] if name.endswith("all") else [])


def damage(how, rng, path):
    """Cut the trace, or put it into a ring buffer that wraps. Return the decoder options that this requires."""
    data = open(path, "rb").read()
    true = []
    if how == "cut":
        data = data[rng.randrange(1, max(2, len(data) // 3)):]
        true = ["--middle"]
    elif how == "ring" and len(data) > 400:
        ring = rng.randrange(200, len(data) - 1)
        at = len(data) % ring
        data = data[len(data) - at:] + data[len(data) - ring:len(data) - at]
        true = ["--wrapped-at", str(at)] if at else ["--middle"]
    with open(path, "wb") as file:
        file.write(data)
    return true


def is_exact(seed, how, folder):
    """Make the stream of a seed. Return True if its detection is exact, and the seconds that detection took."""
    rng = random.Random(seed)
    work = f"{folder}/{how}-{seed}"
    os.makedirs(work, exist_ok=True)
    maker = rng.choice([board, board, by_chance, by_chance, dialect, rtl])
    code, true = maker(rng, folder, work)
    trace = work + "/t"
    true += damage(how, rng, trace)
    if how == "plain" and maker is not rtl and rng.random() < 0.15:
        run(sys.executable, TOP + "/tests/dialect/formatter.py", work + "/frames", f"{rng.randrange(1, 0x6f)}={trace}")
        trace = work + "/frames"
        true += ["--frames"]
    right, _, plain = decode(true + code + [trace])
    found, messages, seconds = decode(["--detect"] + code + [trace])
    # --middle skips the first message after a cut. If the cut is exactly between two messages, --detect also
    # decodes this message
    exact = found == right or (how == "cut" and right and found.endswith(right))
    if exact:
        shutil.rmtree(work)
    else:
        print(f"# {seed} {maker.__name__}: {' '.join(true)}: {right.count(10)} PCs; found: "
              f"{messages.partition(chr(10))[0]}: {found.count(10)} PCs", flush=True)
    return exact, seconds - plain


def main():
    folder, first, count, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if how == "deviating":
        deviate(first, count, folder)
        return
    results = [is_exact(seed, how, folder) for seed in range(first, first + count)]
    print(f"{sum(exact for exact, _ in results)} of {count} exact, the slowest in "
          f"{max(seconds for _, seconds in results):.2f} s")


main()
