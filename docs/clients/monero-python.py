import os
from urllib.parse import urlsplit

from monero.backends.jsonrpc import JSONRPCDaemon

url = urlsplit(os.environ["URL"])
# It appends /json_rpc to what it is given; behind a question mark that is no part of the path.
node = JSONRPCDaemon(url.scheme, url.hostname, f"{url.port}/v1/rpc/xmr?")
node.session.headers["X-API-Key"] = os.environ["KEY"]
print(node.raw_jsonrpc_request("get_block_count")["count"])
