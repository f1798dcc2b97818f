/**
 * Single orders and switches of several owners who hold credentials of the same account: names, questions, keys and
 * switches are each owner's own, and so are those of public mode to the owner that adopted them.
 */
import { describe, expect, it } from "vitest";
import { Owners } from "../../domain/owner.js";
import type { AccountSession } from "../../ports.js";
import { createDesk, CREDENTIALS, orderContext, orderName, type DeskHarness } from "./test/desk-harness.js";

const ALICE = "ow_alice";
const BOB = "ow_bob";
const LIMIT = { type: "LIMIT", price: "90000", timeInForce: "GTC" } as const;

const statusOf = (harness: DeskHarness, name: string, ownerId: string | null) =>
  harness.run(harness.desk.orderStatus(orderName(name), orderContext(harness.clock, { ownerId })));

describe("a caller's own client order id", () => {
  it("names an order of each owner of an account, and the order of another owner is none", async () => {
    const harness = await createDesk();
    const own = await harness.order({ ...LIMIT, clientOrderId: "mine" }, { ownerId: ALICE });
    const unknown = await statusOf(harness, "nobodys", BOB);
    const stranger = await statusOf(harness, "mine", BOB);
    expect(JSON.stringify(stranger).replaceAll("mine", "nobodys")).toBe(JSON.stringify(unknown));
    expect(stranger).toMatchObject({ ok: false, code: "ORDER_NOT_FOUND" });
    const bobs = await harness.order({ ...LIMIT, clientOrderId: "mine" }, { ownerId: BOB });
    expect(bobs.venueClientOrderId).not.toBe(own.venueClientOrderId);
    expect(await harness.place({ ...LIMIT, clientOrderId: "mine" }, { ownerId: ALICE })).toMatchObject({
      code: "DUPLICATE_CLIENT_ORDER_ID",
    });
    await harness.restart();
    for (const [owner, order] of [
      [ALICE, own],
      [BOB, bobs],
    ] as const)
      expect(await statusOf(harness, "mine", owner)).toMatchObject({
        order: { venueClientOrderId: order.venueClientOrderId, clientOrderId: "mine" },
      });
  });

  it("is not shown to another owner who reads the account, nor what the order was placed as", async () => {
    const harness = await createDesk();
    harness.venue.fate = () => ({ kind: "fill" });
    const order = await harness.order({ clientOrderId: "mine" }, { ownerId: ALICE });
    const shown = order.venueOrder;
    if (shown === null) throw new Error("no order of the venue");
    const account: Pick<AccountSession, "venue" | "accountId"> = { venue: "venueone", accountId: CREDENTIALS.account };
    const termsFor = (ownerId: string | null) => harness.desk.termsOf(shown, account, ownerId);
    expect(termsFor(ALICE)).toEqual({ clientOrderId: "mine", isMarket: true });
    expect([termsFor(BOB), termsFor(null)]).toEqual(Array(2).fill({ clientOrderId: null, isMarket: false }));
    const read = await statusOf(harness, order.orderId ?? "", BOB);
    expect(read).toMatchObject({ ok: true, order: { clientOrderId: null } });
  });
});

it("an order of unknown outcome is listed for its owner, and for an administrator", async () => {
  const harness = await createDesk();
  harness.venue.fate = () => ({ kind: "loseReply" });
  harness.venue.orderReadFailure = () => "TIMEOUT";
  await harness.order({ ...LIMIT, deadlineMs: 1_000 }, { ownerId: ALICE });
  const listed = (ownerId: string | null, seesAll = false) =>
    harness.desk.status({ ownerId, seesAll, payer: null }).unknown;
  expect([listed(ALICE), listed(BOB), listed(null), listed(BOB, true)].map(({ length }) => length)).toEqual([
    1, 0, 0, 1,
  ]);
  expect(listed(ALICE)[0]).toMatchObject({ ownerId: ALICE });
});

it("the same Idempotency-Key and body of two owners are two orders, also across a restart", async () => {
  const harness = await createDesk();
  const place = (ownerId: string) => harness.place(LIMIT, { idempotencyKey: "k", ownerId });
  expect(await place(ALICE)).toMatchObject({ replayed: false });
  await harness.restart();
  expect([await place(BOB), await place(ALICE)]).toMatchObject([{ replayed: false }, { replayed: true }]);
});

describe("a dead-man's switch", () => {
  const arm = async (harness: DeskHarness, ownerId: string | null, timeoutMs: number) => {
    const answer = await harness.run(
      harness.desk.armSwitch({ venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs }, ownerId),
    );
    if (!answer.ok) throw new Error(answer.code);
    return answer.armed;
  };

  it("of another owner is not found, by heartbeat, end or lost connection", async () => {
    const harness = await createDesk();
    const { switchId } = await arm(harness, ALICE, 30_000);
    const unknown = await harness.desk.heartbeat("f".repeat(32), BOB);
    for (const stranger of [BOB, null]) {
      expect(await harness.desk.heartbeat(switchId, stranger)).toEqual(unknown);
      expect(await harness.desk.disarmSwitch(switchId, stranger)).toEqual(unknown);
      expect(harness.desk.expireSwitch(switchId, 0, stranger)).toBe(false);
    }
    expect(unknown).toMatchObject({ code: "SWITCH_NOT_FOUND" });
    expect(await harness.run(harness.desk.heartbeat(switchId, ALICE))).toMatchObject({ ok: true });
  });

  it("of each of two owners stands for one account, and the venue keeps the earliest that is left", async () => {
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
    const last = () => (scheduled.at(-1) ?? 0) - harness.clock.wallMs();
    const alices = await arm(harness, ALICE, 60_000);
    const bobs = await arm(harness, BOB, 20_000);
    expect(alices.switchId).not.toBe(bobs.switchId);
    expect(last()).toBeLessThanOrEqual(21_000);
    const beat = await harness.run(harness.desk.heartbeat(alices.switchId, ALICE));
    expect(beat).toMatchObject({ armed: { state: "ARMED" } });
    expect(last()).toBeLessThanOrEqual(21_000);
    expect(await harness.run(harness.desk.disarmSwitch(bobs.switchId, BOB))).toMatchObject({
      armed: { state: "ENDED", venueArmed: false },
    });
    // Alice's is in force at the venue.
    expect(last()).toBeGreaterThan(50_000);
    expect(await harness.run(harness.desk.heartbeat(alices.switchId, ALICE))).toMatchObject({ ok: true });
    await harness.run(harness.desk.disarmSwitch(alices.switchId, ALICE));
    expect(scheduled.at(-1)).toBeNull();
  });
});

describe("a switch of public mode that the adopting owner arms again", () => {
  it.each([
    ["armed", 0],
    ["firing", 1],
  ])("is replaced, %s: it cancels nothing of a caller who beats the one that it has", async (_, isFiring) => {
    let adopted: string | null = null;
    const owners = new Owners({ adoptedBy: () => adopted });
    const harness = await createDesk({ desk: { owners } });
    const arm = (ownerId: string | null, timeoutMs: number) =>
      harness.run(
        harness.desk.armSwitch({ venue: "venueone", credentials: CREDENTIALS, payer: null, timeoutMs }, ownerId),
      );
    await arm(null, 10_000);
    adopted = ALICE;
    if (isFiring) {
      harness.calls.cancelAllFates.push(...Array.from({ length: 8 }, () => "unknown" as const));
      await harness.clock.advanceAsync(90_000);
    }
    const again = await arm(ALICE, 60_000);
    if (!again.ok) throw new Error(again.code);
    // The firing that it takes the place of ends with one try more at once.
    await harness.clock.advanceAsync(1_000);
    await harness.order(LIMIT, { ownerId: ALICE });
    for (let beats = 0; beats < 6; beats++) {
      await harness.clock.advanceAsync(30_000);
      expect(await harness.run(harness.desk.heartbeat(again.armed.switchId, ALICE))).toMatchObject({ ok: true });
    }
    expect(harness.venue.log[0]?.order?.status).toBe("OPEN");
    expect(harness.desk.status().armedSwitchCount).toBe(1);
  });
});

it("names and keys of public mode are the adopting owner's: a retry places no second order, and no name is used twice", async () => {
  let adopted: string | null = null;
  const harness = await createDesk({ desk: { owners: new Owners({ adoptedBy: () => adopted }) } });
  const asked = { ...LIMIT, clientOrderId: "mine" };
  await harness.order(asked, { ownerId: null, idempotencyKey: "k" });
  adopted = ALICE;
  await harness.restart();
  const sent = harness.venue.log.length;
  expect(await harness.place(asked, { ownerId: ALICE, idempotencyKey: "k" })).toMatchObject({
    ok: true,
    replayed: true,
  });
  expect(await harness.place(asked, { ownerId: ALICE })).toMatchObject({ code: "DUPLICATE_CLIENT_ORDER_ID" });
  expect(harness.venue.log).toHaveLength(sent);
  expect(await statusOf(harness, "mine", ALICE)).toMatchObject({ order: { clientOrderId: "mine" } });
  expect(await statusOf(harness, "mine", BOB)).toMatchObject({ code: "ORDER_NOT_FOUND" });
});
