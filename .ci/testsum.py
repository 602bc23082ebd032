#!/usr/bin/env python3
"""Reads `go test -json` and prints what a person wants to see of it.

A line for each package; the whole output of what failed; the slowest tests; every
skip with its reason; then the counts. It fails if anything failed, if a package did not build
or if no test ran at all.
"""
import collections
import json
import sys


def main():
    output = collections.defaultdict(list)  # (package, test) -> lines
    counts = collections.Counter()
    skipped, broken, failed, took = [], [], set(), []
    for line in sys.stdin:
        try:
            event = json.loads(line)
        except ValueError:
            print(line, end="")
            continue
        package = event.get("Package") or event.get("ImportPath", "")
        key = (package, event.get("Test"))
        action = event["Action"]
        if action in ("output", "build-output"):
            output[key].append(event["Output"])
            continue
        if key[1] is None:
            finish_package(event, output[key], broken, failed)
            continue
        if action in ("pass", "fail", "skip"):
            counts[action] += 1
            if "/" not in key[1]:
                took.append((event.get("Elapsed", 0), key))
        if action == "fail":
            failed.add(package)
            print("".join(output[key]), end="", flush=True)
        if action == "skip":
            reason = " ".join(text.strip() for text in output[key] if not text.startswith(("===", "---")))
            skipped.append("%s %s: %s" % (key[0], key[1], reason))
        output.pop(key, None)
    print("slowest: " + ", ".join("%s.%s %.0fs" % (k[0], k[1], t) for t, k in sorted(took, reverse=True)[:12]))
    for line in skipped:
        print("SKIPPED", line)
    for line in broken:
        print("BROKEN", line)
    print("%d passed, %d failed, %d skipped" % (counts["pass"], counts["fail"] + len(broken), counts["skip"]))
    return 1 if counts["fail"] or broken or not counts["pass"] else 0


def finish_package(event, lines, broken, failed):
    action = event["Action"]
    if action == "pass":
        print("ok   %-32s %7.1fs" % (event["Package"], event.get("Elapsed", 0)), flush=True)
    elif action in ("fail", "build-fail"):
        name = event.get("Package") or event.get("ImportPath", "")
        print("".join(lines), end="")
        print("FAIL %-32s %7.1fs" % (name, event.get("Elapsed", 0)), flush=True)
        if name not in failed:  # it did not build, or ended outside of a test
            broken.append(name)


if __name__ == "__main__":
    sys.exit(main())
