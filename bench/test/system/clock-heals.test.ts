/**
 * The whole service on four local venues while its wall clock is set back and forward by an hour. Ten seconds later
 * books, closes, entries, the venues' own switches and account streams work as before. The venues answer slowly when
 * the clock is set, so that the service signs requests before it has measured the step.
 */
import { WebSocket } from "ws";
import { afterEach, describe, expect, it } from "vitest";
import { isTradingRoom } from "../../../engine/ports.js";
import type { Json } from "../../../gateway/test/client.js";
import {
  FOUR_VENUES,
  type FourTrader,
  type FourVenue,
  type FourVenues,
  startFourVenues,
} from "../support/four-venues.js";
import { pause } from "../support/system.js";
import { startTradeSystem, type TradeSystem } from "../support/trade-system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_123);
const HOUR_MS = 3_600_000;
const HEAL_MS = 10_000;
const NONCE_WINDOW_MS = 10_000;
const FIRST_SYNC_MS = 60_000;
const AGAIN_MS = 100;
const SLOW = { kind: "latency", match: "", delayMs: 300 } as const;
/** venuethree takes no time nearer than five minutes; a venue without a switch of its own has nothing to arm. */
const SWITCH_MS = 600_000;
const SWITCHED: readonly FourVenue[] = ["venueone", "venuetwo", "venuethree"];

interface Probe {
  readonly name: string;
  /** Null means all is well. */
  run(): Promise<string | null>;
}

let four: FourVenues | null = null;
let system: TradeSystem | null = null;
let watcher: Watcher | null = null;
afterEach(async () => {
  watcher?.stop();
  await system?.stop();
  system?.cleanUp();
  await four?.stop();
  [watcher, system, four] = [null, null, null];
});

async function start() {
  const venues = await startFourVenues({ seed: SEED, symbols: ["BTC", "ETH", "SOL"] });
  four = venues;
  const running = await startTradeSystem(venues);
  system = running;
  const traders = {
    // Signs with nonces on venuetwo.
    agent: venues.addTrader("heals by agent", { BTC: "5" }, { viaAgent: true }),
    keys: venues.addTrader("heals by key", { BTC: "5" }),
  };
  const accounts = new Watcher(running, [traders.agent, traders.keys]);
  watcher = accounts;
  let keyCount = 0;
  const post = async (venue: FourVenue, path: string, trader: FourTrader, fields: object): Promise<Answer> => {
    const client = running.clients[FOUR_VENUES.indexOf(venue)];
    if (client === undefined) throw new RangeError(`no client for ${venue}`);
    const headers = { "content-type": "application/json", "idempotency-key": `heals-${++keyCount}` };
    const body = JSON.stringify({ credentials: trader.credentials, ...fields });
    const reply = await client.send(path, { method: "POST", headers, body });
    return { status: reply.status, text: reply.text, data: (reply.body as { readonly data?: Answer["data"] }).data };
  };
  const trade = (venue: FourVenue, kind: string, who: keyof typeof traders): Probe => ({
    name: `${venue} ${kind} ${who}`,
    async run() {
      const fields = { symbol: "BTC", direction: "LONG", size: "0.01", preferredExchange: venue };
      const { data, text } = await post(venue, `/api/trade/position/${kind}`, traders[who], fields);
      return data?.execution?.state === "COMPLETED" && data.executedOn === venue ? null : text;
    },
  });
  const probes = FOUR_VENUES.flatMap((venue): Probe[] => [
    trade(venue, "close", "agent"),
    trade(venue, "close", "keys"),
    trade(venue, "open", "agent"),
    {
      name: `${venue} book`,
      async run() {
        const reply = await running.clients[0]?.send(`/api/trading/${venue}/book/BTC?depth=5`);
        return reply?.status === 200 ? null : (reply?.text ?? "no client");
      },
    },
    {
      name: `${venue} switch`,
      async run() {
        const path = `/api/trading/${venue}/dead-man`;
        const { data, text } = await post(venue, path, traders.keys, { timeoutMs: SWITCH_MS });
        return data?.venueArmed === SWITCHED.includes(venue) ? null : text;
      },
    },
    { name: `${venue} account streams`, run: async () => accounts.problem(venue, running.clock.wallMs()) },
  ]);
  return { venues, running, probes };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly data:
    | { readonly execution?: { readonly state: string }; readonly executedOn?: string; readonly venueArmed?: boolean }
    | undefined;
}

/** The account frames of a stream client. */
class Watcher {
  readonly #socket: WebSocket;
  /** By subscription and venue. */
  readonly #coverage = new Map<string, { readonly state: string; readonly asOf: number }>();
  readonly #subscriptionCount: number;

  constructor({ service }: TradeSystem, traders: readonly FourTrader[]) {
    this.#socket = new WebSocket(`${service.url.replace("http", "ws")}/ws`);
    const asked = traders.flatMap(({ accountIds, credentials }) =>
      ["positions", "orders"].map((topic) => ({
        op: "subscribe",
        topic,
        walletAddress: accountIds.venueone,
        exchanges: FOUR_VENUES,
        credentials,
      })),
    );
    this.#subscriptionCount = asked.length;
    // A stream that ends before it opens reports that.
    this.#socket.on("error", () => {});
    this.#socket.on("open", () => {
      for (const [index, frame] of asked.entries()) this.#socket.send(JSON.stringify({ ...frame, id: String(index) }));
    });
    this.#socket.on("message", (data) => this.#take(JSON.parse(String(data)) as { [name: string]: Json }));
  }

  #take({ sub, data }: { [name: string]: Json }): void {
    const { coverage } = (data ?? {}) as { readonly coverage?: Record<string, { state: string; asOf: number }> };
    for (const [venue, told] of Object.entries(coverage ?? {})) this.#coverage.set(`${venue} ${String(sub)}`, told);
  }

  problem(venue: FourVenue, nowMs: number): string | null {
    const told = [...this.#coverage].filter(([name]) => name.startsWith(venue));
    // The service lists open orders again at a longer interval: until then they are of their time.
    const isWell = told.every(([name, { state, asOf }]) =>
      name.includes(" orders:")
        ? state === "LIVE" || state === "SNAPSHOT"
        : state === "LIVE" && Math.abs(nowMs - asOf) < HEAL_MS,
    );
    return isWell && told.length === this.#subscriptionCount ? null : JSON.stringify(told);
  }

  stop(): void {
    this.#socket.terminate();
  }
}

/** Returns the checks that fail for this time, in which this process could run, with their last finding. */
async function unhealed(probes: readonly Probe[], withinMs: number): Promise<string[]> {
  let runMs = 0;
  let lookedMs = performance.now();
  const ticking = setInterval(() => {
    const nowMs = performance.now();
    runMs += Math.min(nowMs - lookedMs, 40);
    lookedMs = nowMs;
  }, 20);
  const found = await Promise.all(
    probes.map(async ({ name, run }) => {
      for (;;) {
        const isLast = runMs > withinMs;
        const problem = await run();
        if (problem === null) return [];
        if (isLast) return [`${name}: ${problem}`];
        await pause(AGAIN_MS);
      }
    }),
  );
  clearInterval(ticking);
  return found.flat();
}

/** Sets the clock under requests that are signed before it is measured. Returns what still fails after ten seconds. */
async function unhealedAfter({ venues, running, probes }: Awaited<ReturnType<typeof start>>, offMs: number) {
  const endSlow = venues.fault(FOUR_VENUES, [SLOW]);
  const early = unhealed(probes, 0);
  running.clock.set(offMs);
  // Requests in between may be refused: nobody knows the venues' time.
  await Promise.all([early, unhealed(probes, 0)]);
  endSlow();
  return unhealed(probes, HEAL_MS);
}

/** Nonces are times. Returns those further from the venue's own time than its narrowest window ever was. */
function farNonces({ venues }: FourVenues): string[] {
  const unitsPerMs = { venueone: 1, venuetwo: 1_000 } as const;
  return (["venueone", "venuetwo"] as const).flatMap((venue) =>
    venues[venue].log.records({ action: "place" }).flatMap(({ index, nonce, receivedMs, signer }) => {
      if (nonce === null || !signer.startsWith("0x")) return [];
      const aheadMs = Number(nonce) / unitsPerMs[venue] - receivedMs;
      return Math.abs(aheadMs) < NONCE_WINDOW_MS ? [] : [`${venue} record ${index}: nonce ${aheadMs} ms ahead`];
    }),
  );
}

describe("a wall clock that is set by an hour", () => {
  it("back, forward, and forward again costs ten seconds at most", async () => {
    const parts = await start();
    expect(await unhealed(parts.probes, FIRST_SYNC_MS)).toEqual([]);
    const found: string[] = [];
    for (const offMs of [-HOUR_MS, 0, HOUR_MS, 0])
      for (const problem of await unhealedAfter(parts, offMs)) found.push(`off by ${offMs}: ${problem.slice(0, 400)}`);
    expect(found).toEqual([]);
    expect(farNonces(parts.venues)).toEqual([]);
  }, 300_000);

  it("costs the hour where nonces follow the wall clock: what signs with them shows it, and nothing else", async () => {
    const parts = await start();
    const room = parts.running.service.rooms.find(({ venue }) => venue === "venuetwo");
    if (room === undefined || !isTradingRoom(room)) throw new RangeError("no venuetwo");
    const { venueClock } = room;
    Object.defineProperty(venueClock, "leastOffsetMs", { get: () => venueClock.offsetMs });
    expect(await unhealed(parts.probes, FIRST_SYNC_MS)).toEqual([]);
    const found = [...(await unhealedAfter(parts, -HOUR_MS)), ...(await unhealedAfter(parts, 0))];
    const byNonces = /^venuetwo (close agent|open agent|account streams):/;
    expect(found.filter((problem) => byNonces.test(problem))).toContainEqual(expect.stringContaining("close agent"));
    expect(found.filter((problem) => !byNonces.test(problem))).toEqual([]);
  }, 300_000);
});
