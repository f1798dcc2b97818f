/** The newest events are read once for those who ask at the same time, and nobody gets what went wrong for another. */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import { type ChainAnswer, type ChainHeader, failedAnswer, type HistoryEndpoint } from "./chain-port.js";
import { ChainTail } from "./chain-tail.js";
import { LogDecoder } from "./decode-logs.js";
import { ADDRESSES, CALLBACKS } from "./test/encode-event.js";

const hashOf = (serial: number): string => `0x${serial.toString(16).padStart(64, "0")}`;
const TIP = 105;
/** Of no chain, from here on. */
const FAR_BLOCK = 1_000_000;
const options = (payer: string, timeoutMs = 4_000): CallOptions => ({ timeoutMs, lane: "read", payer });
const headerAt = (number: number): ChainAnswer<ChainHeader> => ({
  kind: "value",
  value: { number, hash: hashOf(number), parentHash: hashOf(number - 1), timeMs: number * 2_000 },
});

/** Endpoints of one chain at these heights; null: it hangs. What was asked for the events is kept, by endpoint. */
function tailAt(...heights: readonly (number | null)[]) {
  const clock = new VirtualClock();
  const read: number[] = [];
  const hang = (): Promise<never> => new Promise(() => {});
  const endpoints = heights.map(
    (height, index): HistoryEndpoint => ({
      tip: async (_, { timeoutMs }) =>
        height === null
          ? new Promise((resolve) => clock.setTimer(() => resolve(failedAnswer("TIMEOUT", "late")), timeoutMs))
          : headerAt(height),
      header: async (number) =>
        number > Math.min(height ?? 0, FAR_BLOCK - 1) ? { kind: "value", value: null } : headerAt(number),
      async logs() {
        read.push(index);
        return { kind: "value", value: [] };
      },
      ...{ transaction: hang, knows: hang, callbacks: hang },
    }),
  );
  const decoder = () => new LogDecoder(ADDRESSES, [CALLBACKS]);
  return { clock, read, tail: new ChainTail({ chain: { believed: async () => endpoints }, decoder, clock }) };
}

function tailOf(tip: (asked: CallOptions) => Promise<ChainAnswer<ChainHeader>>) {
  const clock = new VirtualClock();
  const payers: unknown[] = [];
  const endpoint: HistoryEndpoint = {
    tip(_, asked) {
      payers.push(asked.payer);
      return tip(asked);
    },
    header: async (number) => headerAt(number),
    logs: async () => ({ kind: "value", value: [] }),
    transaction: () => Promise.reject(new Error("not asked")),
    knows: () => Promise.reject(new Error("not asked")),
    callbacks: () => Promise.reject(new Error("not asked")),
  };
  const decoder = () => new LogDecoder(ADDRESSES, [CALLBACKS]);
  return { clock, payers, tail: new ChainTail({ chain: { believed: async () => [endpoint] }, decoder, clock }) };
}

describe("the newest events", () => {
  it("are read once for who asks within a second", async () => {
    const { tail, payers, clock } = tailOf(async () => headerAt(TIP));
    const both = await Promise.all([tail.read(101, options("one")), tail.read(101, options("two"))]);
    expect(both).toMatchObject([{ value: { toBlock: TIP } }, { value: { toBlock: TIP } }]);
    expect(payers).toEqual(["one"]);
    await clock.advanceAsync(1_001);
    await tail.read(101, options("two"));
    expect(payers).toEqual(["one", "two"]);
  });

  it("are asked for again by who comes after one whose own share of the calls was used up", async () => {
    const { tail, payers } = tailOf(async ({ payer }) =>
      payer === "greedy" ? failedAnswer("RATE_LIMITED", "used up", 9_000) : headerAt(TIP),
    );
    const [greedy, beside] = await Promise.all([tail.read(101, options("greedy")), tail.read(101, options("beside"))]);
    expect(greedy).toMatchObject({ kind: "failed", code: "RATE_LIMITED" });
    expect(beside).toMatchObject({ kind: "value" });
    expect(await tail.read(101, options("later"))).toMatchObject({ kind: "value" });
    // What was good is shared also with the one that was limited.
    expect(await tail.read(101, options("greedy"))).toMatchObject({ kind: "value" });
    expect(payers).toEqual(["greedy", "beside"]);
  });

  it("keep nobody waiting longer than its own time", async () => {
    const { tail, clock } = tailOf(() => new Promise(() => {}));
    void tail.read(101, options("patient", 60_000));
    const waited = tail.read(101, options("hasty", 500));
    await clock.advanceAsync(500);
    expect(await waited).toMatchObject({ kind: "failed", code: "TIMEOUT" });
  });

  it("are read at the endpoint of the newest block, wherever that comes among them", async () => {
    const { tail, read } = tailAt(95, 103, TIP);
    expect(await tail.read(101, options("one"))).toMatchObject({ value: { toBlock: TIP } });
    expect(read).toEqual([2]);
  });

  it("are a failure, and not none, where all endpoints are behind what is kept", async () => {
    const { tail } = tailAt(95, 99);
    expect(await tail.read(101, options("one"))).toMatchObject({ kind: "failed" });
    expect(await tailAt(95, 100).tail.read(101, options("one"))).toMatchObject({ value: { events: [], toBlock: 100 } });
  });

  it("are not held up by an endpoint that names a block far above, and does not have it", async () => {
    const wrong = tailAt(FAR_BLOCK, TIP);
    expect(await wrong.tail.read(101, options("one"))).toMatchObject({ value: { toBlock: TIP } });
    const right = tailAt(FAR_BLOCK - 1, TIP);
    expect(await right.tail.read(101, options("one"))).toMatchObject({ kind: "failed", code: "LAGGING" });
  });

  it("are read at the others' where one hangs", async () => {
    const { tail, clock } = tailAt(null, TIP);
    const found = tail.read(101, options("one"));
    await clock.advanceAsync(4_000);
    expect(await found).toMatchObject({ value: { toBlock: TIP } });
  });
});
