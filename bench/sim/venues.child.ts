/**
 * The local venues as a process of their own. Prints one line of JSON with their addresses; ends when the parent that
 * holds its IPC channel is gone or drops it, and by signals only where there is no such parent. Settings by environment:
 * SIM_SEED, SIM_{VENUE}_PORT of each venue, SIM_BTC_SIZE, SIM_UNLIMITED.
 */
import { LOCAL_VENUE_NAMES, localVenuesOptions, startLocalVenues } from "./venues.js";

const hasParent = process.send !== undefined;
if (hasParent) {
  // From the first moment on: nobody would stop this process later. There is nothing to keep.
  process.on("disconnect", () => process.exit(0));
  if (!process.connected) process.exit(0);
  // Where all processes of a service are signalled, the parent ends us in its own order.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => {});
}

const venues = await startLocalVenues(localVenuesOptions(process.env));
const addresses = LOCAL_VENUE_NAMES.map((name) => [name, { restUrl: venues[name].restUrl, wsUrl: venues[name].wsUrl }]);
process.stdout.write(`${JSON.stringify(Object.fromEntries(addresses))}\n`);

function stop(): void {
  void venues.stop().finally(() => process.exit(0));
}
if (!hasParent) for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
