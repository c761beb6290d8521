import os

from web3 import Web3

headers = {"X-API-Key": os.environ["KEY"], "Content-Type": "application/json"}
provider = Web3.HTTPProvider(os.environ["URL"] + "/v1/rpc/eth", request_kwargs={"headers": headers})
print(Web3(provider).eth.block_number)
