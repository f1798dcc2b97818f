/** A fill of an order of ours that the list of open orders and the fills both show: it is one fill. */
import { expect, it } from "vitest";
import { ALICE, fill, orderRow, setup } from "../test/account-harness.js";

const CLOID = `0x${"0b".repeat(16)}`;
const LOTS = 10_000;

it("a fill that a list of open orders showed before it is not counted a second time", async () => {
  const { clock, live, push, streams, venue } = setup();
  venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
  await live(ALICE);
  const [account] = streams.watched(ALICE);
  if (account === undefined) throw new Error("not watched");
  const { reads } = account;
  const held = (): number | undefined => streams.livePositions(ALICE, { coin: "BTC", lots: 1 })?.value[0]?.qtyLots;
  expect(held()).toBe(0.5 * LOTS);
  reads.sent({ clientId: CLOID, coin: "BTC", side: "BUY", qtyLots: 2_000, rests: true });
  const nowMs = clock.trueMs();
  venue.positions.set(ALICE, { BTC: { szi: "0.6", entryPx: "50000.0" } });
  const row = orderRow({
    side: "B",
    sz: "0.1",
    origSz: "0.2",
    oid: 9,
    cloid: CLOID,
    reduceOnly: false,
    timestamp: nowMs,
  });
  venue.orders.set(ALICE, [row]);
  push("openOrders", { user: ALICE, orders: [row] });
  const filled = { sz: "0.1", side: "B", startPosition: "0.5", oid: 9, cloid: CLOID, dir: "Open Long", time: nowMs };
  push("userFills", { user: ALICE, isSnapshot: false, fills: [fill(filled)] });
  expect(held()).toBe(0.6 * LOTS);
  // The venue's answer says that it rests, and not what it filled.
  reads.answered(CLOID, { filledLots: 0, status: "OPEN" });
  expect([held(), reads.fills.isPending]).toEqual([0.6 * LOTS, false]);
});
