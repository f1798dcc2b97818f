/**
 * The counts of account frames in /api/status of the whole gateway: none for valid frames of the four local venues, and
 * one for every frame that comes in half.
 */
import { expect, it } from "vitest";
import { FOUR_VENUES } from "../support/four-venues.js";
import { Caller, streamed, streamedSystem, TEST_MS } from "../support/streamed-caller.js";
import { pause } from "../support/system.js";
import type { TradeSystem } from "../support/trade-system.js";

const LOOK_EVERY_MS = 50;
/** `market` frames stay whole: their errors are counted too. */
const HALF = { kind: "halfFrame", scope: ["user"] } as const;

const system = streamedSystem(34);

async function counted(field: "decodeErrors" | "protocolDrift"): Promise<Readonly<Record<string, number>>> {
  const reply = await (system.gateway.clients[0] as TradeSystem["clients"][number]).send("/api/status");
  const { data } = reply.body as unknown as {
    readonly data: { readonly venues: readonly Readonly<Record<string, unknown>>[] };
  };
  return Object.fromEntries(data.venues.map((row) => [row["exchange"], Number(row[field])]));
}

const NONE = Object.fromEntries(FOUR_VENUES.map((venue) => [venue, 0]));

it(
  "nothing of a whole trade is unread or unknown, and frames that come in half are counted on each venue",
  async () => {
    const trader = system.four.addTrader("half", {});
    const client = await streamed(system, trader);
    const trade = async (): Promise<void> => {
      await Promise.all(
        FOUR_VENUES.map(async (venue) => {
          const caller = new Caller(system, venue, trader);
          await caller.trade("/api/trade/position/open", { size: "0.4" });
          await caller.closesEverything();
        }),
      );
    };
    await trade();
    expect([await counted("decodeErrors"), await counted("protocolDrift")]).toEqual([NONE, NONE]);
    system.fault(FOUR_VENUES, [HALF]);
    await trade();
    for (;;) {
      const counts = await counted("decodeErrors");
      if (Object.values(counts).every((count) => count > 0)) break;
      await pause(LOOK_EVERY_MS);
    }
    await client.stop();
  },
  TEST_MS,
);
