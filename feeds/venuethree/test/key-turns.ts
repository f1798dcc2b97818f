/** Transactions for the queue of a key (orders/key-lanes.ts) that sign nothing and end as a test says. */
import type { Lane, Read } from "../../../engine/ports.js";
import type { KeyLanes, Turn } from "../orders/key-lanes.js";

export type Taken = { readonly ok: true; readonly turn: Turn } | Exclude<Read<never>, { ok: true }>;

export function nonceRead(value: number): Promise<Read<number>> {
  return Promise.resolve({ ok: true, value, asOfMs: 0, source: "venue" });
}

/** A read of the nonce that should not be needed. */
export const never = (): Promise<Read<number>> => Promise.reject(new Error("asked"));

export const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

/** Resolves once it has a turn, or failed. `load` reads the nonce. */
export function submit(
  lanes: KeyLanes,
  load = never,
  lane: Lane = "trade",
  leftMs = 1_000,
  key = "1:4",
): Promise<Taken> {
  return new Promise((resolve) => {
    lanes.submit(key, {
      lane,
      leftMs: () => leftMs,
      load,
      start: (turn) => resolve({ ok: true, turn }),
      fail: (why) => resolve(why),
    });
  });
}

export async function take(lanes: KeyLanes, load = never, lane: Lane = "trade"): Promise<Turn> {
  const taken = await submit(lanes, load, lane);
  if (!taken.ok) throw new Error(taken.code);
  return taken.turn;
}
