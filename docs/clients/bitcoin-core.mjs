import Client from "bitcoin-core";

const node = new Client({
  // It appends a slash to what it is given; behind a question mark that is no part of the path.
  host: `${process.env.URL}/v1/rpc/btc?`,
  headers: { "X-API-Key": process.env.KEY },
});
console.log(await node.command("getblockcount"));
