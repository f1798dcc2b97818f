/**
 * close-all on venuethree through the whole gateway while its transactions, or the answers to them, are lost or late.
 * It never claims FLAT or CLOSED for a position that the venue holds, and no call sends a second order for one
 * position. The venue's own book and log show what is held and what was sent.
 */
import { describe, expect, it } from "vitest";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import type { FourTrader } from "../support/four-venues.js";
import { Caller, streamed, streamedSystem, TEST_MS } from "../support/streamed-caller.js";

const VENUE = "venuethree";
const SENDS = "sendTx";
const ANSWERS = { scope: ["user"], match: "txAnswer" } as const;
const ACCOUNT_FRAMES = { kind: "loss", scope: ["user"], match: "account_" } as const;

/** If every transaction waited, no cancel would ever be confirmed, and no answer would be FLAT. */
const FAULTS: readonly (readonly [string, FaultSpec])[] = [
  ["answers are lost", { kind: "loss", ...ANSWERS }],
  ["answers come twenty seconds late", { kind: "latency", ...ANSWERS, delayMs: 20_000 }],
  ["the first transaction is lost", { kind: "loss", scope: ["rest"], match: SENDS, count: 1 }],
  // Delays the cancel and the close of the first call: the second call comes before the venue takes them.
  [
    "the first transactions wait at the venue's door",
    { kind: "heldRequest", scope: ["rest"], match: SENDS, delayMs: 4_000, count: 2 },
  ],
];
const FRAMES: readonly (readonly [string, readonly FaultSpec[]])[] = [
  ["account frames come", []],
  ["account frames are lost", [ACCOUNT_FRAMES]],
];

const system = streamedSystem(33);

interface Told {
  readonly state: string;
  readonly totalPositions: number;
  readonly results: readonly { readonly status: string; readonly size: string; readonly filledSize: string }[];
}

const ordersOf = (trader: FourTrader) =>
  system.four.venues[VENUE].log
    .records({ accountId: trader.accountIds[VENUE] })
    .filter(({ side, reduceOnly }) => side !== null && reduceOnly === true);

describe.each(FAULTS)("with account frames that are lost, where %s,", (name, fault) => {
  it.each(FRAMES)(
    "and %s, a position is closed once, and nothing is claimed without proof",
    async (frames, moreFaults) => {
      const trader = system.four.addTrader(`close-all ${name} ${frames}`, { BTC: "0.4" });
      const client = await streamed(system, trader);
      const caller = new Caller(system, VENUE, trader);
      const heldBefore = caller.heldLots;
      expect(heldBefore).toBeGreaterThan(0);
      system.fault([VENUE], [fault, ...moreFaults]);
      for (let isFlat = false; !isFlat; ) {
        const sentBefore = ordersOf(trader).length;
        const told = (await caller.closeAll(false)) as unknown as Told;
        const text = JSON.stringify(told);
        expect(["FLAT", "CLOSED", "PARTIAL", "UNKNOWN", "ERROR"], text).toContain(told.state);
        if (told.state === "FLAT" || told.state === "CLOSED") expect(caller.heldLots, text).toBe(0);
        expect(ordersOf(trader).length - sentBefore, text).toBeLessThanOrEqual(1);
        for (const { filledSize, size } of told.results ?? [])
          expect(Number(filledSize)).toBeLessThanOrEqual(Number(size));
        isFlat = told.state === "FLAT";
      }
      const fills = ordersOf(trader).flatMap((order) => order.fills.map(({ qty }) => Number(qty)));
      expect(fills.reduce((total, qty) => total + qty, 0)).toBeCloseTo(0.4, 9);
      await client.stop();
    },
    TEST_MS,
  );
});
