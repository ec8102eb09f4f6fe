#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""wrong-tree.py SEED: read the board's device tree from standard input, and print it with random faults

The nodes of the trace components get one to four random faults. A fault is a property or a node that is missing or
exists twice, a link to another endpoint or to no endpoint, a port with another number, registers of another component
or of another size, another compatible string, another hart, or properties whose phandles refer to an unrelated node.
The first line of the output names the faults.
"""
import random
import re
import sys

LABEL = re.compile(r"^\s*(\w+): ")
LINK = re.compile(r"remote-endpoint = <(.*)>;")
NUMBERS = ["0", "1", "3", "15", "16", "255", "0x7fffffff", "0xffffffff"]
KINDS = ["riscv,trace-component", "arm,coresight-tmc", "arm,coresight-dynamic-funnel",
         "arm,coresight-static-funnel", "sifive,trace-encoder0", "sifive,trace-funnel0",
         "spacemit,k3-trace", "nobody,knows-this"]
STRANGE = [
    "memory-region = <&{/cpus}>;", "memory-region = <0xdead>;", "memory-region = <&{/soc} &{/cpus}>;",
    "memory-region = <&{/soc}>; memory-region-names = \"flight\";",
    "clocks = <0xdead>;", "clocks = <&{/cpus} 1 2 3>; clock-names = \"timestamp\";", "clocks = <>;",
    "clock-names = \"timestamp\", \"apb\", \"timestamp\";",
    "power-domains = <0xdead>;", "power-domains = <&{/cpus}>;", "resets = <0xdead 1>;",
    "interrupts = <1>;", "interrupts = <0xffffffff 0xffffffff>;", "interrupts = <0x28 0x04>;",
    "interrupt-parent = <&{/cpus}>; interrupts = <1 1>;",
    "iommus = <0xdead>;", "dma-coherent; dma-noncoherent;", "dma-noncoherent;",
    "status = \"disabled\";", "status = \"fail\";", "status = <1 2 3>;",
    "cpus = <0xdead>;", "cpus = <&{/soc}>;", "cpus = <>;", "cpus = <&{/cpus/cpu@0} &{/cpus/cpu@0}>;",
    "reg-names = \"\";", "arm,scatter-gather;", "arm,buffer-size = <0xffffffff>;",
]


def nodes(lines):
    """Return the (first, last) line of each trace component"""
    found, first = [], None
    for i, line in enumerate(lines):
        if re.match(r"^\t\ttrace@", line):
            first = i
        elif first is not None and line == "\t\t};":
            found.append((first, i))
            first = None
    return found


def lines_of(lines, pattern):
    return [i for a, b in nodes(lines) for i in range(a, b) if re.search(pattern, lines[i])]


def pick(rand, lines, pattern):
    found = lines_of(lines, pattern)
    return rand.choice(found) if found else None


def lose_property(rand, lines):
    i = pick(rand, lines, r"(=.*|dma-\w+);$")
    if i is not None:
        return "lost " + lines.pop(i).strip()


def lose_node(rand, lines):
    a, b = rand.choice(nodes(lines))
    name = lines[a].strip()
    del lines[a:b + 1]
    return "lost " + name


def link(rand, lines):
    i = pick(rand, lines, "remote-endpoint")
    labels = [m.group(1) for m in map(LABEL.match, lines) if m]
    if i is None or not labels:
        return None
    to = rand.choice(["&" + rand.choice(labels)] * 4 + ["&{/cpus/cpu@0}", "&{/soc}", "0xdead", "0"])
    lines[i] = "\t\t\tremote-endpoint = <%s>;" % to
    return "link to " + to


def port(rand, lines):
    i = pick(rand, lines, r"\breg = <\w+>;")
    if i is not None:
        lines[i] = "\t\t\treg = <%s>;" % rand.choice(NUMBERS)
        return "port" + lines[i].strip()[3:]


def elsewhere(rand, line):
    """Move the registers of a component into another component's registers. The kernel does not accept two devices at
    one address."""
    return hex(int(line.split()[3], 0) + rand.choice([4, 0x100, 0x800, 0xff0]))


def registers(rand, lines):
    i, other = (pick(rand, lines, r"\breg = <0x0 ") for _ in range(2))
    if i is None:
        return None
    address = elsewhere(rand, lines[other])
    size = rand.choice(["0x1000"] * 4 + ["0x0", "0x10", "0x800", "0x2000"])
    lines[i] = "\t\t\treg = <0x0 %s 0x0 %s>;" % (address, size)
    return "registers " + address + " of " + size


def kind(rand, lines):
    i = pick(rand, lines, "compatible = ")
    if i is not None:
        lines[i] = "\t\t\tcompatible = %s;" % ", ".join(
            '"%s"' % k for k in rand.sample(KINDS, rand.choice([1, 1, 1, 2])))
        return lines[i].strip()


def hart(rand, lines):
    i = pick(rand, lines, "cpus = ")
    if i is not None:
        lines[i] = "\t\t\tcpus = <&{/cpus/cpu@%d}>;" % rand.randrange(2)
        return lines[i].strip()


def strange(rand, lines):
    a, _ = rand.choice(nodes(lines))
    at = a + 1
    while re.match(r"\t\t\t[\w,#-]+( = .*)?;", lines[at]):
        at += 1
    text = rand.choice(STRANGE)
    names = re.findall(r"([\w,-]+)(?: = [^;]*)?;", text)
    for i in range(at - 1, a, -1):
        if re.match(r"\s*([\w,-]+)", lines[i]).group(1) in names:
            del lines[i]
    lines.insert(a + 1, "\t\t\t" + text)
    return text


def twice(rand, lines):
    a, b = rand.choice(nodes(lines))
    copy = [re.sub(r"^(\s*)\w+: ", r"\1", line) for line in lines[a:b + 1]]
    copy[0] = "\t\ttrace@180%05x {" % (rand.randrange(1 << 20) | 0xf)
    copy = ["\t\t\treg = <0x0 %s 0x0 0x1000>;" % elsewhere(rand, line)
            if line.startswith("\t\t\treg = <0x0 ") else line for line in copy]
    lines[b + 1:b + 1] = copy
    return "a second " + lines[a].strip()


def end_port(rand, lines):
    """Make a component without inputs or outputs, or exchange its inputs and outputs"""
    i = pick(rand, lines, "(in|out)-ports {")
    if i is not None:
        was = lines[i].strip()
        new = rand.choice(["in-ports", "out-ports", "ports", "port"])
        indent = len(lines[i]) - len(lines[i].lstrip())
        lines[i] = "\t" * indent + new + " {"
        return was + " is " + new


def repair(lines):
    """Remove links to missing labels, and duplicate nodes, because dtc refuses them"""
    labels = {m.group(1) for m in map(LABEL.match, lines) if m}
    kept = [line for line in lines
            if not (m := LINK.search(line)) or not m.group(1).startswith("&") or
            m.group(1).startswith("&{") or m.group(1)[1:] in labels]
    for a, b in nodes(kept):
        seen = set()
        for i in range(a, b):
            if (m := re.match(r"^\t\t\t((?:in-|out-)?ports?) {", kept[i])):
                if m.group(1) in seen:
                    kept[i] = kept[i].replace(m.group(1), "ports-%d" % i)
                seen.add(m.group(1))
    return kept


def main():
    rand = random.Random(int(sys.argv[1]))
    lines = sys.stdin.read().split("\n")
    said = []
    while len(said) < rand.choice([1, 1, 2, 3, 4]):
        fault = rand.choice([lose_property, lose_node, link, link, port, registers, kind, hart,
                             strange, strange, strange, twice, end_port])
        told = fault(rand, lines) if nodes(lines) else "nothing is left"
        if told:
            said.append(told)
            lines = repair(lines)
    print("/* " + "; ".join(said).replace("*/", "") + " */")
    print("\n".join(lines))


main()
