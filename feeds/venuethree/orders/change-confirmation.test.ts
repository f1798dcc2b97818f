/** The outcome of a change and of a cancel of all: as the stream or their transaction has it, and never guessed. */
import { describe, expect, it } from "vitest";
import type { VenueOrder } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { decodeTx, type VenuethreeWireTx } from "../account/wire.js";
import type { TrackedOrders } from "../account/source.js";
import { confirmAmend, confirmCancelAll } from "./change-confirmation.js";
import { orderOf } from "../account/sent-orders.js";
import { CLOSE_LONG } from "../test/trading-harness.js";
import type { TxConfirmationDeps } from "./tx-confirmation.js";

const HASH = "ab".repeat(40);
const DELAY_MS = 200;
const OPTIONS: CallOptions = { timeoutMs: 5_000, lane: "trade" };

type TxRead = Read<VenuethreeWireTx | null>;

function tx(status: number, ae: string): TxRead {
  return { ok: true, value: decodeTx({ status, event_info: JSON.stringify({ ae }) }), asOfMs: 0, source: "venue" };
}

const EXECUTED = tx(2, "");
const REFUSED = tx(2, JSON.stringify({ code: 21600, message: "order is not an active limit order" }));
const UNDECIDED: TxRead = { ok: true, value: null, asOfMs: 0, source: "venue" };

const CURRENT: VenueOrder = { ...orderOf(CLOSE_LONG, 1, 1_000), type: "LIMIT" };
const CHANGE = { priceTicks: CURRENT.priceTicks + 5, qtyLots: CURRENT.qtyLots - 1 };
const CHANGED: VenueOrder = { ...CURRENT, ...CHANGE, tsVenueMs: 1_250 };

interface Run<T> {
  readonly outcome: T;
  readonly readCount: number;
  readonly tookMs: number;
}

/** `ask` is given what it needs, and how long it has run. */
async function run<T>(
  read: TxRead,
  ask: (deps: TxConfirmationDeps, elapsedMs: () => number) => Promise<T>,
): Promise<Run<T>> {
  const clock = new VirtualClock();
  const startMs = clock.wallMs();
  let readCount = 0;
  const readTx = async (hash: string): Promise<TxRead> => {
    expect(hash).toBe(HASH);
    readCount++;
    return read;
  };
  const elapsedMs = (): number => clock.wallMs() - startMs;
  let ended: { readonly outcome: T } | null = null;
  void ask({ clock, cancelDelayMs: DELAY_MS, readTx }, elapsedMs).then((outcome) => {
    ended = { outcome };
  });
  for (let step = 0; step < 1_000 && ended === null; step++) {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    if (ended === null) clock.advance(10);
  }
  if (ended === null) throw new Error("no end");
  return { outcome: (ended as { readonly outcome: T }).outcome, readCount, tookMs: elapsedMs() };
}

function amend(read: TxRead, shown: (elapsedMs: number) => VenueOrder | null, change = CHANGE) {
  return run(read, (deps, elapsedMs) => confirmAmend(deps, HASH, CURRENT, change, () => shown(elapsedMs()), OPTIONS));
}

function cancelAll(read: TxRead, size: number | null, count: (elapsedMs: number) => number | null) {
  return run(read, (deps, elapsedMs) => {
    const open: TrackedOrders | null = size === null ? null : { size, canceledCount: () => count(elapsedMs()) };
    return confirmCancelAll(deps, HASH, open, OPTIONS);
  });
}

describe("the outcome of a change on venuethree:", () => {
  it("the stream shows it, also of an order that filled by it: no read", async () => {
    for (const status of ["OPEN", "FILLED"] as const) {
      const { outcome, readCount, tookMs } = await amend(UNDECIDED, (ms) =>
        ms < 150 ? CURRENT : { ...CHANGED, status },
      );
      expect(outcome).toMatchObject({ outcome: "accepted", order: { ...CHANGE, status } });
      expect([readCount, tookMs < DELAY_MS]).toEqual([0, true]);
    }
  });

  it("the transaction says executed: with the order where the stream has news of it, without where it has not", async () => {
    const fewer = { ...CHANGED, qtyLots: CHANGE.qtyLots - 3 };
    expect(await amend(EXECUTED, () => fewer)).toMatchObject({ outcome: { outcome: "accepted", order: fewer } });
    for (const shown of [null, CURRENT]) {
      const { outcome, readCount } = await amend(EXECUTED, () => shown);
      expect([outcome, readCount]).toEqual([{ outcome: "accepted", order: null }, 1]);
    }
  });

  it("a row as old as what was changed proves nothing, even where it shows what was asked for", async () => {
    const stale = { ...CHANGED, tsVenueMs: CURRENT.tsVenueMs };
    expect((await amend(REFUSED, () => stale)).outcome).toMatchObject({ outcome: "rejected", reason: "NOT_FOUND" });
  });

  it("the sequencer refused it, also where the stream reports the order's end", async () => {
    const ended: VenueOrder = { ...CURRENT, status: "FILLED", tsVenueMs: 2_000 };
    expect((await amend(REFUSED, () => ended)).outcome).toEqual({
      outcome: "rejected",
      reason: "NOT_FOUND",
      venueCode: "21600",
      venueText: "order is not an active limit order",
      sent: true,
    });
  });

  it("a change to what it was is decided by the transaction", async () => {
    const same = { priceTicks: CURRENT.priceTicks, qtyLots: CURRENT.qtyLots };
    const run = await amend(REFUSED, () => ({ ...CURRENT, tsVenueMs: 2_000 }), same);
    expect(run).toMatchObject({ outcome: { outcome: "rejected" }, readCount: 1 });
  });

  it("not decided in time, or unreadable: the API's yes, and no order with it", async () => {
    expect(await amend(UNDECIDED, () => null)).toMatchObject({
      outcome: { outcome: "accepted", order: null },
      readCount: 3,
    });
    const limited = failedRead("RATE_LIMITED", "too many", 900);
    expect(await amend(limited, () => null)).toMatchObject({ outcome: { order: null }, readCount: 1 });
  });
});

describe("the outcome of a cancel of all on venuethree:", () => {
  it("the stream reports the end of all open orders: their number, and no read", async () => {
    const { outcome, readCount } = await cancelAll(UNDECIDED, 3, (ms) => (ms < 150 ? null : 2));
    expect(outcome).toEqual({ outcome: "accepted", canceledCount: 2, failed: [] });
    expect(readCount).toBe(0);
  });

  it("the transaction says executed: a number only where the ends of all open orders are reported", async () => {
    const executed = (size: number | null, count: number | null) => cancelAll(EXECUTED, size, () => count);
    expect((await executed(null, null)).outcome).toEqual({ outcome: "accepted", canceledCount: null, failed: [] });
    expect((await executed(2, null)).outcome).toMatchObject({ outcome: "accepted", canceledCount: null });
    // None was open: there is nothing to be reported, so the transaction is asked.
    expect(await executed(0, 0)).toMatchObject({ outcome: { canceledCount: 0 }, readCount: 1 });
  });

  it("refused: rejected", async () => {
    expect((await cancelAll(REFUSED, 1, () => null)).outcome).toMatchObject({ outcome: "rejected", sent: true });
  });

  it("not decided in time, or unreadable: unknown, since the sequencer may still refuse it or let it expire", async () => {
    const pending = await cancelAll(UNDECIDED, 1, () => null);
    expect(pending).toMatchObject({ outcome: { outcome: "unknown", cause: "TX_PENDING" }, readCount: 3 });
    const limited = failedRead("RATE_LIMITED", "too many", 900);
    expect(await cancelAll(limited, null, () => null)).toMatchObject({ outcome: { outcome: "unknown" }, readCount: 1 });
  });
});
