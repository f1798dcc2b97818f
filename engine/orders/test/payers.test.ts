/** Who pays for what an order path asks of a venue: every session that a call opens is paid by the key of its caller. */
import { describe, expect, it } from "vitest";
import {
  closeAllRequest,
  closeRequest,
  createDesk,
  CREDENTIALS,
  orderContext,
  orderName,
} from "../single/test/desk-harness.js";
import type { DeskHarness } from "../single/test/desk-harness.js";
import type { FakeVenue } from "./fake-venue.js";
import { ASKER, createHarness, type Harness, SECRET_ONE } from "./harness.js";

const KEY = "pk_one";
const PAID = { payer: KEY } as const;
const RESTING = { type: "LIMIT", price: "90000", timeInForce: "GTC" } as const;

const payersAt = (venues: readonly FakeVenue[]) => [
  ...new Set(venues.flatMap(({ sessions }) => sessions.map(({ payer }) => payer))),
];

const TRADES: Readonly<Record<string, (harness: Harness) => Promise<unknown>>> = {
  "a close": (harness) => harness.close({}, PAID),
  "a repeated close": async (harness) => {
    const context = { ...PAID, idempotencyKey: "k" };
    await harness.close({ size: "0.1" }, context);
    await harness.close({ size: "0.1" }, context);
  },
  "a dry run": (harness) => harness.close({ dryRun: true }, PAID),
  "an entry": (harness) => harness.open({}, {}, PAID),
  "a close of unknown outcome, and a look at it": async (harness) => {
    for (const venue of [harness.one, harness.two]) venue.fate = () => ({ kind: "loseReply" });
    const result = await harness.close({ size: "0.1" }, PAID);
    if (!result.ok) return;
    const credentials = { venueone: { account: "acct-venueone", secret: SECRET_ONE } };
    await harness.run(harness.service.askExecution(result.data.routing.routeId, credentials, { ...ASKER, payer: KEY }));
  },
};

const DESK: Readonly<Record<string, (harness: DeskHarness) => Promise<unknown>>> = {
  "an order": (harness) => harness.place({}, PAID),
  "an order that rests, its status and its cancel": async (harness) => {
    const context = orderContext(harness.clock, PAID);
    const { orderId } = await harness.order(RESTING, PAID);
    await harness.run(harness.desk.orderStatus(orderName(orderId ?? ""), context));
    await harness.run(harness.desk.cancel(orderName(orderId ?? ""), context));
    await harness.clock.advanceAsync(60_000);
  },
  "a close of a position": (harness) =>
    harness.run(harness.desk.closePosition(closeRequest(), orderContext(harness.clock, PAID))),
  "a close of all, repeated": async (harness) => {
    const context = orderContext(harness.clock, { ...PAID, idempotencyKey: "k" });
    await harness.run(harness.desk.closeAll(closeAllRequest(), context));
    await harness.run(harness.desk.closeAll(closeAllRequest(), context));
  },
  "a switch that fires": async (harness) => {
    const request = { venue: "venueone", credentials: CREDENTIALS, payer: KEY, timeoutMs: 5_000 } as const;
    await harness.run(harness.desk.armSwitch(request, null));
    await harness.clock.advanceAsync(60_000);
  },
};

describe("a key pays for all sessions", () => {
  it.each(Object.entries(TRADES))("of %s", async (_what, ask) => {
    const harness = createHarness();
    await ask(harness);
    expect(payersAt([harness.one, harness.two])).toEqual([KEY]);
  });

  it.each(Object.entries(DESK))("of %s", async (_what, ask) => {
    const harness = await createDesk();
    await ask(harness);
    expect(payersAt([harness.venue, harness.two])).toEqual([KEY]);
  });
});
