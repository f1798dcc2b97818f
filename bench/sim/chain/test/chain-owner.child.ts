/** Starts a local chain, prints the id of its process, and waits to be killed. */
import { startLocalChain } from "../local-chain.js";

const chain = await startLocalChain({ chainId: 56 });
process.stdout.write(`${chain.pid}\n`);
