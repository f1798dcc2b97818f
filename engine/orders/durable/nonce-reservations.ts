/**
 * Nonce high-water marks over the StateStore: each reservation moves a signer's mark by compare-and-set
 * before it is handed out, so no two ranges overlap, also across crashes (a crash wastes the rest of a
 * range) and across processes that share the store. Within the process calls of one signer queue up.
 */
import { ServiceError } from "../../domain/errors.js";
import type { NonceReservations } from "../../ports.js";
import type { StateStore } from "../../storage/state-store.js";

const NAMESPACE = "nonce";
/** Lost races against other processes before a reservation gives up. */
const MAX_TRIES = 50;
/** Signers with a reservation under way. Beyond it: OVERLOADED; nothing has been sent then. */
const MAX_BUSY_SIGNERS = 10_000;
const MAX_SIGNER_CHARS = 200;

export function createNonceReservations(store: StateStore): NonceReservations {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async reserve(signer, floor, span) {
      if (signer === "" || signer.length > MAX_SIGNER_CHARS)
        throw new ServiceError("INTERNAL", { problem: "nonce signer label" });
      if (!Number.isSafeInteger(floor) || floor < 0 || !Number.isSafeInteger(span) || span < 1)
        throw new ServiceError("INTERNAL", { problem: "nonce range" });
      const before = tails.get(signer);
      if (before === undefined && tails.size >= MAX_BUSY_SIGNERS) throw new ServiceError("OVERLOADED");
      const turn = (before ?? Promise.resolve()).then(() => advanceMark(store, signer, floor, span));
      // The next in line waits for this one, whichever way it ends.
      const tail = turn.catch(() => {});
      tails.set(signer, tail);
      try {
        return await turn;
      } finally {
        if (tails.get(signer) === tail) tails.delete(signer);
      }
    },
  };
}

async function advanceMark(
  store: StateStore,
  signer: string,
  floor: number,
  span: number,
): Promise<{ readonly from: number; readonly until: number }> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const row = await store.get(NAMESPACE, signer);
    const mark = row === null ? 0 : Number(Buffer.from(row).toString("utf8"));
    const from = Math.max(floor, mark);
    const until = from + span;
    if (!Number.isSafeInteger(until)) throw new ServiceError("INTERNAL", { problem: "nonce range exhausted" });
    if (await store.compareAndSet(NAMESPACE, signer, row, Buffer.from(String(until), "utf8"))) return { from, until };
  }
  throw new ServiceError("STORE_UNAVAILABLE", { reason: "CONTENDED" });
}
