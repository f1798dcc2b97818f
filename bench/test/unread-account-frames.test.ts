/**
 * What the whole gateway counts of account frames, in /api/status: nothing of what the four local venues say as they
 * should, and every frame of theirs that came in half.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { FOUR_VENUES, type FourVenues, startFourVenues } from "./support/four-venues.js";
import { Caller, streamed } from "./support/streamed-caller.js";
import { pause } from "./support/system.js";
import { startTradeSystem, type TradeSystem } from "./support/trade-run.js";

const TEST_MS = 120_000;
const LOOK_EVERY_MS = 50;
/** `market` frames stay whole: their errors are counted too. */
const HALF = { kind: "halfFrame", scope: ["user"] } as const;

let four: FourVenues;
let system: TradeSystem;

beforeAll(async () => {
  four = await startFourVenues({ seed: 34, symbols: ["BTC", "ETH", "SOL"] });
  system = await startTradeSystem(four);
}, TEST_MS);

afterAll(async () => {
  await system.stop();
  await four.stop();
  system.cleanUp();
});

async function counted(field: "decodeErrors" | "protocolDrift"): Promise<Readonly<Record<string, number>>> {
  const reply = await (system.clients[0] as TradeSystem["clients"][number]).send("/api/status");
  const { data } = reply.body as unknown as {
    readonly data: { readonly venues: readonly Readonly<Record<string, unknown>>[] };
  };
  return Object.fromEntries(data.venues.map((row) => [row["exchange"], Number(row[field])]));
}

const NONE = Object.fromEntries(FOUR_VENUES.map((venue) => [venue, 0]));

it(
  "nothing of a whole trade is unread or unknown, and frames that come in half are counted on each venue",
  async () => {
    const trader = four.addTrader("half", {});
    const client = await streamed(system, trader);
    const trade = async (): Promise<void> => {
      await Promise.all(
        FOUR_VENUES.map(async (venue) => {
          const caller = new Caller(four, system, venue, trader);
          await caller.trade("/api/trade/position/open", { size: "0.4" });
          await caller.closesEverything();
        }),
      );
    };
    await trade();
    expect([await counted("decodeErrors"), await counted("protocolDrift")]).toEqual([NONE, NONE]);
    const heal = four.fault(FOUR_VENUES, [HALF]);
    await trade();
    for (;;) {
      const counts = await counted("decodeErrors");
      if (Object.values(counts).every((count) => count > 0)) break;
      await pause(LOOK_EVERY_MS);
    }
    heal();
    await client.stop();
  },
  TEST_MS,
);
