import { createPublicClient, http } from "viem";

const node = createPublicClient({
  transport: http(`${process.env.URL}/v1/rpc/eth`, {
    fetchOptions: { headers: { "X-API-Key": process.env.KEY } },
  }),
});
console.log(Number(await node.getBlockNumber()));
