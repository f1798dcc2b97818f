/**
 * What is a fact of the venue's account is one for all owners who hold credentials of it: what the venue took of a change,
 * and the switch that it keeps after a shutdown.
 */
import { describe, expect, it } from "vitest";
import { Owners } from "../../domain/owner.js";
import { createDesk, CREDENTIALS, orderContext, orderName, type DeskHarness } from "./test/desk-harness.js";

const ALICE = "ow_alice";
const BOB = "ow_bob";
const BOBS = { ...CREDENTIALS, account: "bobs-key" };
const REFUSED = { outcome: "rejected", reason: "AUTH", venueCode: "", venueText: "", sent: true } as const;
const LIMIT = { type: "LIMIT", price: "95000", timeInForce: "GTC" } as const;

function amend(
  harness: DeskHarness,
  orderId: string,
  ownerId: string | null,
  change: { readonly price?: string; readonly quantity?: string },
) {
  const request = { ...orderName(orderId), price: null, quantity: null, ...change };
  return harness.run(harness.desk.amend(request, orderContext(harness.clock, { ownerId })));
}

describe("an amend of an order whose venue does not show yet what an amend before it changed", () => {
  it.each([
    ["another owner of the account", BOB],
    ["a caller without a key", null],
  ])("keeps that, also where it is of %s", async (_, second) => {
    const harness = await createDesk({ knobs: { amend: "lose" } });
    const { orderId } = await harness.order({ ...LIMIT, quantity: "0.5" }, { ownerId: ALICE });
    await harness.clock.advanceAsync(5_000);
    expect(await amend(harness, orderId ?? "", ALICE, { quantity: "0.1" })).toMatchObject({ ok: true });
    expect(await amend(harness, orderId ?? "", second, { price: "94000" })).toMatchObject({ ok: true });
    expect(harness.calls.amended).toEqual([
      { priceTicks: 950_000, qtyLots: 100 },
      { priceTicks: 940_000, qtyLots: 100 },
    ]);
  });

  it("keeps that also where the order was adopted between the two", async () => {
    let adopted: string | null = null;
    const owners = new Owners({ adoptedBy: () => adopted });
    const harness = await createDesk({ knobs: { amend: "lose" }, desk: { owners } });
    const { orderId } = await harness.order({ ...LIMIT, quantity: "0.5" }, { ownerId: null });
    await harness.clock.advanceAsync(5_000);
    await amend(harness, orderId ?? "", null, { quantity: "0.1" });
    adopted = ALICE;
    await amend(harness, orderId ?? "", ALICE, { price: "94000" });
    expect(harness.calls.amended.at(-1)).toEqual({ priceTicks: 940_000, qtyLots: 100 });
  });
});

describe("at a shutdown", () => {
  it("a switch fires whose venue has fired by the time of another owner, whose key cancels nothing", async () => {
    const harness = await createDesk({
      knobs: { scheduleCancel: "accept" },
      prepareVenue: (one) => {
        one.behind = () => "one";
      },
      mutateRoom: (room) => ({
        ...room,
        orders: {
          ...room.orders,
          cancelAll: (session, instrument, options) =>
            session.accountId === BOBS.account
              ? Promise.resolve(REFUSED)
              : (room.orders.cancelAll?.(session, instrument, options) ?? Promise.resolve(REFUSED)),
        },
      }),
    });
    const arm = (ownerId: string, credentials: unknown, timeoutMs: number) =>
      harness.run(harness.desk.armSwitch({ venue: "venueone", credentials, payer: null, timeoutMs }, ownerId));
    expect(await arm(ALICE, CREDENTIALS, 60_000)).toMatchObject({ ok: true });
    expect(await arm(BOB, BOBS, 20_000)).toMatchObject({ ok: true });
    await harness.clock.advanceAsync(22_000);
    await harness.order(LIMIT, { ownerId: ALICE });
    const nowMs = harness.clock.wallMs();
    await harness.run(harness.desk.drain(5_000));
    const isOpen = harness.venue.log.some(({ order }) => order?.status === "OPEN");
    expect(isOpen && (harness.calls.scheduled.at(-1) ?? 0) < nowMs).toBe(false);
  });

  it.each([
    ["before", [BOB, ALICE]],
    ["after", [ALICE, BOB]],
  ])(
    "a switch that its venue keeps is left to it, also where that of another owner armed %s it fires",
    async (_, order) => {
      const scheduled: (number | null)[] = [];
      const harness = await createDesk({
        mutateRoom: (room) => ({
          ...room,
          orders: {
            ...room.orders,
            scheduleCancel: async (_session, atMs) => {
              scheduled.push(atMs);
              return { outcome: "accepted" };
            },
          },
        }),
      });
      const timeouts: Record<string, number> = { [ALICE]: 60_000, [BOB]: 20_000 };
      for (const ownerId of order) {
        const request = {
          venue: "venueone",
          credentials: CREDENTIALS,
          payer: null,
          timeoutMs: timeouts[ownerId] ?? 0,
        } as const;
        const answer = await harness.run(harness.desk.armSwitch(request, ownerId));
        // Its connection is lost: nobody beats it any more.
        if (answer.ok && ownerId === BOB) harness.desk.expireSwitch(answer.armed.switchId, 15_000, BOB);
      }
      const endsMs = harness.clock.wallMs() + 60_000;
      await harness.run(harness.desk.drain(5_000));
      expect(harness.calls.cancelAll).toBe(1);
      expect((scheduled.at(-1) ?? 0) - endsMs).toBeGreaterThan(0);
    },
  );
});
