/** What every account stream does with a holding in a contract that is not listed: it is held, without lots, until it is gone. */
import { describe, expect, it } from "vitest";
import type { VenuePosition } from "../../engine/domain/position.js";
import { AccountState as VenueoneSlot } from "../../feeds/venueone/account/state.js";
import { AccountState as VenuethreeSlot } from "../../feeds/venuethree/account/state.js";
import { AccountState as VenuetwoState } from "../../feeds/venuetwo/account/state.js";

const NONE_LISTED = (): null => null;
const quiet = (): void => {};

type Holdings = (size: string) => readonly VenuePosition[];

function venueone(): Holdings {
  const slot = new VenueoneSlot(NONE_LISTED, quiet, "0xab", () => Number.POSITIVE_INFINITY);
  let time = 0;
  return (szi) => {
    const row = {
      coin: "GONE",
      szi,
      entryPx: "2",
      positionValue: "25",
      unrealizedPnl: "0",
      liquidationPx: null,
      marginUsed: "1",
      leverageType: "cross",
      leverage: 5,
    } as const;
    const positions = szi === "0" ? [] : [row];
    const state = { time: ++time, positions } as unknown as Parameters<VenueoneSlot["applyState"]>[0];
    expect(slot.applyState(state)).toMatchObject({ ok: true });
    return slot.positions();
  };
}

function venuetwo(): Holdings {
  const state = new VenuetwoState();
  let eventMs = 0;
  return (pa) => {
    const row = { s: "GONE", pa, ep: "2", up: "0", mt: "cross", iw: "0", ps: "BOTH" } as const;
    expect(state.applyPositions([row], ++eventMs, NONE_LISTED)).toMatchObject({
      kind: "events",
      events: [{ kind: "positions" }],
    });
    return state.positions();
  };
}

function venuethree(): Holdings {
  const slot = new VenuethreeSlot({ accountIndex: 1, instrumentOf: NONE_LISTED, emit: quiet });
  return (position) => {
    const row = {
      market_id: 77,
      symbol: "GONE",
      initial_margin_fraction: "5.00",
      sign: 1,
      position,
      avg_entry_price: "2",
      position_value: "25",
      unrealized_pnl: "0",
      liquidation_price: "0",
      margin_mode: 0,
      allocated_margin: null,
    };
    expect(slot.applyPositions([row], 5)).toMatchObject({ ok: true });
    return slot.positions();
  };
}

describe("a streamed holding in a contract that is not listed", () => {
  it.each([
    ["venueone", venueone],
    ["venuetwo", venuetwo],
    ["venuethree", venuethree],
  ] as const)("%s: is held without lots, and gone when the venue says so", (venue, create) => {
    const holdings = create();
    expect(holdings("12.5")).toMatchObject([
      { venue, symbol: "GONE", nativeSymbol: "GONE", direction: "LONG", qtyLots: 0, uncounted: "12.5" },
    ]);
    expect(holdings("0")).toEqual([]);
  });
});
