/**
 * One transaction of a wallet client is under way at a time: a second call waits until the first is in its block, or is given
 * up. So it is checked against what the first has left of money, allowance and slots, and no nonce is used twice.
 */
import type { Client } from "viem";

const lastTurns = new WeakMap<Client, Promise<void>>();

/** Resolves with what ends the turn, once those before it have ended. */
export async function nextTurn(wallet: Client): Promise<() => void> {
  const before = lastTurns.get(wallet);
  let end = (): void => {};
  lastTurns.set(
    wallet,
    new Promise((resolve) => {
      end = resolve;
    }),
  );
  await before;
  return end;
}
