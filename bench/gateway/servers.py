"""What both measurements of the gateway start: servers, Portolan among them, and the ends of a call."""
import collections, json, os, signal, socket, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONNECTIONS = 64
Load = collections.namedtuple("Load", "right rate micros")


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ran_us(pids):
    """How long processes and their threads have run so far, in microseconds."""
    total = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                total += int(f.read().split()[0])
    return total / 1000


def ticks(pids):
    """In user code and in the kernel, as often as the timer found them there."""
    user = kernel = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        user, kernel = user + int(fields[11]), kernel + int(fields[12])
    return user, kernel


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(word) for word in f.read().split()]


class Server:
    def __init__(self, name, cpu, command, address, end=signal.SIGTERM, **more):
        self.name, self.address, self.end = name, address, end
        self.process = subprocess.Popen(["taskset", "-c", str(cpu), *command], stdout=subprocess.DEVNULL, **more)
        host, p = address.split(":")
        for _ in range(200):
            try:
                socket.create_connection((host, int(p)), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        sys.exit(f"{name} did not start")

    def pids(self):
        return [self.process.pid, *children(self.process.pid)]

    def stop(self):
        self.process.send_signal(self.end)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def build():
    subprocess.run(["cargo", "build", "--release", "-p", "portolan", "-p", "bench-gateway"], cwd=ROOT, check=True)
    meta = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT))
    return os.path.join(meta["target_directory"], "release")


def portolan(folder, program, listen, *nodes, cache="off", store=""):
    """Its command and a key, with a folder and an account of its own; `store` are lines of [store]."""
    os.makedirs(folder, exist_ok=True)
    name = os.path.basename(folder)
    nodes = ", ".join(f'{{ url = "http://{node}", slots = 256 }}' for node in nodes)
    with open(f"{folder}/portolan.toml", "w") as f:
        f.write(f"""[store]
{store}
[gateway]
listen = "{listen}"
[plan.bench]
requests_per_second = 100000
daily = 100000000000
monthly = 1000000000000
concurrency = 10000
[chain.btc]
network = "regtest"
cache = "{cache}"
nodes = [{nodes}]
""")
    run = lambda *words: json.loads(subprocess.check_output([program, "--json", *words], cwd=folder))
    run("account", "add", name, "--gateway-plan", "bench")
    key = run("key", "add", name, "--daily-cap", "10000000000")["key"]
    return ["sh", "-c", f"cd {folder} && exec {program} serve --only gateway"], key


class Ends:
    """Node and clients, on one processor."""

    def __init__(self, release, node, cpu=0):
        words = ["taskset", "-c", str(cpu), f"{release}/ends", node]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, server, key, seconds, rate=None, connections=CONNECTIONS):
        words = [server.address, seconds, connections, key, *([rate] if rate else [])]
        print(*words, file=self.process.stdin, flush=True)

    def result(self, server):
        out = self.process.stdout.readline().split()
        if len(out) < 6 or out[1] != "0" or out[0] == "0":
            sys.exit(f"{server.name}: {out} (right, wrong, calls/s, p50, p90, p99)")
        return Load(int(out[0]), float(out[2]), [int(word) for word in out[3:6]])

    def load(self, server, *words):
        self.begin(server, *words)
        return self.result(server)

    def measured(self, server, *words):
        """A load, and what a call of it cost the server in user code and in the kernel. The sum is exact."""
        pids = server.pids()
        then, ran = ticks(pids), ran_us(pids)
        load = self.load(server, *words)
        whole, found = ran_us(pids) - ran, [now - before for now, before in zip(ticks(pids), then)]
        found = found if any(found) else [1, 1]
        return load, [whole / load.right * part / sum(found) for part in found]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)


def rounds(servers, count):
    for number in range(count):
        yield from servers if number % 2 == 0 else servers[::-1]
