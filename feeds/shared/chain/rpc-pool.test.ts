/** Endpoints that are slow, away, of another chain, behind, or that do not keep to the protocol; over HTTP on loopback. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { bestHead, RpcPool } from "./rpc-pool.js";
import { OPTIONS, startChain } from "./test/harness.js";
import { OTHER, SENDER } from "./test/scripted-chain.js";
import { CUT, HANG, RawBody, type Reply, RpcFault, ScriptedEndpoint } from "./test/scripted-endpoint.js";

describe("a read", () => {
  it("comes from the first endpoint that answers, and the next read asks that one first", async () => {
    const { chain, chains, endpoints, settled } = await startChain({
      heads: [100, 100],
      replies: { 0: { eth_getBalance: () => CUT } },
    });
    const [, second] = chains;
    if (second === undefined) throw new Error("two chains");
    second.balance = 55n;
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: true, value: 55n, source: "venue" });
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: true, value: 55n });
    expect(endpoints.map((endpoint) => endpoint.countOf("eth_getBalance"))).toEqual([1, 2]);
  });

  it("waits 3 s at most for an endpoint that hangs", async () => {
    const { chain, clock, endpoints, afterHang } = await startChain({
      heads: [100, 100],
      replies: { 0: { eth_getBalance: () => HANG } },
    });
    const startNs = clock.monoNs();
    const read = chain.nativeBalance(OTHER, OPTIONS);
    const hasArrived = () => endpoints[0]?.countOf("eth_getBalance") === 1;
    expect(await afterHang(read, hasArrived, 3_000)).toMatchObject({ ok: true, value: 10n });
    expect((clock.monoNs() - startNs) / 1e6).toBeLessThan(3_010);
  });

  it("leaves time for the others where there is little of it", async () => {
    const { chain, endpoints, afterHang } = await startChain({
      heads: [100, 100],
      replies: { 0: { eth_getBalance: () => HANG } },
    });
    const read = chain.nativeBalance(OTHER, { ...OPTIONS, timeoutMs: 1_000 });
    const hasArrived = () => endpoints[0]?.countOf("eth_getBalance") === 1;
    expect(await afterHang(read, hasArrived, 500)).toMatchObject({ ok: true, value: 10n });
  });

  it("fails with what the last of them said where none answers", async () => {
    const { chain, settled } = await startChain({
      heads: [100],
      replies: { 0: { eth_getBalance: () => new RpcFault(-32_000, `no state ${"ab".repeat(40)}`) } },
    });
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({
      ...{ ok: false, code: "VENUE_ERROR", message: "no state [hidden]" },
    });
  });
});

const MALFORMED: readonly (readonly [string, Reply])[] = [
  ["a number instead of a quantity", () => 10],
  ["a quantity with leading zeros", () => "0x0a"],
  ["a decimal text", () => "10"],
  ["a quantity above a word", () => `0x1${"00".repeat(32)}`],
  ["no result", (_, { id }) => new RawBody(JSON.stringify({ jsonrpc: "2.0", id }))],
  [
    "the answer to another call",
    (_, { id }) => new RawBody(JSON.stringify({ jsonrpc: "2.0", id: id + 1, result: "0xa" })),
  ],
  ["no version", (_, { id }) => new RawBody(JSON.stringify({ id, result: "0xa" }))],
  [
    "a result and an error",
    (_, { id }) => new RawBody(JSON.stringify({ jsonrpc: "2.0", id, result: "0xa", error: { code: 1, message: "" } })),
  ],
  [
    "an error without a code",
    (_, { id }) => new RawBody(JSON.stringify({ jsonrpc: "2.0", id, error: { message: "" } })),
  ],
  ["half a body", () => new RawBody('{"jsonrpc":"2.0","id":1,"resu')],
  ["a page", () => new RawBody("<html>busy</html>")],
  ["a list", (_, { id }) => new RawBody(JSON.stringify([{ jsonrpc: "2.0", id, result: "0xa" }]))],
  [
    "more than 1 MiB",
    (_, { id }) => new RawBody(JSON.stringify({ jsonrpc: "2.0", id, result: "0xa", more: "x".repeat(1024 * 1024) })),
  ],
];

describe("an answer that is malformed", () => {
  it.each(MALFORMED)("is the endpoint's failure, and another is asked: %s", async (_name, reply) => {
    const { chain, chains, settled } = await startChain({
      heads: [100, 100],
      replies: { 0: { eth_getBalance: reply } },
    });
    const [, second] = chains;
    if (second === undefined) throw new Error("two chains");
    second.balance = 56n;
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: true, value: 56n });
    expect(chain.status().endpoints[0]).toMatchObject({ failedCount: 1, malformedCount: 1 });
  });

  it("is BAD_RESPONSE where no other endpoint is left, and says which", async () => {
    const { chain, settled, lines } = await startChain({
      heads: [100],
      replies: { 0: { eth_getBalance: () => "0x0a" } },
    });
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({
      ...{ ok: false, code: "BAD_RESPONSE", message: "endpoint 1: eth_getBalance: balance is not a quantity" },
    });
    expect(lines.map(({ event }) => event)).toEqual(["chain.malformed_answer"]);
  });

  it.each([
    [503, "VENUE_ERROR"],
    [404, "VENUE_ERROR"],
    [429, "RATE_LIMITED"],
  ])("is no result with status %i", async (status, code) => {
    const { chain, settled } = await startChain({
      heads: [100],
      replies: {
        0: {
          eth_getBalance: (_, { id }) => new RawBody(JSON.stringify({ jsonrpc: "2.0", id, result: "0xa" }), status),
        },
      },
    });
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: false, code });
  });
});

describe("an endpoint of another chain", () => {
  it("is set aside with one line, counted, and asked nothing but its id", async () => {
    const { chain, chains, endpoints, settled, lines } = await startChain({ heads: [500, 100] });
    const [other] = chains;
    if (other === undefined) throw new Error("two chains");
    other.chainId = 1;
    other.balance = 99n;
    for (let round = 0; round < 3; round++) {
      expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: true, value: 10n });
      expect(await settled(chain.nextNonce(SENDER, OPTIONS))).toMatchObject({ ok: true, value: 7 });
      await settled(chain.broadcast(Uint8Array.of(1), OPTIONS));
    }
    expect(endpoints[0]?.methods()).toEqual(["eth_chainId"]);
    expect(lines.filter(({ event }) => event === "chain.other_id")).toEqual([
      { event: "chain.other_id", fields: { name: "chain 56", part: "endpoint 1", answer: "1" } },
    ]);
    expect(chain.status().endpoints.map(({ state }) => state)).toEqual(["otherChain", "proven"]);
    // One that is left out does not lower what must agree.
    expect(chain.agreement).toBe(2);
  });

  it("is noticed where its name came to point there while it was connected", async () => {
    const { chain, chains, endpoints, settled, clock } = await startChain({ heads: [100] });
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: true });
    for (const one of chains) one.chainId = 1;
    clock.advance(600_001);
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: false });
    expect(endpoints[0]?.countOf("eth_getBalance")).toBe(1);
  });

  it("is asked for its id again after a connection was lost", async () => {
    const { chain, endpoints, settled } = await startChain({ heads: [100] });
    const [endpoint] = endpoints;
    if (endpoint === undefined) throw new Error("one endpoint");
    const { eth_getBalance: balance } = endpoint.replies;
    endpoint.replies = { ...endpoint.replies, eth_getBalance: () => CUT };
    await settled(chain.nativeBalance(OTHER, OPTIONS));
    endpoint.replies = { ...endpoint.replies, eth_getBalance: balance ?? (() => CUT) };
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: true });
    expect(endpoint.countOf("eth_chainId")).toBe(2);
  });

  it("leaves nobody to ask where it is the only one", async () => {
    const { chain, chains, settled } = await startChain({ heads: [100] });
    for (const one of chains) one.chainId = 1;
    for (let round = 0; round < 2; round++) {
      expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: false, code: "VENUE_ERROR" });
      expect(await settled(chain.nextNonce(SENDER, OPTIONS))).toMatchObject({ ok: false, code: "VENUE_ERROR" });
      const of = { from: SENDER, nonce: 7, hashes: [] };
      expect(await settled(chain.standing(of, OPTIONS))).toMatchObject({ ok: false, code: "VENUE_ERROR" });
      expect(await settled(chain.broadcast(Uint8Array.of(1), OPTIONS))).toEqual({ kind: "unknown" });
    }
  });
});

describe("an endpoint that lags", () => {
  it("is not asked for balances, prices or estimates", async () => {
    const { chain, chains, endpoints, settled } = await startChain({ heads: [79, 100] });
    const [behind] = chains;
    if (behind === undefined) throw new Error("two chains");
    behind.balance = 99n;
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ value: 10n });
    expect(await settled(chain.tokenBalance(OTHER, SENDER, OPTIONS))).toMatchObject({ value: 10n });
    expect(await settled(chain.gasPrice(OPTIONS))).toMatchObject({ ok: true });
    expect(endpoints[0]?.methods()).toEqual(["eth_chainId", "eth_blockNumber"]);
  });

  it("is asked as the others are within the bound, and again once it has come up", async () => {
    const { chain, chains, endpoints, settled, clock } = await startChain({ heads: [80, 100] });
    await settled(chain.nativeBalance(OTHER, OPTIONS));
    expect(endpoints[0]?.countOf("eth_getBalance")).toBe(1);
    const [first, second] = chains;
    if (first === undefined || second === undefined) throw new Error("two chains");
    second.head = 200;
    clock.advance(2_001);
    await settled(chain.nativeBalance(OTHER, OPTIONS));
    expect(endpoints[0]?.countOf("eth_getBalance")).toBe(1);
    first.head = 200;
    clock.advance(2_001);
    await settled(chain.nativeBalance(OTHER, OPTIONS));
    expect(endpoints[0]?.countOf("eth_getBalance")).toBe(2);
  });

  it("is not asked though it is all that answers", async () => {
    const { chain, settled } = await startChain({ heads: [10, 100], replies: { 1: { eth_getBalance: () => CUT } } });
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: false });
  });

  it("does not make a balance wait for more than a second where it names no height", async () => {
    const { chain, endpoints, afterHang } = await startChain({
      heads: [100, 100],
      replies: { 0: { eth_blockNumber: () => HANG } },
    });
    const read = chain.nativeBalance(OTHER, OPTIONS);
    const hasArrived = () => endpoints[0]?.countOf("eth_blockNumber") === 1;
    expect(await afterHang(read, hasArrived, 1_000)).toMatchObject({ ok: true, value: 10n });
  });

  it.each([
    ["of two the higher", [10, 100], 2, 100],
    ["of three not one that is alone far above", [100, 101, 9_000], 2, 101],
    ["of two that answer out of three the higher", [10, null, 100], 2, 100],
    ["of one its own", [10], 1, 10],
    ["of five with three that must agree the third", [1, 2, 3, 4, 5], 3, 3],
  ])("is measured by the best height: %s", (_name, heads, agreement, expected) => {
    expect(bestHead(heads, agreement)).toBe(expected);
  });
});

describe("the configuration of a pool", () => {
  const pool = (urls: readonly string[], agreement?: number) =>
    new RpcPool({
      ...{ chainId: 1, urls, clock: new VirtualClock(), random: createSeededRandom(1), logger: silentLogger },
      ...(agreement === undefined ? {} : { agreement }),
    });

  it("shows how many endpoints must agree: two, or the only one", () => {
    expect(pool(["http://127.0.0.1:1"]).agreement).toBe(1);
    expect(pool(["http://127.0.0.1:1", "http://127.0.0.1:2"]).agreement).toBe(2);
    expect(pool(["http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"]).agreement).toBe(2);
    expect(pool(["http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"], 3).agreement).toBe(3);
  });

  it("is refused without an endpoint, with one twice, with one of another protocol, and where too many must agree", () => {
    expect(() => pool([])).toThrow(/needs an endpoint/);
    expect(() => pool(["http://127.0.0.1:1", "http://127.0.0.1:1/"])).toThrow(/named twice/);
    expect(() => pool(["ws://127.0.0.1:1/key"])).toThrow(/^an endpoint is of http or https$/);
    expect(() => pool(["127.0.0.1/key"])).toThrow(/^the URL of an endpoint cannot be read$/);
    expect(() => pool(["http://127.0.0.1:1"], 2)).toThrow(/must agree/);
    expect(() => pool(["http://127.0.0.1:1"], 0)).toThrow(/must agree/);
  });

  it("sends path, query and name of a URL with each call, and prints none of it", async () => {
    const { chain, settled, lines, endpoints } = await startChain({ heads: [100], overrides: {} });
    const keyed = await new ScriptedEndpoint({
      eth_chainId: () => "0x38",
      eth_getBalance: () => new RpcFault(-32_000, "no key secretkey, no token secrettoken, nor user secretword"),
    }).listen("/v2/secretkey?token=secrettoken");
    const url = keyed.url.replace("http://", "http://user:secretword@");
    const other = await startChain({ heads: [100], overrides: { urls: [url] } });
    const read = await other.settled(other.chain.nativeBalance(OTHER, OPTIONS));
    expect(read).toMatchObject({ ok: false, message: "no key [redacted], no token [redacted], nor user [redacted]" });
    expect(keyed.headers[0]).toMatchObject({
      path: "/v2/secretkey?token=secrettoken",
      authorization: `Basic ${Buffer.from("user:secretword").toString("base64")}`,
    });
    expect(JSON.stringify([read, other.lines, other.chain.status()])).not.toMatch(/secret/);
    keyed.stop();
    expect(await settled(chain.nativeBalance(OTHER, OPTIONS))).toMatchObject({ ok: true });
    expect([lines.length, endpoints[0]?.headers[0]?.["authorization"]]).toEqual([0, undefined]);
  });
});
