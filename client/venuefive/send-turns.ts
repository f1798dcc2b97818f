/**
 * One transaction of an account is under way at a time, whichever of its wallet clients a call has: a second call waits until
 * the first is in its block, or is given up. So it is checked against what the first has left of money, allowance and slots,
 * and no nonce is used twice.
 */
import type { Address } from "viem";

/** Of accounts with a turn under way. */
const lastTurns = new Map<string, Promise<void>>();

/** Resolves with what ends the turn, once those before it have ended. */
export async function nextTurn(address: Address): Promise<() => void> {
  const key = address.toLowerCase();
  const before = lastTurns.get(key);
  let end = (): void => {};
  const turn = new Promise<void>((resolve) => {
    end = resolve;
  });
  lastTurns.set(key, turn);
  await before;
  return () => {
    end();
    if (lastTurns.get(key) === turn) lastTurns.delete(key);
  };
}
