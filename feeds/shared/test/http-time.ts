/**
 * Virtual time beside real HTTP: it moves only while no request is under way. However slowly the machine carries a
 * request, no deadline of the code under test passes meanwhile. Not for requests that are held unanswered.
 */
import { subscribe } from "node:diagnostics_channel";
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";

const MAX_VIRTUAL_MS = 60_000;

/** Requests of every pool of this process, from their making to their answer or failure. */
const underWay = new Set<unknown>();
const requestOf = (message: unknown): unknown => (message as { readonly request: unknown }).request;
subscribe("undici:request:create", (message) => void underWay.add(requestOf(message)));
for (const end of ["undici:request:trailers", "undici:request:error"])
  subscribe(end, (message) => void underWay.delete(requestOf(message)));

/** Lets requests be answered and time pass until the condition holds; fails after a virtual minute. */
export async function untilHolds(clock: VirtualClock, condition: () => boolean): Promise<void> {
  for (let waitedMs = 0; !condition(); ) {
    if (underWay.size > 0) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      continue;
    }
    if (waitedMs++ > MAX_VIRTUAL_MS) throw new Error("the condition never held");
    await clock.advanceAsync(1);
  }
}

/** As `untilHolds`, until the promise settles; gives what it gives. */
export async function untilSettled<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = (): void => {
    isSettled = true;
  };
  promise.then(settled, settled);
  await untilHolds(clock, () => isSettled);
  return promise;
}
