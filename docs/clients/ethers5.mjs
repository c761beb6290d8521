import { providers } from "ethers5";

const node = new providers.StaticJsonRpcProvider({
  url: `${process.env.URL}/v1/rpc/eth`,
  headers: { "X-API-Key": process.env.KEY },
});
console.log(await node.getBlockNumber());
