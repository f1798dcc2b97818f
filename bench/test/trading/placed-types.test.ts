/**
 * One order has one type: a market order is reported as one everywhere, though its venue keeps it as a limit that ends
 * at once; a stop and a take-profit are distinct. Through the real gateway over the local venues.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { credentialsOf } from "../support/local-pair.js";
import { type SpecSystem, startSpecSystem, WALLET_ID } from "../support/spec-system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_123);
/** Ceilings, not expectations: a shared machine may take most of its cores away for a while. */
const START_MS = 240_000;
const WAIT_MS = 60_000;

let system: SpecSystem;
beforeAll(async () => {
  system = await startSpecSystem(SEED);
}, START_MS);
afterAll(async () => {
  await system?.stop();
}, START_MS);

const VENUES: readonly RoutableVenue[] = ["venueone", "venuetwo", "venuethree", "venuefour"];

interface Shown {
  readonly orderId: string;
  readonly type: string;
  readonly triggerKind?: string;
}

const blocks = () => ({
  ...credentialsOf(system.alice),
  venuethree: system.key,
  venuefour: system.venuefourBlock,
});

async function close(exchange: RoutableVenue, more: Readonly<Record<string, unknown>>): Promise<Shown> {
  await system.freshBooks();
  const reply = await system.client.close({
    symbol: "BTC",
    direction: "LONG",
    size: "0.01",
    preferredExchange: exchange,
    ...more,
    credentials: blocks(),
  } as unknown as Parameters<typeof system.client.close>[0]);
  expect(reply.body).toMatchObject({ success: true });
  return (reply.body as unknown as { data: { order: Shown } }).data.order;
}

/** The order as the venue's own record reports it, once the venue shows it. */
async function recorded(exchange: RoutableVenue, orderId: string): Promise<Shown> {
  const path = `/api/trading/${exchange}/orders/${orderId}/status?symbol=BTC`;
  const headers = { "x-venue-credentials": Buffer.from(JSON.stringify(blocks())).toString("base64url") };
  const ask = () => system.client.send(path, { headers });
  await expect.poll(async () => (await ask()).status, { timeout: WAIT_MS, interval: 50 }).toBe(200);
  return ((await ask()).body as unknown as { data: Shown }).data;
}

describe.each(VENUES)("an order on %s", (exchange) => {
  it("placed as MARKET is reported as MARKET", { timeout: START_MS }, async () => {
    const placed = await close(exchange, {});
    expect(placed.type).toBe("MARKET");
    expect(await recorded(exchange, placed.orderId)).toMatchObject({ orderId: placed.orderId, type: "MARKET" });
    if (exchange !== "venueone") return;
    const history = await system.client.send(`/api/venueone/${WALLET_ID}/orders/historical`, {
      headers: { "x-wallet-id": WALLET_ID },
    });
    const { orders } = (history.body as unknown as { data: { orders: Shown[] } }).data;
    expect(orders).toContainEqual(expect.objectContaining({ orderId: placed.orderId, type: "MARKET" }));
  });

  it("placed as LIMIT is reported as LIMIT", { timeout: START_MS }, async () => {
    const placed = await close(exchange, { limitPrice: "95800" });
    expect(placed.type).toBe("LIMIT");
    expect(await recorded(exchange, placed.orderId)).toMatchObject({ type: "LIMIT" });
  });
});

it.each(["venueone", "venuetwo", "venuethree"] as const)(
  "a stop on %s says which kind it is where it is placed and where it is shown",
  { timeout: START_MS },
  async (exchange) => {
    const placed = await close(exchange, { orderType: "STOP_MARKET", triggerPrice: "85000" });
    const told = { type: "STOP_MARKET", triggerKind: "STOP" };
    expect(placed).toMatchObject(told);
    expect(await recorded(exchange, placed.orderId)).toMatchObject(told);
  },
);
