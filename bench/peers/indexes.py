"""The indexes of Bitcoin that `explorers` measures: how each is started, what it costs, how it is asked.

Everything listens on loopback, keeps its files under the folder that it is given, and ends by its own
process id. Limits are raised so that the busiest address is answered for at all.
"""
import hashlib, json, os, re, socket, subprocess, sys, time, urllib.request

from served_chain import PAGE, Running, port, write

TICKS = os.sysconf("SC_CLK_TCK")
HIGHEST_LIMIT = 10_000_000
LOADED_WITHIN, CALM = 1800, 0.03


class Peer(Running):
    """An index that runs: what it costs, and what is asked of it."""

    environment = {}

    def __init__(self, programs, folder, node):
        self.folder, self.node, self.port = f"{folder}/{self.name}", node, port()
        self.program = f"{programs}/{self.file}"

    def start(self, cpu=None):
        os.makedirs(self.folder, exist_ok=True)
        pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
        log = open(f"{self.folder}.log", "a")
        self.process = subprocess.Popen([*pinned, *self.command()], cwd=self.cwd(), stdout=log, stderr=log, env={**os.environ, **self.environment})

    def cwd(self):
        return self.folder

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:")) / 1024

    def disk(self):
        return sum(os.stat(f"{top}/{name}").st_blocks * 512 for top, _, names in os.walk(self.folder) for name in names)

    def reach(self, height):
        """Waits until it is at a height."""
        began = time.time()
        while time.time() - began < LOADED_WITHIN:
            if self.process.poll() is not None:
                sys.exit(f"{self.name} has ended, see {self.folder}.log")
            try:
                if self.is_at(height):
                    return
            except (OSError, ValueError, KeyError, TypeError):
                pass
            time.sleep(0.25)
        sys.exit(f"{self.name} does not come to the tip, see {self.folder}.log")

    def rest(self):
        """Waits until it has nothing more to do, for two minutes at most."""
        for _ in range(60):
            before = self.cpu()
            time.sleep(2)
            if self.cpu() - before < CALM * 2:
                return

    def is_right(self, requests, holds):
        """Whether samples of the answers are as they must be."""
        try:
            return all(holds(self.ask(request)) for request in {*requests[:2], requests[len(requests) // 2], requests[-1]})
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return False

    def wrong(self, chain):
        """Addresses of which it says something else than the totals."""
        wrong = []
        for address, known in chain.addresses.items():
            try:
                said = self.facts(address)
            except (OSError, ValueError, KeyError, TypeError) as error:
                said = error
            if said != (known["balance"], known["tx_count"], known["unspent_count"]):
                wrong.append((address, known["tx_count"], str(said)[:200]))
        return wrong


def transactions(answer):
    return answer if isinstance(answer, list) else answer.get("transactions", answer.get("txs"))


class Http(Peer):
    """One that is asked by paths: `balance`, `page`, `unspent` and `block_page` say which."""

    headers = {}

    def ask(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=self.headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())

    def load(self, ours, paths, connections, seconds):
        headers = "".join(f'wrk.headers["{name}"]="{value}"\n' for name, value in self.headers.items())
        listed = ",".join(json.dumps(path) for path in paths)
        script = write(f"{self.folder}.lua", f"{headers}local p={{{listed}}}\nlocal i=0\nrequest=function() i=i%#p+1 return wrk.format('GET',p[i]) end\n")
        command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", script]
        out = subprocess.check_output([*command, f"http://127.0.0.1:{self.port}"], text=True)
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
        return int(re.search(r"(\d+) requests in", out).group(1)), int(bad.group(1)) if bad else 0

    def facts(self, address):
        balance, count = self.known(self.ask(self.balance(address)))
        return balance, count, self.unspent_of(self.ask(self.unspent(address)))

    is_block_page = lambda self, answer: len(transactions(answer)) == PAGE

    def questions(self, chain):
        whale, known = chain.whale, chain.addresses[chain.whale]

        def is_balance(a):
            of = chain.addresses[a["address"]]
            return self.known(a) == (of["balance"], of["tx_count"])

        def is_page(a):
            txs = transactions(a)
            return len(txs) == PAGE == len({tx["txid"] for tx in txs}) and all(whale in json.dumps(tx) for tx in txs)

        middle = [self.page(whale, number, chain) for number in chain.middle]
        return {
            "ordinary": ([self.balance(address) for address in chain.ordinary], is_balance),
            "whale": ([self.balance(whale)], is_balance),
            "first page": ([self.page(whale, 1, chain)], is_page),
            "middle page": (middle if all(middle) else [], is_page),
            "unspent": ([self.unspent(whale)], lambda a: self.unspent_of(a) == known["unspent_count"]),
            "block page": ([self.block_page(height, chain) for height in chain.heights], self.is_block_page),
        }


class Portolan(Http):
    name = file = "portolan"

    def command(self):
        write(f"{self.folder}/portolan.toml", f"""[gateway]
listen = "127.0.0.1:{port()}"
[explorer]
listen = "127.0.0.1:{self.port}"
[plan.bench]
requests_per_second = 100000
daily = 100000000000
monthly = 1000000000000
concurrency = 10000
[chain.btc]
network = "regtest"
nodes = [{{ url = "{self.node.url}" }}]
""")
        run = lambda *words: json.loads(subprocess.check_output([self.program, "--json", *words], cwd=self.folder))
        run("account", "add", f"bench{os.getpid()}", "--explorer-plan", "bench")
        self.headers = {"X-API-Key": run("key", "add", f"bench{os.getpid()}", "--daily-cap", "10000000000")["key"]}
        return [self.program, "serve", "--only", "explorer"]

    def is_at(self, height):
        status = self.ask("/api/v1/btc/status")
        return status["height"] == height and status["in_sync"]

    balance = lambda self, address: f"/api/v1/btc/address/{address}"
    known = lambda self, answer: (answer["balance"], answer["tx_count"])
    page = lambda self, address, number, chain: f"/api/v1/btc/address/{address}/txs?page={number}&page_size={PAGE}"
    unspent = lambda self, address: f"/api/v1/btc/address/{address}/utxo"
    unspent_of = lambda self, answer: answer["count"]
    block_page = lambda self, height, chain: f"/api/v1/btc/block/{height}/txs?page=1&page_size={PAGE}"

    def questions(self, chain):
        # Pages of Esplora begin behind a transaction.
        for number in chain.middle:
            chain.before[number] = transactions(self.ask(self.page(chain.whale, number - 1, chain)))[-1]["txid"]
        return super().questions(chain)


class Blockbook(Http):
    name = file = "blockbook"

    def command(self):
        write(f"{self.folder}.json", json.dumps({
            "coin_name": "Regtest", "coin_shortcut": "rBTC", "coin_label": "Bitcoin Regtest", "rpc_url": self.node.url, "rpc_user": "u", "rpc_pass": "p",
            "rpc_timeout": 25, "parse": True, "message_queue_binding": self.node.zmq, "subversion": "", "address_format": "", "xpub_magic": 70617039,
            "xpub_magic_segwit_p2sh": 71979618, "xpub_magic_segwit_native": 73342198, "slip44": 1, "mempool_workers": 8, "mempool_sub_workers": 2, "block_addresses_to_keep": 300}))
        return [self.program, "-sync", f"-blockchaincfg={self.folder}.json", f"-datadir={self.folder}", f"-public=127.0.0.1:{self.port}", f"-internal=127.0.0.1:{port()}", "-logtostderr"]

    def cwd(self):
        # Its pages' templates lie there.
        return os.path.join(os.path.dirname(os.path.dirname(self.program)), "src", "blockbook")

    def is_at(self, height):
        status = self.ask("/api/v2")["blockbook"]
        return status["bestHeight"] == height and not status.get("initialSync")

    balance = lambda self, address: f"/api/v2/address/{address}?details=basic"
    known = lambda self, answer: (answer["balance"], answer["txs"])
    page = lambda self, address, number, chain: f"/api/v2/address/{address}?details=txs&pageSize={PAGE}&page={number}"
    unspent = lambda self, address: f"/api/v2/utxo/{address}"
    unspent_of = lambda self, answer: len(answer)
    block_page = lambda self, height, chain: f"/api/v2/block/{height}?page=1"
    # It has no other size of a page of a block.
    is_block_page = lambda self, answer: len(answer["txs"]) == min(1000, answer["txCount"])


class Esplora(Http):
    name, file = "esplora", "esplora-electrs"

    def command(self):
        return [self.program, "--network", "regtest", "--daemon-rpc-addr", self.node.url[7:], "--cookie", "u:p", "--daemon-dir", self.folder, "--blocks-dir", self.node.blocks,
                "--db-dir", self.folder, "--http-addr", f"127.0.0.1:{self.port}", "--electrum-rpc-addr", f"127.0.0.1:{port()}", "--monitoring-addr", f"127.0.0.1:{port()}",
                "--utxos-limit", str(HIGHEST_LIMIT), "--electrum-txs-limit", str(HIGHEST_LIMIT)]

    def is_at(self, height):
        return self.ask("/blocks/tip/height") == height

    balance = lambda self, address: f"/address/{address}"
    unspent = lambda self, address: f"/address/{address}/utxo"
    unspent_of = lambda self, answer: len(answer)
    block_page = lambda self, height, chain: f"/block/{chain.hashes[height]}/txs/0"

    def known(self, answer):
        of = answer["chain_stats"]
        return str(of["funded_txo_sum"] - of["spent_txo_sum"]), of["tx_count"]

    def page(self, address, number, chain):
        before = chain.before.get(number)
        return f"/address/{address}/txs?max_txs={PAGE}" if number == 1 else before and f"/address/{address}/txs/chain/{before}"


def script_hash(address):
    """What the protocol of Electrum calls a P2SH address of the generated chain."""
    number = 0
    for letter in address:
        number = number * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(letter)
    return hashlib.sha256(b"\xa9\x14" + number.to_bytes(25, "big")[1:21] + b"\x87").digest()[::-1].hex()


class Electrum(Peer):
    def ask(self, request):
        with socket.create_connection(("127.0.0.1", self.port), 5) as s, s.makefile("rwb") as f:
            s.settimeout(120)
            for line in (self.request("server.version", "bench", "1.4"), request):
                f.write(line.encode() + b"\n")
                f.flush()
                answer = json.loads(f.readline())
        return answer["result"]

    def request(self, method, *params):
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def of(self, what, address, *more):
        return self.request(f"blockchain.scripthash.{what}", script_hash(address), *more)

    def load(self, ours, requests, connections, seconds):
        file = write(f"{self.folder}.requests", "\n".join(requests) + "\n")
        out = subprocess.check_output(["taskset", "-c", "1", f"{ours}/electrum-load", f"127.0.0.1:{self.port}", str(seconds), str(connections), file], text=True)
        return int(out.split()[0]), int(out.split()[1])

    def is_at(self, height):
        return self.ask(self.request("blockchain.headers.subscribe"))["height"] == height

    def facts(self, address):
        history, unspent = self.ask(self.of("get_history", address)), self.ask(self.of("listunspent", address))
        return str(self.ask(self.of("get_balance", address))["confirmed"]), len(history), len(unspent)

    def questions(self, chain):
        whale, known = chain.whale, chain.addresses[chain.whale]
        return {
            "ordinary": ([self.of("get_balance", address) for address in chain.ordinary], lambda a: "confirmed" in a),
            "whale": ([self.of("get_balance", whale)], lambda a: str(a["confirmed"]) == known["balance"]),
            # It has no pages: the whole list, of ids alone.
            "first page": ([self.of("get_history", whale)], lambda a: len(a) == known["tx_count"]),
            "unspent": ([self.of("listunspent", whale)], lambda a: len(a) == known["unspent_count"]),
        }


class Electrs(Electrum):
    name = file = "electrs"

    def command(self):
        cookie = write(f"{self.folder}.cookie", "u:p")
        return [self.program, "--skip-default-conf-files", "--network", "regtest", "--daemon-rpc-addr", self.node.url[7:], "--daemon-p2p-addr", self.node.peers, "--cookie-file", cookie,
                "--db-dir", self.folder, "--electrum-rpc-addr", f"127.0.0.1:{self.port}", "--monitoring-addr", f"127.0.0.1:{port()}", "--log-filters", "INFO"]


class Fulcrum(Electrum):
    name = file = "fulcrum"

    def command(self):
        conf = write(f"{self.folder}.conf", f"datadir = {self.folder}\nbitcoind = {self.node.url[7:]}\nrpcuser = u\nrpcpassword = p\ntcp = 127.0.0.1:{self.port}\npeering = false\nmax_history = {HIGHEST_LIMIT}\nmax_buffer = 64000000\n")
        return [self.program, conf]

    def questions(self, chain):
        # The protocol's newer form takes a range of heights, here of one block.
        middle = [self.of("get_history", chain.whale, height, height + 1) for height in chain.heights]
        return {**super().questions(chain), "middle page": (middle, lambda a: a and len({tx["height"] for tx in a}) == 1)}


PEERS = {peer.name: peer for peer in (Portolan, Electrs, Esplora, Fulcrum, Blockbook)}
