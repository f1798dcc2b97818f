import { describe, expect, it } from "vitest";
import { type LogRefusal, logRefusalOf } from "./log-refusals.js";

/** As nodes and providers word them; with the code of their answer. */
const SAID: readonly (readonly [LogRefusal, number, string])[] = [
  ["tooLarge", -32005, "query returned more than 10000 results. Try with this block range [0x1, 0x2]."],
  ["tooLarge", -32602, "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range"],
  ["tooLarge", -32000, "block range is too wide"],
  ["tooLarge", -32614, "eth_getLogs is limited to a 10,000 range"],
  ["tooLarge", -32600, "eth_getLogs and eth_newFilter are limited to a 10,000 blocks range"],
  ["tooLarge", -32000, "exceed maximum block range: 5000"],
  ["tooLarge", -32000, "query timeout exceeded"],
  ["tooLarge", -32602, "range 2000 exceeds the limit of 500"],
  ["tooLarge", -32005, "limit exceeded"],
  ["rateLimited", -32005, "daily request count exceeded, request rate limited"],
  ["rateLimited", 429, "Your app has exceeded its compute units per second capacity"],
  ["rateLimited", -32016, "over rate limit"],
  ["rateLimited", -32000, "Too Many Requests"],
  ["pruned", 4444, "pruned history unavailable"],
  ["pruned", -32000, "missing trie node 0xabc (path ) state is not available"],
  ["pruned", -32000, "this node keeps no archive of that block"],
  ["lagging", -32000, "header not found"],
  [
    "lagging",
    -32000,
    "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found: block not found",
  ],
  ["lagging", -32000, "invalid block range params"],
  ["other", -32601, "the method eth_getLogs does not exist"],
  ["other", -32603, "internal error"],
];

describe("a node that refuses a call for events", () => {
  it.each(SAID)("means %s by %i: %s", (meaning, code, message) => {
    expect(logRefusalOf({ code, message })).toBe(meaning);
  });
});
