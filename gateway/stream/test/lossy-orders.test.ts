/**
 * The `orders` topic through the real rooms of four local venues whose account frames are lost while our orders rest
 * and are cancelled. Whenever it is LIVE it shows the venue's working orders; otherwise it shows when it was last right
 * and when it reads again.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  FOUR_VENUES,
  type FourTrader,
  type FourVenue,
  type FourVenues,
  startFourVenues,
} from "../../../bench/test/support/four-venues.js";
import { nativeName } from "../../../bench/test/support/local-venues.js";
import { pause, waitUntil } from "../../../bench/test/support/system.js";
import { commandOf, open as openHalf, PATIENT, wholeTicks } from "../../../bench/test/support/trading-half.js";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { AccountSession, OrderRef, VenueRoom } from "../../../engine/ports.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { type Harness, startHarness } from "../../test/harness.js";
import type { Fold } from "./frame-judge.js";
import { StreamClient } from "./stream-client.js";

const TEST_MS = 180_000;
const DEADLINE_MS = 60_000;
const NO_LIMIT = 1_000_000_000;
const INTERVAL_MS = 3_000;
const PACE = {
  positions: { looksPerMinute: 60, intervalMsMin: INTERVAL_MS },
  orders: { looksPerMinute: 60, intervalMsMin: INTERVAL_MS },
};
/**
 * Frames from the time of a reply may still be under way: an order is in doubt 1.5 s after it, and reported so then.
 */
const JUDGED_AFTER_MS = 2_500;
const LOOK_EVERY_MS = 100;
/** Replies to transactions also come as account frames, and are not lost here. */
const VENUETHREE_UPDATES = "update/";

let four: FourVenues;
let rooms: Readonly<Record<FourVenue, VenueRoom>>;
let harness: Harness;

beforeAll(async () => {
  four = await startFourVenues({ seed: 23, symbols: ["BTC"] });
  const common = (venue: FourVenue) => ({
    clock: createSystemClock(),
    random: createSeededRandom(7),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    isMainnet: true,
    symbols: ["BTC"],
    restUrl: four.venues[venue].restUrl,
    wsUrl: four.venues[venue].wsUrl,
  });
  rooms = {
    venueone: createVenueoneRoom({ ...common("venueone"), limits: { restWeightPerMinute: NO_LIMIT } }),
    venuetwo: createVenuetwoRoom({ ...common("venuetwo"), limits: { weightPerMinute: NO_LIMIT } }),
    venuethree: createVenuethreeRoom({ ...common("venuethree"), limits: { restPerMinute: NO_LIMIT } }),
    venuefour: createVenuefourRoom({ ...common("venuefour"), limits: { creditsPerMinute: NO_LIMIT } }),
  };
  const all = FOUR_VENUES.map((venue) => rooms[venue]);
  await Promise.all(all.map((room) => room.start()));
  const paces = { venueone: PACE, venuetwo: PACE, venuethree: PACE, venuefour: PACE };
  harness = await startHarness({ rooms: all, withPortfolio: true, paces });
}, TEST_MS);

afterAll(async () => {
  await harness.stop();
  await Promise.all(FOUR_VENUES.map((venue) => rooms[venue].stop()));
  await four.stop();
});

class Side {
  readonly venue: FourVenue;
  readonly #trader: FourTrader;
  readonly #session: AccountSession;
  readonly #client: StreamClient;
  readonly #fold: Fold;
  #changedMs = Number.NEGATIVE_INFINITY;
  /** Frames received when the topic was last trusted. A list is withheld for moments that a look may miss. */
  #framesBefore = 0;

  private constructor(venue: FourVenue, trader: FourTrader, client: StreamClient, fold: Fold) {
    this.venue = venue;
    this.#trader = trader;
    this.#session = openHalf(rooms[venue], trader.credentials[venue]);
    this.#client = client;
    this.#fold = fold;
  }

  static async open(venue: FourVenue, trader: FourTrader): Promise<Side> {
    const client = await StreamClient.open(harness.server.port);
    const credentials = { [venue]: trader.credentials[venue] };
    const wish = { topic: "orders", walletAddress: trader.accountIds.venueone, exchanges: [venue], credentials };
    const { subs } = await client.subscribe(wish);
    const side = new Side(venue, trader, client, await client.fold(subs[0]?.sub ?? ""));
    await side.untilLive();
    return side;
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.#client.stop();
  }

  get state(): unknown {
    return this.#fold.fields[this.venue]?.["state"];
  }

  /** Price and size of the venue's working orders, and of those the topic shows. */
  get worked(): string[] {
    const { exchange } = four.venues[this.venue];
    const native = nativeName(this.venue, "BTC");
    const { priceDecimals = 0, qtyDecimals = 0 } = exchange.instruments.get(native) ?? {};
    return exchange.orders
      .open(this.#trader.accountIds[this.venue], native)
      .map(({ priceTicks, qtyLots }) => `${(priceTicks ?? 0) / 10 ** priceDecimals} ${qtyLots / 10 ** qtyDecimals}`)
      .sort();
  }

  get shown(): string[] {
    return [...this.#fold.rows.values()].map((row) => `${Number(row["price"])} ${Number(row["quantity"])}`).sort();
  }

  async untilLive(): Promise<void> {
    await waitUntil(`${this.venue} is LIVE and right`, DEADLINE_MS, () => {
      if (this.#client.fault !== null) throw this.#client.fault;
      return this.state === "LIVE" && this.shown.join() === this.worked.join();
    });
    this.#framesBefore = this.#client.frames.length;
  }

  /** Far below the market. Not every reply contains the venue's own id. */
  async rest(share: number): Promise<OrderRef> {
    const { exchange } = four.venues[this.venue];
    const mark = exchange.market.mark(nativeName(this.venue, "BTC")).markE8 / 1e8;
    const instrument = this.#instrument;
    const command = commandOf(instrument, {
      type: "LIMIT",
      timeInForce: "GTC",
      priceTicks: wholeTicks(instrument, mark * share),
      qtyLots: 10 ** instrument.qtyDecimals / 50,
    });
    const placed = await rooms[this.venue].orders.place(this.#session, command, PATIENT);
    this.#changedMs = performance.now();
    if (placed.outcome !== "accepted") throw new Error(`${this.venue}: ${JSON.stringify(placed)}`);
    const { venueOrderId } = placed.order;
    return venueOrderId === "" ? { clientIdHex: command.clientIdHex } : { venueOrderId };
  }

  async cancel(ref: OrderRef): Promise<void> {
    const canceled = await rooms[this.venue].orders.cancel(this.#session, this.#instrument, ref, PATIENT);
    this.#changedMs = performance.now();
    expect([this.venue, canceled.outcome], JSON.stringify(canceled)).toEqual([this.venue, "accepted"]);
  }

  /** Everything sent before the reply to a ping is folded by then. */
  async look(): Promise<void> {
    await this.#client.ask({ op: "ping" });
    const { asOf, intervalMs } = this.#fold.fields[this.venue] ?? {};
    if (this.state === "LIVE") expect(this.shown, `${this.venue} under LIVE`).toEqual(this.worked);
    else
      expect([this.venue, this.state, typeof asOf, intervalMs]).toEqual([
        this.venue,
        "SNAPSHOT",
        "number",
        INTERVAL_MS,
      ]);
  }

  /** Looks until the topic is LIVE again, after it was not since it was last trusted. */
  async looksUntilTrusted(): Promise<void> {
    await waitUntil(`${this.venue} may be judged`, DEADLINE_MS, () => {
      return performance.now() - this.#changedMs >= JUDGED_AFTER_MS;
    });
    const endMs = performance.now() + DEADLINE_MS;
    for (;;) {
      await this.look();
      if (this.#wasWithheld && this.state === "LIVE") break;
      if (performance.now() > endMs)
        throw new Error(`${this.venue}: ${String(this.state)}, ${this.#wasWithheld ? "" : "never "}withheld`);
      await pause(LOOK_EVERY_MS);
    }
    expect(this.shown, this.venue).toEqual(this.worked);
    this.#framesBefore = this.#client.frames.length;
  }

  get #wasWithheld(): boolean {
    return this.#client.frames.slice(this.#framesBefore).some(({ sub, data }) => {
      const coverage = data?.["coverage"] as Readonly<Record<string, { readonly state: string }>> | undefined;
      const state = coverage?.[this.venue]?.state;
      return sub === this.#fold.sub && state !== undefined && state !== "LIVE";
    });
  }

  get #instrument() {
    const instrument = rooms[this.venue].markets.get("BTC")?.instrument;
    if (instrument === undefined) throw new Error("BTC is not listed");
    return instrument;
  }
}

// Nearly all of it is waiting, for each venue of its own: side by side.
describe.concurrent.each(FOUR_VENUES)("%s, losing every frame of an account,", (venue) => {
  it(
    "has a topic that equals its list whenever it is LIVE, for orders that rest and orders that ended",
    async () => {
      const trader = four.addTrader(`lossy ${venue}`, {});
      const side = await Side.open(venue, trader);
      const kept = await side.rest(0.97);
      await side.untilLive();
      const match = venue === "venuethree" ? VENUETHREE_UPDATES : "";
      const endLoss = four.fault([venue], [{ kind: "loss", scope: ["user"], match }]);
      try {
        const ids = [await side.rest(0.975), await side.rest(0.98)];
        await side.looksUntilTrusted();
        expect(side.worked.length).toBe(3);
        await side.cancel(kept);
        await side.cancel(ids[0] as OrderRef);
        await side.looksUntilTrusted();
        expect(side.worked.length).toBe(1);
      } finally {
        endLoss();
      }
      await side.close();
    },
    TEST_MS,
  );
});
