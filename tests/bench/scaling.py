"""CPU a key with one worker a core, beside proxies of one worker each: what workers cost each other.

Every core is as full as the single one of the other modes: it has a worker, and a load whose
clients are spread over all workers. That alone makes the kernel's part dearer than on one core, so
the same load is given to as many proxies of one worker each, which share nothing at all.
"""

import json
import os
import statistics

from stand import BenchError


def pin_threads(pid, cores):
    """The threads of a process go round the cores; the first of a proxy is no worker."""
    tasks = sorted(int(name) for name in os.listdir(f"/proc/{pid}/task"))
    for i, task in enumerate(tasks):
        os.sched_setaffinity(task, {cores[(i + len(cores) - 1) % len(cores)]})


def let_run(pid, cores):
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(task), cores)


def divided(arguments, parts):
    """A row's load for one of so many load generators."""
    return [f"--clients={int(text.split('=')[1]) // parts}" if text.startswith("--clients=")
            else text for text in arguments]


def run_loads(bench, daemons, cores, arguments):
    """On each core one load for each core's worker, all at once; CPU a key over all keys."""
    loads = []
    for core in cores:
        for i in range(len(cores)):
            daemon = daemons[i % len(daemons)]
            loads.append((daemon, bench.start_load(
                daemon.address, arguments + [f"--watch={daemon.pid}"], {core})))
    keys = 0
    spent = {daemon: [] for daemon in daemons}
    for daemon, load in loads:
        report = json.loads(load.communicate(timeout=120)[0])
        if report["errors"] or report["misses"] or report["unfinished"]:
            raise BenchError(f"scaling: {report['errors']} errors, {report['misses']} misses")
        keys += report["keys_a_second"]
        spent[daemon].append(report["watched_0_cpu_us_a_key"] * report["keys_a_second"])
    return {"cpu_us_a_key": sum(statistics.mean(one) for one in spent.values()) / keys,
            "keys_a_second": keys}


def measure(bench, cores, processes, workers, arguments):
    """Starts the proxies, gives them the load, ends them."""
    daemons = []
    try:
        for i in range(processes):
            own = [cores[i]] if processes > 1 else cores
            bench.proxy_cores = set(own)
            daemons.append(bench.start_ketamad(workers, bench.options.ketamad))
            pin_threads(daemons[i].pid, own)
        for server in bench.servers:
            let_run(server.pid, cores)
        return run_loads(bench, daemons, cores, arguments)
    finally:
        for daemon in daemons:
            daemon.stop()


def bench_scaling(bench, rows):
    """{row: {case: medians, with ratios to as many proxies}}; printed as it is found."""
    cores = sorted(bench.all_cores)
    count = len(cores)
    if count < 2:
        raise BenchError("--scaling: there is one core only")
    cases = {"1 worker, 1 core": (cores[:1], 1, 1),
             f"{count} proxies of 1 worker": (cores, count, 1),
             f"1 proxy of {count} workers": (cores, 1, count)}
    reference = list(cases)[1]
    found = {}
    for name, title, arguments, _ in rows:
        runs = {case: [] for case in cases}
        for turn in range(bench.options.rounds):
            for i in range(len(cases)):
                case = list(cases)[(turn + i) % len(cases)]
                used, processes, workers = cases[case]
                more = ["--prefill", f"--key-prefix={name}:", f"--seed={turn + 1}",
                        f"--seconds={bench.options.seconds}"]
                runs[case].append(measure(bench, used, processes, workers,
                                          divided(arguments, len(used)) + more))
        found[name] = {}
        print(f"\n{name}: {title}, for each core")
        for case, reports in runs.items():
            medians = {field: statistics.median(report[field] for report in reports)
                       for field in reports[0]}
            for field in list(medians):
                medians["ratio_" + field] = statistics.median(
                    report[field] / other[field]
                    for report, other in zip(reports, runs[reference]))
            found[name][case] = medians
            print(f"  {case:<24} {medians['cpu_us_a_key']:7.2f} us a key"
                  f" {medians['ratio_cpu_us_a_key']:6.2f} {medians['keys_a_second']:10.0f} keys/s"
                  f" {medians['ratio_keys_a_second']:6.2f}", flush=True)
    return found
