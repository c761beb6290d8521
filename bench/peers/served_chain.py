"""The generated chain, and the node that serves it to every index. A process here ends by its own id."""
import hashlib, json, os, signal, socket, struct, subprocess

PAGE = 25


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


class Running:
    """A process that ends by its id."""

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Chain:
    """What the file has: the totals and the hash of each block."""

    def __init__(self, file, totals):
        with open(totals) as f:
            totals = json.load(f)
        self.file, self.tip, self.transactions, self.addresses = os.path.abspath(file), totals["height"], totals["transactions"], totals["addresses"]
        self.whale = max(self.addresses, key=lambda address: self.addresses[address]["tx_count"])
        self.ordinary = [address for address, known in self.addresses.items() if known["tx_count"] < 500]
        middle = self.addresses[self.whale]["tx_count"] // PAGE // 2
        self.middle = range(middle, middle + min(50, middle // 2))
        self.hashes, self.before = [None], {}
        with open(file, "rb") as f:
            while length := f.read(4):
                block = f.read(struct.unpack("<I", length)[0])
                self.hashes.append(hashlib.sha256(hashlib.sha256(block[:80]).digest()).digest()[::-1].hex())
        self.heights = range(self.tip * 3 // 4, self.tip, max(1, self.tip // 160))


class Node(Running):
    """The node that all of them ask."""

    def __init__(self, ours, chain, folder, cpu=None):
        pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.blocks = f"{folder}/blocks"
        self.process = subprocess.Popen([*pinned, f"{ours}/bitcoin-node", chain.file, self.blocks], stdout=subprocess.PIPE, text=True)
        self.url, self.peers, self.zmq = self.process.stdout.readline().split()
