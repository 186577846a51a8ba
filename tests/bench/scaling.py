"""CPU a key with one worker and with one a core: every core has a worker and a load of its own.

A worker that shares nothing with another spends as much on a key however many there are. So each
of them gets the same load on a core as full as with one worker alone; the servers have all cores.
"""

import json
import os
import statistics
import subprocess

from stand import BenchError


def pin_threads(pid, cores):
    """The threads of a proxy, its workers among them, go round the cores: the first is no worker."""
    for i, task in enumerate(sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))):
        os.sched_setaffinity(task, {cores[(i + len(cores) - 1) % len(cores)]})


def run_loads(bench, daemon, cores, arguments):
    """One load a core, at once; CPU a key over all of their keys, and their sum a second."""
    loads = []
    for core in cores:
        loads.append(subprocess.Popen(
            bench.load_command(daemon.address, arguments), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, preexec_fn=lambda core=core: os.sched_setaffinity(0, {core})))
    reports = [json.loads(load.communicate(timeout=120)[0]) for load in loads]
    for report in reports:
        if report["errors"] or report["misses"] or report["unfinished"]:
            raise BenchError(f"scaling: {report['errors']} errors, {report['misses']} misses")
    keys = sum(report["keys_a_second"] for report in reports)
    spent = statistics.mean(report["watched_0_cpu_us_a_key"] * report["keys_a_second"]
                            for report in reports)
    return {"cpu_us_a_key": spent / keys, "keys_a_second": keys}


def bench_scaling(bench, rows):
    """{row: {workers: medians}}, and each ratio to one worker; printed as it is found."""
    cores = sorted(bench.all_cores)
    if len(cores) < 2:
        raise BenchError("--scaling: there is one core only")
    found = {}
    for name, title, arguments, _ in rows:
        runs = {1: [], len(cores): []}
        for turn in range(bench.options.rounds):
            for workers in sorted(runs, reverse=turn % 2 == 1):
                used = cores[:workers]
                bench.proxy_cores = set(used)
                daemon = bench.start_ketamad(workers, bench.options.ketamad)
                try:
                    for server in bench.servers:
                        os.sched_setaffinity(server.pid, used)
                        for task in os.listdir(f"/proc/{server.pid}/task"):
                            os.sched_setaffinity(int(task), used)
                    pin_threads(daemon.pid, used)
                    runs[workers].append(run_loads(bench, daemon, used, arguments + [
                        "--prefill", f"--key-prefix={name}:", f"--seconds={bench.options.seconds}",
                        f"--seed={turn + 1}", f"--watch={daemon.pid}"]))
                finally:
                    daemon.stop()
        found[name] = {}
        print(f"\n{name}: {title}, on each of so many cores")
        for workers, reports in runs.items():
            medians = {field: statistics.median(report[field] for report in reports)
                       for field in reports[0]}
            for field in list(medians):
                medians["ratio_" + field] = statistics.median(
                    report[field] / one[field] for report, one in zip(reports, runs[1]))
            found[name][workers] = medians
            print(f"  {workers} worker{'s' if workers > 1 else ' '}  {medians['cpu_us_a_key']:7.2f} us a key"
                  f"  {medians['ratio_cpu_us_a_key']:5.2f}   {medians['keys_a_second']:9.0f} keys/s"
                  f"  {medians['ratio_keys_a_second']:5.2f}", flush=True)
    return found
