/** `npm run example`: the example page of trading at venuefive, on a local chain, until it is stopped. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startExample } from "./stand.js";

const DEFAULT_PORT = "8085";
// This file is in dist/bench/example when it runs.
const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const port = Number(process.env["PORT"] ?? DEFAULT_PORT);

try {
  const { url, world, trader, stop } = await startExample({ root, port });
  process.stdout.write(`The example: ${url}\nIts chain: ${world.rpcUrl}\nIts account, with 10,000 USDC: ${trader}\n`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
} catch (error) {
  process.stderr.write(`example: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
