import { Web3 } from "web3";

const options = { providerOptions: { headers: { "X-API-Key": process.env.KEY, "Content-Type": "application/json" } } };
const node = new Web3(new Web3.providers.HttpProvider(`${process.env.URL}/v1/rpc/eth`, options));
console.log(Number(await node.eth.getBlockNumber()));
