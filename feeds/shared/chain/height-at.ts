/** A height by its time, as one endpoint has it: back from the head in steps that double. */
import { readBlockTime, readCount, toQuantity } from "./rpc-wire.js";
import type { LogCall } from "./final-logs.js";

const FIRST_STEP = 256;

/** Null: it does not say. */
export async function heightAt(call: LogCall, timeMs: number): Promise<number | null> {
  const head = await call("eth_blockNumber", [], (value) => readCount(value, "height"));
  if (head.kind !== "value") return null;
  for (let back = FIRST_STEP; back < head.value; back *= 2) {
    const height = head.value - back;
    const time = await call("eth_getBlockByNumber", [toQuantity(height), false], readBlockTime);
    // A block that it does not keep is older than what it keeps.
    if (time.kind !== "value" || time.value === null) return null;
    if (time.value <= timeMs) return height;
  }
  return 0;
}
