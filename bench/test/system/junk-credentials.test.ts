/**
 * A flood of closes with made-up keys through the real gateway, beside a trader that the venue knows and a new one. The
 * venue stays healthy, the known trader closes as if alone, and the new one gets in. The venue's budget is the real
 * one; planted mutants show which guards achieve that.
 */
import { createHash } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { CallerStanding } from "../../../feeds/shared/net/caller-standing.js";
import { OPTIONS } from "../../../gateway/app/config-options.js";
import { type Reply, TestClient } from "../../../gateway/test/client.js";
import { credentialsOf, type LocalPair, startLocalPair, type Trader } from "../support/local-pair.js";
import { startSystem, type System, waitUntil } from "../support/system.js";

const JUNK = 312;
/** Closes of the known trader: as fast as they go, and far below the venue's minute by themselves. */
const KNOWN_CLOSES_MAX = 60;
const BOOKS_MS = 20_000;
/** Strangers get five look-ups of 60 at once, and one more each twelve seconds for the length of the test. */
const JUNK_WEIGHT_MAX = 300 + 300;
/** Weight of 1,200 a minute. */
const KNOWN_WEIGHT_MIN = 1_200 - JUNK_WEIGHT_MAX;

interface Play {
  readonly pair: LocalPair;
  readonly system: System;
  readonly junkClient: TestClient;
  readonly known: Trader;
  readonly fresh: Trader;
}

let stop: () => Promise<void> = async () => {};
afterEach(async () => {
  vi.restoreAllMocks();
  await stop();
});

async function start(): Promise<Play> {
  const pair = await startLocalPair({ seed: 11, symbols: ["BTC"] });
  const positions = { BTC: "0.5" };
  const known = pair.addTrader("known", { positions });
  const fresh = pair.addTrader("fresh", { positions });
  const system = await startSystem(pair, { environment: { SYMBOLS: "BTC", ...defaultRates() } });
  const junkClient = new TestClient(system.service.url);
  stop = async () => {
    await junkClient.stop();
    await system.stop();
    await pair.stop();
    system.cleanUp();
  };
  await waitUntil("books", BOOKS_MS, () => system.service.rooms.every((room) => room.status().state === "LIVE"));
  return { pair, system, junkClient, known, fresh };
}

/** The limits of the service as it is, not of a measured one. */
function defaultRates(): Readonly<Record<string, string>> {
  const rates = Object.entries(OPTIONS).filter(([name]) => name.startsWith("RATE_"));
  return Object.fromEntries(rates.map(([name, { default: value }]) => [name, String(value)]));
}

const close = (client: TestClient, credentials: object, deadlineMs: number): Promise<Reply> =>
  client.close({
    symbol: "BTC",
    direction: "LONG",
    size: "0.001",
    preferredExchange: "venueone",
    credentials,
    routingOptions: { deadlineMs },
  });

const junkKey = (index: number): string => createHash("sha256").update(`junk ${index}`).digest("hex");

const codeOf = ({ body }: Reply): unknown => (body as { readonly code?: unknown } | null)?.code ?? null;

/** Waits until the service has a fresh book of its own: after a pause of the machine it has none for a moment. */
async function closes(client: TestClient, trader: Trader): Promise<Reply> {
  let reply = await close(client, credentialsOf(trader), 5_000);
  while (/BOOK_(?:STALE|INVALID)/.test(reply.text)) reply = await close(client, credentialsOf(trader), 5_000);
  return reply;
}

/** Returns 200, or the whole refusal. */
const shown = (reply: Reply): unknown => (reply.status === 200 ? 200 : reply.text);

async function flood({
  junkClient,
  system,
}: Play): Promise<{ readonly codes: ReadonlySet<unknown>; readonly least: number }> {
  const codes = new Set<unknown>();
  let least = Number.POSITIVE_INFINITY;
  const one = async (index: number): Promise<void> => {
    codes.add(codeOf(await close(junkClient, { venueone: { privateKey: junkKey(index) } }, 250)));
    for (const room of system.service.rooms)
      if (room.venue === "venueone") least = Math.min(least, room.status().laneTokens.exit);
  };
  await Promise.all(Array.from({ length: JUNK }, (_, index) => one(index)));
  return { codes, least };
}

describe("312 closes with made-up keys", () => {
  it("leave the venue healthy, a known trader's exits at their pace, and let a fresh one in", {
    timeout: 120_000,
  }, async () => {
    const play = await start();
    const { client, service } = play.system;
    const first = await closes(client, play.known);
    expect([first.status, codeOf(first)]).toEqual([200, null]);

    let isOver = false;
    const flooded = flood(play).finally(() => (isOver = true));
    const ofKnown: unknown[] = [];
    const ofFresh: unknown[] = [];
    let isIn = false;
    const knocking = (async () => {
      while (!isIn) {
        const reply = await closes(client, play.fresh);
        isIn = reply.status === 200;
        ofFresh.push(isIn ? 200 : codeOf(reply));
      }
    })();
    while (!isOver && ofKnown.length < KNOWN_CLOSES_MAX) ofKnown.push(shown(await closes(client, play.known)));
    const { codes, least } = await flooded;
    await knocking;

    expect(ofKnown.length).toBeGreaterThan(0);
    expect(new Set(ofKnown)).toEqual(new Set([200]));
    expect(ofFresh.at(-1)).toBe(200);
    // A known trader's closes cost their usual weight; strangers took no more than their part of the minute.
    expect(least).toBeGreaterThan(KNOWN_WEIGHT_MIN - 4 * ofKnown.length - 100);
    const room = service.rooms.find(({ venue }) => venue === "venueone");
    expect(room?.status().breaker).toBe("closed");
    expect(codes.has(null)).toBe(false);
    const status = await client.get("/api/status");
    expect(status.status).toBe(200);
  });

  it("take all of the venue where strangers have no part of their own", { timeout: 120_000 }, async () => {
    vi.spyOn(CallerStanding.prototype, "isProven").mockReturnValue(true);
    const { least } = await flood(await start());
    expect(least).toBeLessThan(KNOWN_WEIGHT_MIN - 100);
  });
});
