import { FetchRequest, JsonRpcProvider } from "ethers";

const request = new FetchRequest(`${process.env.URL}/v1/rpc/eth`);
request.setHeader("X-API-Key", process.env.KEY);
// batchMaxCount: at most the batch size of the plan; staticNetwork: it asks eth_chainId once.
const node = new JsonRpcProvider(request, undefined, { batchMaxCount: 5, staticNetwork: true });
console.log(await node.getBlockNumber());
node.destroy();
