/** Logs that are final, of endpoints that lag, lie, are away or on another branch; over HTTP on loopback. */
import { describe, expect, it } from "vitest";
import type { LogsFound } from "../../../engine/chain.js";
import { type Harness, OPTIONS, startChain } from "./test/harness.js";
import { hashOf, OTHER, TOKEN } from "./test/scripted-chain.js";
import { CUT, RpcFault } from "./test/scripted-endpoint.js";
import { toQuantity } from "./rpc-wire.js";

const PAID = hashOf("paid");
const SEARCH = { contract: TOKEN, topics: [hashOf("topic"), null], fromHeight: 90 };

const search = ({ chain, settled }: Harness, fromHeight = SEARCH.fromHeight) =>
  settled(chain.logs.final({ ...SEARCH, fromHeight }, OPTIONS));

async function found(harness: Harness, fromHeight?: number): Promise<LogsFound> {
  const read = await search(harness, fromHeight);
  if (!read.ok) throw new Error(read.message);
  return read.value;
}

const write = ({ chains }: Harness, height: number, hash = PAID): void => {
  for (const one of chains) one.written.set(hash, { height });
};

describe("logs of a contract", () => {
  it("are found with their transactions once they are as deep as makes final, at every endpoint that must agree", async () => {
    const harness = await startChain({ heads: [99, 100] });
    write(harness, 98);
    expect(await found(harness)).toEqual({ logs: [], nextHeight: 90, isAtEnd: true });
    for (const one of harness.chains) one.head = 100;
    const log = { address: TOKEN, topics: [hashOf("topic"), hashOf("other")], data: Uint8Array.of(1), hash: PAID };
    expect((await found(harness)).logs).toEqual([log]);
    const asked = harness.endpoints[0]?.calls.find(({ method }) => method === "eth_getLogs");
    expect(asked?.params).toMatchObject([{ address: TOKEN, topics: SEARCH.topics, fromBlock: "0x5a" }]);
  });

  it("are found by the only endpoint that is configured", async () => {
    const harness = await startChain({ heads: [100] });
    write(harness, 98);
    expect((await found(harness)).logs).toHaveLength(1);
  });

  it("that one endpoint alone shows are not believed, and the search does not pass them", async () => {
    const harness = await startChain({ heads: [5_000, 5_000] });
    harness.chains[0]?.written.set(PAID, { height: 95 });
    expect(await found(harness)).toEqual({ logs: [], nextHeight: 90, isAtEnd: false });
    harness.chains[1]?.written.set(PAID, { height: 95 });
    expect((await found(harness)).logs).toHaveLength(1);
  });

  it("that one of three invents hold up nobody", async () => {
    const harness = await startChain({ heads: [5_000, 5_000, 5_000] });
    harness.chains[0]?.written.set(PAID, { height: 95 });
    expect(await found(harness)).toEqual({ logs: [], nextHeight: 2_090, isAtEnd: false });
  });

  it("of a block that is not in the endpoint's chain are none", async () => {
    const harness = await startChain({ heads: [100, 100] });
    for (const one of harness.chains) one.written.set(PAID, { height: 95, blockHash: hashOf("undone") });
    expect(await search(harness)).toMatchObject({ ok: false });
  });

  it.each<[what: string, change: object]>([
    ["of another contract", { address: OTHER }],
    ["of another event", { topics: [hashOf("another")] }],
    ["that a reorg took away", { removed: true }],
    ["below what was asked for", { blockNumber: toQuantity(89) }],
  ])("%s are a failure of the endpoint", async (_, change) => {
    const harness = await startChain({ heads: [100] });
    write(harness, 95);
    const [endpoint] = harness.endpoints;
    const right = endpoint?.replies["eth_getLogs"];
    if (endpoint !== undefined)
      endpoint.replies["eth_getLogs"] = (params, call) =>
        (right === undefined ? [] : (right(params, call) as object[])).map((log) => ({ ...log, ...change }));
    expect(await search(harness)).toMatchObject({ ok: false });
  });

  it("are not known while fewer answer than must agree: away, refusing, behind", async () => {
    const harness = await startChain({ heads: [100, 100] });
    write(harness, 95);
    const second = harness.endpoints[1];
    if (second === undefined) throw new Error("two");
    const { replies } = second;
    for (const reply of [() => CUT, () => new RpcFault(-32005, "range too large")]) {
      second.replies = { ...replies, eth_getLogs: reply };
      expect(await search(harness)).toMatchObject({ ok: false });
    }
    second.replies = replies;
    expect((await found(harness)).logs).toHaveLength(1);
    // Of a server that lags behind the one that named the height.
    let asked = 0;
    second.replies = { ...replies, eth_blockNumber: () => toQuantity(asked++ === 0 ? 100 : 90), eth_getLogs: () => [] };
    expect(await search(harness)).toMatchObject({ ok: false });
  });

  it("are searched for part by part, and the newest part again", async () => {
    const harness = await startChain({ heads: [5_002, 5_002] });
    write(harness, 4_500);
    expect(await found(harness, 0)).toEqual({ logs: [], nextHeight: 2_000, isAtEnd: false });
    expect(await found(harness, 2_000)).toEqual({ logs: [], nextHeight: 4_000, isAtEnd: false });
    expect(await found(harness, 4_000)).toMatchObject({ logs: [{ hash: PAID }], nextHeight: 4_001 });
    expect(await found(harness, 4_001)).toMatchObject({ nextHeight: 4_001, isAtEnd: true });
  });
});

describe("a height by its time", () => {
  const at = ({ chain, settled }: Harness, height: number) => settled(chain.logs.heightAt(height * 1_000, OPTIONS));

  it("is at that time or before it, at most twice as far back from the head", async () => {
    const harness = await startChain({ heads: [100_000, 100_000] });
    expect(await at(harness, 99_900)).toMatchObject({ ok: true, value: 99_744 });
    expect(await at(harness, 99_744)).toMatchObject({ value: 99_744 });
    expect(await at(harness, 99_743)).toMatchObject({ value: 99_488 });
    expect(await at(harness, 5)).toMatchObject({ value: 0 });
    expect(await at(harness, 200_000)).toMatchObject({ value: 99_744 });
  });

  it.each<[what: string, head: number]>([
    ["far below", 10],
    ["far above", 1_000_000],
  ])("is not what one of three says that is %s the others", async (_, head) => {
    const harness = await startChain({ heads: [100_000, head, 100_000] });
    expect(await at(harness, 99_900)).toMatchObject({ ok: true, value: 99_744 });
  });

  it("is the lowest that is named, and not known where fewer name one than must agree", async () => {
    const harness = await startChain({ heads: [100_000, 90_000] });
    expect(await at(harness, 99_900)).toMatchObject({ value: 89_744 });
    const second = harness.endpoints[1];
    if (second !== undefined) second.replies["eth_getBlockByNumber"] = () => null;
    expect(await at(harness, 99_900)).toMatchObject({ ok: false });
  });
});
