/** A caller of the whole gateway over four local venues, with a streamed account on each. */
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { StreamClient } from "../../../gateway/stream/test/stream-client.js";
import type { Json } from "../../../gateway/test/client.js";
import type { FaultSpec } from "../../sim/core/server/fault-types.js";
import { FOUR_VENUES, type FourTrader, type FourVenue, type FourVenues, startFourVenues } from "./four-venues.js";
import { pause } from "./system.js";
import { startTradeSystem, type TradeSystem } from "./trade-system.js";

/** Time limit of a test of whole systems, and of their start. */
export const TEST_MS = 120_000;
const RETRY_MS = 50;
const USER = ["user"] as const;

/** Faults of account frames. */
export const USER_FAULTS: readonly (readonly [string, FaultSpec])[] = [
  ["lost", { kind: "loss", scope: USER }],
  ["eight seconds late", { kind: "latency", scope: USER, delayMs: 8_000 }],
  ["silent", { kind: "silent", scope: USER }],
];

/** Four local venues and the gateway over them, for the tests of one file. */
export interface StreamedSystem {
  readonly four: FourVenues;
  readonly gateway: TradeSystem;
  /** Adds the fault until the test ends. */
  fault(venues: readonly FourVenue[], specs: readonly FaultSpec[]): void;
}

/** Starts before the file's first test and stops after its last; the returned object is complete only within them. */
export function streamedSystem(seed: number): StreamedSystem {
  let four: FourVenues;
  let gateway: TradeSystem;
  const ends: (() => void)[] = [];
  beforeAll(async () => {
    four = await startFourVenues({ seed, symbols: ["BTC", "ETH", "SOL"] });
    gateway = await startTradeSystem(four);
  }, TEST_MS);
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });
  afterAll(async () => {
    await gateway?.stop();
    await four?.stop();
    gateway?.cleanUp();
  });
  return {
    get four() {
      return four;
    },
    get gateway() {
      return gateway;
    },
    fault(venues, specs) {
      ends.push(four.fault(venues, specs));
    },
  };
}

/** Streams the trader's positions, and returns once every venue pushes them. */
export async function streamed({ gateway }: StreamedSystem, trader: FourTrader): Promise<StreamClient> {
  const client = await StreamClient.open(Number(new URL(gateway.service.url).port));
  const { credentials, accountIds } = trader;
  const wish = { topic: "positions", walletAddress: accountIds.venueone, exchanges: FOUR_VENUES, credentials };
  const { subs } = await client.subscribe(wish);
  const fold = await client.fold(subs[0]?.sub ?? "");
  const isPushed = (venue: FourVenue): boolean =>
    fold.fields[venue]?.["state"] === "LIVE" && fold.fields[venue]["mode"] === "push";
  await client.until(() => FOUR_VENUES.every(isPushed), "every venue is LIVE");
  return client;
}

export class Caller {
  readonly venue: FourVenue;
  readonly trader: FourTrader;
  readonly #system: StreamedSystem;
  readonly #credentials: object;

  constructor(system: StreamedSystem, venue: FourVenue, trader: FourTrader) {
    this.#system = system;
    this.venue = venue;
    this.trader = trader;
    this.#credentials = { [venue]: trader.credentials[venue] };
  }

  get heldLots(): number {
    return this.#system.four.positionLots(this.venue, this.trader, "BTC");
  }

  /** Repeats a request that sent nothing because this machine paused and its books are old. */
  async trade(path: string, fields: object): Promise<Json> {
    for (;;) {
      const body = await this.#send(path, { symbol: "BTC", direction: "LONG", ...fields });
      if ((body as { readonly code?: string }).code !== "NO_ELIGIBLE_VENUE") return body;
      await pause(RETRY_MS);
    }
  }

  /**
   * Returns the venue's entry of the reply. Repeats a request that sent nothing for any position because books are old.
   */
  async closeAll(dryRun: boolean): Promise<Json> {
    for (;;) {
      const body = await this.#send("/api/trade/close-all", { exchanges: [this.venue], dryRun });
      const { data } = body as { readonly data?: { readonly venues?: readonly Json[] } };
      const venue = data?.venues?.[0] ?? body;
      const { results = [] } = venue as unknown as { readonly results?: readonly { readonly code?: string }[] };
      if (results.length === 0 || results.some(({ code }) => code !== "VENUE_UNAVAILABLE")) return venue;
      await pause(RETRY_MS);
    }
  }

  async #send(path: string, fields: object): Promise<Json> {
    const reply = await (this.#system.gateway.clients[0] as TradeSystem["clients"][number]).send(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ credentials: this.#credentials, ...fields }),
    });
    return reply.body;
  }

  /**
   * Closes until nothing is held: FLAT never comes before that, and CLOSED only then. What is unknown is reported as
   * unknown.
   */
  async closesEverything(): Promise<void> {
    while (this.heldLots > 0) {
      const venue = await this.closeAll(false);
      const told = JSON.stringify(venue);
      const { results, state } = venue as unknown as { readonly state: string; readonly results: readonly Json[] };
      expect(["CLOSED", "PARTIAL", "UNKNOWN", "ERROR"], told).toContain(state);
      if (state !== "ERROR") expect(results, told).toMatchObject([{ symbol: "BTC", direction: "LONG" }]);
      if (state === "CLOSED") expect(this.heldLots, told).toBe(0);
    }
  }
}
