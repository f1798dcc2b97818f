/**
 * The local venues as a process of their own. Prints one line of JSON with their addresses. Ends when its parent closes
 * the IPC channel or dies; without such a parent it ends by signals. Settings by environment:
 * SIM_SEED, SIM_{VENUE}_PORT of each venue, SIM_BTC_SIZE, SIM_UNLIMITED, SIM_CHAINS (1: the local chains run
 * too, and their URLs are in the line under `chains`, by chain id, or the reason why not under
 * `chainProblem`; they end with this process), SIM_BLOCK_SECONDS (of those chains; 0, the default: a block with each
 * transaction), SIM_VENUEFIVE (1: the local venuefive runs too, and the line has its URL, chain id and contracts under
 * `venuefive`, or the reason why not under `venuefiveProblem`).
 */
import { LOCAL_VENUE_NAMES, localVenuesOptions, startLocalVenues } from "./venues.js";

const hasParent = process.send !== undefined;
if (hasParent) {
  // From the first moment on: nothing else would stop this process later, and it has nothing to save.
  process.on("disconnect", () => process.exit(0));
  if (!process.connected) process.exit(0);
  // A signal to all processes of a service reaches the parent too, which ends this one in its own order.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => {});
}

const venues = await startLocalVenues(localVenuesOptions(process.env));
const addresses = LOCAL_VENUE_NAMES.map((name) => [name, { restUrl: venues[name].restUrl, wsUrl: venues[name].wsUrl }]);
const { chainUrls: chains, chainProblem, venuefiveProblem } = venues;
const venuefive = venues.venuefive?.description ?? null;
const line = { ...Object.fromEntries(addresses), chains, chainProblem, venuefive, venuefiveProblem };
process.stdout.write(`${JSON.stringify(line)}\n`);

function stop(): void {
  void venues.stop().finally(() => process.exit(0));
}
if (!hasParent) for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
