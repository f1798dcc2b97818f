import { describe, expect, it, onTestFinished } from "vitest";
import type { Logger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { WireFault } from "../room/wire-fields.js";
import { untilSettled } from "../test/http-time.js";
import { connectRpc } from "./rpc-connection.js";
import { BATCH_MS_MAX, type RpcEndpoint } from "./rpc-endpoint.js";
import { RpcPool } from "./rpc-pool.js";
import { readCount } from "./rpc-wire.js";
import { OPTIONS } from "./test/harness.js";
import { CUT, HANG, RawBody, type Reply, RpcFault, ScriptedEndpoint } from "./test/scripted-endpoint.js";

const KEY = "a-key-of-the-operator";
const CALLS = [
  { method: "one", params: [1] },
  { method: "two", params: [] },
  { method: "one", params: [3] },
];
const REPLIES: Record<string, Reply> = {
  eth_chainId: () => "0x38",
  one: ([number]) => `0x${String(number)}`,
  two: () => "0xff",
};
const counts = (results: readonly unknown[]): readonly number[] => results.map((result) => readCount(result, "count"));

async function start(replies: Record<string, Reply> = {}): Promise<{
  readonly scripted: ScriptedEndpoint;
  readonly endpoint: RpcEndpoint;
  readonly clock: VirtualClock;
  settled<T>(promise: Promise<T>): Promise<T>;
}> {
  const clock = new VirtualClock();
  const logger: Logger = { debug: null, info() {}, warn() {}, error() {} };
  const scripted = await new ScriptedEndpoint({ ...REPLIES, ...replies }).listen(`/v2/${KEY}`);
  const common = { clock, random: createSeededRandom(1), logger };
  const pool = new RpcPool({
    ...{ chainId: 56, urls: [scripted.url], ...common },
    // Connecting is timed by the machine's own clock.
    connect: (url) =>
      connectRpc(url, {
        ...{ name: "chain.56.1", callsPerMinute: 3_000, connectTimeoutMs: 60_000, maxBodyBytes: 4_096, ...common },
      }),
  });
  onTestFinished(async () => {
    scripted.stop();
    const closed = pool.close(0);
    clock.advance(0);
    await closed;
  });
  const [endpoint] = pool.endpoints;
  if (endpoint === undefined) throw new Error("the pool has no endpoint");
  return { scripted, endpoint, clock, settled: (promise) => untilSettled(clock, promise) };
}

describe("several calls of an endpoint in one request", () => {
  it("are answered in their order, whatever that of the answers, and each counts", async () => {
    const { scripted, endpoint, settled } = await start();
    const result = await settled(endpoint.batch(CALLS, counts, OPTIONS));
    expect(result).toEqual({ kind: "value", value: [1, 255, 3] });
    expect(scripted.batches.map((calls) => calls.map(({ method }) => method))).toEqual([["one", "two", "one"]]);
    expect(new Set(scripted.batches[0]?.map(({ id }) => id)).size).toBe(3);
    // And the call that asks for the chain's id.
    expect(endpoint.callCount).toBe(4);
    expect(endpoint.status()).toMatchObject({ state: "proven", failedCount: 0 });
  });

  it("are asked of no endpoint of another chain", async () => {
    const { scripted, endpoint, settled } = await start({ eth_chainId: () => "0x1" });
    expect(await settled(endpoint.batch(CALLS, counts, OPTIONS))).toMatchObject({ kind: "failed" });
    expect(scripted.batches).toEqual([]);
  });

  it("are refused as a whole where one is, and no key is in the text", async () => {
    const { endpoint, settled } = await start({ two: () => new RpcFault(-32_000, `no such block for ${KEY}`) });
    const result = await settled(endpoint.batch(CALLS, counts, OPTIONS));
    expect(result).toMatchObject({ kind: "error", error: { code: -32_000 } });
    expect(result.kind === "error" && result.error.message).not.toContain(KEY);
  });

  it("are refused where the endpoint takes no batches", async () => {
    const text = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are off"}}';
    const { endpoint, settled } = await start({ two: () => new RawBody(text) });
    expect(await settled(endpoint.batch(CALLS, counts, OPTIONS))).toEqual({
      kind: "error",
      error: { code: -32_600, message: "batches are off", data: undefined },
    });
  });

  const answer = (id: number): string => `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`;
  it.each<[string, string]>([
    ["too few answers", `[${answer(2)},${answer(3)}]`],
    ["too many answers", `[${answer(2)},${answer(3)},${answer(4)},${answer(5)}]`],
    ["one answer twice", `[${answer(2)},${answer(3)},${answer(3)}]`],
    ["answers to other calls", `[${answer(7)},${answer(8)},${answer(9)}]`],
    ["an answer that is none", `[${answer(2)},${answer(3)},5]`],
    ["one answer alone", answer(2)],
    [
      "a result and an error",
      `[${answer(2)},${answer(3)},{"jsonrpc":"2.0","id":4,"result":"0x1","error":{"code":1,"message":""}}]`,
    ],
    ["no JSON", "<html>"],
    ["half a body", `[${answer(2)},`],
    ["more than may be", JSON.stringify("x".repeat(5_000))],
  ])("fail for %s", async (_, text) => {
    const { endpoint, settled } = await start({ two: () => new RawBody(text) });
    const result = await settled(endpoint.batch(CALLS, counts, OPTIONS));
    expect(result).toMatchObject({ kind: "failed", failure: { code: "BAD_RESPONSE" } });
    expect(endpoint.isWell).toBe(false);
    expect(endpoint.status()).toMatchObject({ failedCount: 1, malformedCount: 1 });
  });

  it("fail where a result is not of its shape", async () => {
    const { endpoint, settled } = await start();
    const read = (): never => {
      throw new WireFault("balance", "is not a quantity");
    };
    expect(await settled(endpoint.batch(CALLS, read, OPTIONS))).toMatchObject({
      failure: { code: "BAD_RESPONSE", message: "endpoint 1: batch: balance is not a quantity" },
    });
  });

  it("fail where the connection is cut, and where the endpoint limits us", async () => {
    const cut = await start({ two: () => CUT });
    expect(await cut.settled(cut.endpoint.batch(CALLS, counts, OPTIONS))).toMatchObject({
      ...{ kind: "failed", failure: { code: "VENUE_ERROR" } },
    });
    const limited = await start({ two: () => new RawBody("", 429) });
    expect(await limited.settled(limited.endpoint.batch(CALLS, counts, OPTIONS))).toMatchObject({
      ...{ kind: "failed", failure: { code: "RATE_LIMITED" } },
    });
  });

  it("have more time than one call, and an end of it", async () => {
    const { scripted, endpoint, clock } = await start({ two: () => HANG });
    const result = endpoint.batch(CALLS, counts, { ...OPTIONS, timeoutMs: 60_000 });
    while (scripted.batches.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advanceAsync(BATCH_MS_MAX);
    expect(await result).toMatchObject({ kind: "failed", failure: { code: "TIMEOUT" } });
  });
});
