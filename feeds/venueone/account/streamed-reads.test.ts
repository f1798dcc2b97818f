/** Own orders and the reads that answers turn on, over a key whose account is or is not known yet. */
import { expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { AccountSession, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { VerifiedReads } from "../../shared/account/verified-reads.js";
import type { VenueoneAccountStreams } from "./streams.js";
import { watchAccounts } from "./streamed-reads.js";
import { CLOSE_LONG, OPTIONS } from "../test/trading-harness.js";
import type { VenueoneTrading } from "../trading.js";

const ALICE = "0xa1";

/** A room that streams the account; each read says how many orders were sent before it. */
function setUp(isAccountKnown: boolean) {
  let orderCount = 0;
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(what);
  const noOrders = { expect: () => {}, forget: () => {}, answered: () => {} };
  const own = { sent: tell("sent"), unclear: tell("unclear"), notSent: tell("not sent") };
  const reads = { moveCount: 0, orders: noOrders, doubt: tell("doubt"), ...own };
  const account = { reads, refreshSoon: () => {}, compare: (_: unknown, held: readonly VenuePosition[]) => held };
  const trading = {
    resolveAccount: async () => ({ ok: true, value: ALICE, asOfMs: 0, source: "venue" }),
    knownAccount: () => (isAccountKnown ? { ok: true, value: ALICE, asOfMs: 0, source: "venue" } : null),
    reader: {
      readPositions: async (): Promise<Read<readonly VenuePosition[]>> =>
        failedRead("BAD_RESPONSE", `after ${orderCount}`),
    },
    orders: {
      venueClientOrderId: (hex: string) => hex,
      place: async () => {
        orderCount += 1;
        return { outcome: "unknown", cause: "TIMEOUT" };
      },
    },
    settings: {},
  } as unknown as VenueoneTrading;
  const streams = { watched: () => [account], noteUse: () => {}, livePositions: () => null };
  const verified = new VerifiedReads<readonly VenuePosition[]>(new VirtualClock(1e6));
  return { ...watchAccounts(trading, streams as unknown as VenueoneAccountStreams, verified), told };
}

it.each([true, false])(
  "a read that an answer turns on is newer than an order of a session that read nothing (account known: %s)",
  async (isAccountKnown) => {
    const { orders, reader } = setUp(isAccountKnown);
    const open = (): AccountSession => ({ venue: "venueone", accountId: "agent", payer: null, close: () => {} });
    const verified = (): unknown => reader.verifyPositions?.(open(), null, OPTIONS);
    expect(await verified()).toMatchObject({ message: "after 0" });
    await orders.place(open(), CLOSE_LONG, OPTIONS);
    expect(await verified()).toMatchObject({ message: "after 1" });
  },
);

it("an order of a session that read nothing is noted with the account's own streams, and not only doubted", async () => {
  for (const isAccountKnown of [true, false]) {
    const { orders, told } = setUp(isAccountKnown);
    await orders.place({ venue: "venueone", accountId: "agent", payer: null, close: () => {} }, CLOSE_LONG, OPTIONS);
    expect(told).toEqual(isAccountKnown ? ["sent", "unclear"] : ["doubt", "doubt"]);
  }
});
