/**
 * The whole gateway over four local venues whose account frames are lost, late or silent, each with a streamed account.
 * A position that the venue holds is never FLAT, and a close of it is refused neither for its size nor as flat,
 * whatever the stream shows. The venues' own books show what is held.
 */
import { describe, expect, it } from "vitest";
import { FOUR_VENUES, type FourTrader } from "../support/four-venues.js";
import { Caller, streamed, streamedSystem, TEST_MS, USER_FAULTS } from "../support/streamed-caller.js";
import { pause } from "../support/system.js";

/** Longer than the service ever trusted the clock alone after an order of its own, and than reads lag. */
const LATER_MS = 4_000;
const BOUGHT = "0.4";
const CLOSED = "0.1";

const system = streamedSystem(31);

async function onEach(trader: FourTrader, play: (caller: Caller) => Promise<void>): Promise<void> {
  await Promise.all(FOUR_VENUES.map((venue) => play(new Caller(system, venue, trader))));
}

/** Somebody else opens it. */
async function closesWhatOthersOpened(caller: Caller, trader: FourTrader): Promise<void> {
  const { venue } = caller;
  expect([venue, system.four.outside(venue, trader, "BTC", "BUY", BOUGHT)]).toEqual([venue, expect.any(Number)]);
  const { heldLots } = caller;
  expect(heldLots).toBeGreaterThan(0);
  // The stream does not have this size.
  const part = await caller.trade("/api/trade/position/close", { size: CLOSED });
  expect(part, JSON.stringify([venue, part])).toMatchObject({
    success: true,
    data: { execution: { note: null } },
  });
  expect([venue, caller.heldLots]).toEqual([venue, heldLots * 0.75]);
  const dry = await caller.closeAll(true);
  expect(dry, JSON.stringify([venue, dry])).toMatchObject({ state: "SIMULATED", totalPositions: 1 });
  await caller.closesEverything();
}

/** At once, and seconds later. */
async function closesWhatItOpened(caller: Caller): Promise<void> {
  await caller.trade("/api/trade/position/open", { size: BOUGHT });
  expect([caller.venue, caller.heldLots > 0]).toEqual([caller.venue, true]);
  while (caller.heldLots > 0) {
    const all = await caller.trade("/api/trade/position/close", { size: "ALL" });
    const told = JSON.stringify([caller.venue, all]);
    expect(all, told).toMatchObject({ success: true, data: { execution: { note: null } } });
    if (told.includes('"state":"COMPLETED"')) expect(caller.heldLots, told).toBe(0);
  }
  await caller.trade("/api/trade/position/open", { size: BOUGHT });
  expect([caller.venue, caller.heldLots > 0]).toEqual([caller.venue, true]);
  await pause(LATER_MS);
  await caller.closesEverything();
}

// Two accounts side by side: most of it is waiting, and a fault is for all accounts.
describe.each(USER_FAULTS)("while account frames are %s,", (name, spec) => {
  it(
    "a position that somebody else opened, and one of our own, is closed as it is held, and is never FLAT",
    async () => {
      const elsewhere = system.four.addTrader(`elsewhere ${name}`, {});
      const ourselves = system.four.addTrader(`ourselves ${name}`, {});
      const clients = [await streamed(system, elsewhere), await streamed(system, ourselves)];
      system.fault(FOUR_VENUES, [spec]);
      await Promise.all([
        onEach(elsewhere, (caller) => closesWhatOthersOpened(caller, elsewhere)),
        onEach(ourselves, closesWhatItOpened),
      ]);
      for (const client of clients) await client.stop();
    },
    TEST_MS,
  );
});
