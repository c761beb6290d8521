import os
from urllib.parse import urlsplit

from bitcoinrpc.authproxy import AuthServiceProxy

url = urlsplit(os.environ["URL"])
# It sets no header, so the key stands in the path; it wants a user and a password, which nobody reads.
node = AuthServiceProxy(f"{url.scheme}://none:none@{url.netloc}/v1/rpc/btc/{os.environ['KEY']}")
print(node.getblockcount())
