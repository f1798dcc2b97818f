/**
 * Dry runs of the whole gateway over four local venues right after a close of the same account, whose frames come, are
 * lost, late or silent. The sizes of a dry run are the venue's present ones, never those of before the close.
 */
import { describe, expect, it } from "vitest";
import type { Json } from "../../../gateway/test/client.js";
import { FOUR_VENUES } from "../support/four-venues.js";
import { Caller, streamed, streamedSystem, TEST_MS, USER_FAULTS } from "../support/streamed-caller.js";

const CLOSE = "/api/trade/position/close";
const OPENED = "0.4";

const system = streamedSystem(32);

/** The orders of a dry run, and its report beside them. */
async function simulated(caller: Caller, fields: object): Promise<unknown> {
  const body = await caller.trade(CLOSE, { dryRun: true, ...fields });
  const { data, code } = body as {
    readonly code?: string;
    readonly data?: { readonly execution: { readonly requestedSize: string; readonly note: string | null } };
  };
  return code ?? [data?.execution.requestedSize, data?.execution.note];
}

async function simulatedAll(caller: Caller): Promise<unknown> {
  const { state, results } = (await caller.closeAll(true)) as unknown as {
    readonly state: string;
    readonly results: readonly { readonly size: string }[];
  };
  return [state, ...results.map(({ size }) => size)];
}

describe.each([["as they should be", null] as const, ...USER_FAULTS])("while account frames are %s,", (name, spec) => {
  it(
    "a dry run counts what is held after a close, in part and as a whole",
    async () => {
      const trader = system.four.addTrader(`dry ${name}`, {});
      const client = await streamed(system, trader);
      await Promise.all(
        FOUR_VENUES.map(async (venue) => {
          const caller = new Caller(system, venue, trader);
          await caller.trade("/api/trade/position/open", { size: OPENED });
          expect([venue, caller.heldLots > 0]).toEqual([venue, true]);
          const isShown = (): boolean =>
            [...client.folds.values()].some(({ rows }) =>
              [...rows.values()].some((row) => row["exchange"] === venue && row["size"] === OPENED),
            );
          await client.until(isShown, `${venue} shows it`);
        }),
      );
      if (spec !== null) system.fault(FOUR_VENUES, [spec]);
      await Promise.all(
        FOUR_VENUES.map(async (venue) => {
          const caller = new Caller(system, venue, trader);
          const { heldLots } = caller;
          const closed: Json = await caller.trade(CLOSE, { size: "0.1" });
          expect([venue, caller.heldLots], JSON.stringify(closed)).toEqual([venue, heldLots * 0.75]);
          expect([
            venue,
            await simulated(caller, { size: "ALL" }),
            await simulated(caller, { sizePercent: "50" }),
            await simulated(caller, { size: OPENED }),
            await simulatedAll(caller),
          ]).toEqual([venue, ["0.3", null], ["0.15", null], "SIZE_EXCEEDS_POSITION", ["SIMULATED", "0.3"]]);
          await caller.closesEverything();
          expect([
            venue,
            await simulated(caller, { size: "ALL" }),
            await simulated(caller, { size: "0.1" }),
            await simulatedAll(caller),
          ]).toEqual([venue, "SIZE_EXCEEDS_POSITION", "SIZE_EXCEEDS_POSITION", ["FLAT"]]);
        }),
      );
      await client.stop();
    },
    TEST_MS,
  );
});
