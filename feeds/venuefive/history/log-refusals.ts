/**
 * What a node means that refuses a call for events: pure. Nodes and providers each have their own words for a range that is
 * too long or holds too much; the words below were seen in their documentation and issue threads (read 2026-11).
 */
import type { RpcError } from "../../shared/chain/rpc-wire.js";

export type LogRefusal = "tooLarge" | "pruned" | "rateLimited" | "lagging" | "other";

const RATE = [
  /rate.?limit/i,
  /too many requests/i,
  /requests? per (?:second|minute|day)/i,
  /request (?:count|limit)/i,
  /throttl/i,
];
const TOO_LARGE = [
  // "query returned more than 10000 results", "too many logs", "Log response size exceeded".
  /more than \d+ (?:results|logs)/i,
  /too many (?:results|logs|blocks)/i,
  /(?:response|result)s? (?:size|set).{0,40}(?:exceed|large|limit|greater)/i,
  // "block range is too wide", "eth_getLogs is limited to a 10,000 range", "exceed maximum block range: 5000".
  /block range/i,
  /range.{0,30}(?:too (?:large|wide|long|big)|exceed|limit)/i,
  /(?:exceed|limited to|up to).{0,40}(?:range|blocks)/i,
  /query (?:timeout|timed out|exceeds)/i,
  /limit exceeded/i,
];
const PRUNED = [/pruned/i, /missing trie node/i, /history.{0,30}(?:not available|unavailable)/i, /archive/i];
const LAGGING = [
  /header not found/i,
  /unknown block/i,
  /block.{0,20}not found/i,
  /beyond (?:the )?(?:current )?head/i,
  /invalid block range/i,
  /after last accepted/i,
];
/** EIP-4444: "pruned history unavailable". */
const PRUNED_CODE = 4444;
const HTTP_TOO_MANY = 429;

export function logRefusalOf({ code, message }: Pick<RpcError, "code" | "message">): LogRefusal {
  const says = (words: readonly RegExp[]): boolean => words.some((word) => word.test(message));
  if (code === PRUNED_CODE || says(PRUNED)) return "pruned";
  if (code === HTTP_TOO_MANY || says(RATE)) return "rateLimited";
  // Before the ranges: one that ends behind the node's head is not too long.
  if (says(LAGGING)) return "lagging";
  return says(TOO_LARGE) ? "tooLarge" : "other";
}
