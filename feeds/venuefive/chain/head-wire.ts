/** Blocks as an endpoint names them, read strictly. */
import { readCount, readHash, toQuantity } from "../../shared/chain/rpc-wire.js";
import type { RpcCall } from "../../shared/chain/rpc-endpoint.js";
import { asFields, WireFault } from "../../shared/room/wire-fields.js";

export interface HeadBlock {
  readonly number: number;
  readonly hash: string;
  /** By the chain's own clock. */
  readonly timestampMs: number;
}

/** The end of what Date can hold. */
const SECONDS_MAX = 8_640_000_000_000;

/** `number` null: the newest. */
export function blockCall(number: number | null): RpcCall {
  return { method: "eth_getBlockByNumber", params: [number === null ? "latest" : toQuantity(number), false] };
}

/** Null: it has no such block. One of another height than was asked for is a fault. */
export function readHeadBlock(value: unknown, number: number | null): HeadBlock | null {
  if (value === null) return null;
  const block = asFields(value, "block");
  const its = readCount(block["number"], "number");
  if (number !== null && its !== number) throw new WireFault("number", "is of another block");
  const seconds = readCount(block["timestamp"], "timestamp");
  if (seconds > SECONDS_MAX) throw new WireFault("timestamp", "is out of range");
  return { number: its, hash: readHash(block["hash"], "hash"), timestampMs: seconds * 1_000 };
}
