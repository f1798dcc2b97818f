/** NonceReservations in memory, without delay: for tests of what uses the sequencer. */
import type { NonceReservations } from "../../../engine/ports.js";

export function createMemoryReservations(): NonceReservations & { readonly calls: string[] } {
  const highWater = new Map<string, number>();
  const calls: string[] = [];
  return {
    calls,
    reserve(signer, floor, span) {
      calls.push(signer);
      const from = Math.max(floor, highWater.get(signer) ?? 0);
      highWater.set(signer, from + span);
      return Promise.resolve({ from, until: from + span });
    },
  };
}
