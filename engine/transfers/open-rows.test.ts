import { describe, expect, it } from "vitest";
import { type OpenRow, OpenRows } from "./open-rows.js";
import type { InternalRow } from "./transfer-row.js";

const held = (transferId: string, account: string, state: InternalRow["state"], change = 1): OpenRow => {
  const row: InternalRow = {
    ...{ transferId, ownerId: null, walletId: "w", account, venue: "venuetwo", requestId: "r" },
    ...{ createdAtMs: 1, updatedAtMs: 1, state, reason: null, reasonText: "", venueId: null },
    ...{ kind: "internal", asset: "USDT", amount: "5", kindType: "SPOT_FUTURE", clientTranId: transferId },
    ...{ sentAtMs: 1, lastSentAtMs: 1, isRefusedAgain: false },
  };
  return { row, value: new Uint8Array(), change };
};

const shown = (rows: Iterable<OpenRow>) => [...rows].map(({ row, change }) => `${row.transferId} ${change}`);

describe("the open rows", () => {
  it("of an account are its own alone, each as it was last", () => {
    const rows = new OpenRows();
    for (const one of [held("a", "0x1", "signed"), held("b", "0x2", "signed"), held("c", "0x1", "signed")])
      rows.set(one);
    rows.set(held("a", "0x1", "unknown", 2));
    expect([shown(rows.of("0x1")), shown(rows.of("0x2")), shown(rows.of("0x3"))]).toEqual([
      ["a 2", "c 1"],
      ["b 1"],
      [],
    ]);
    expect(shown(rows.all())).toEqual(["a 2", "b 1", "c 1"]);
  });

  it("are without those that are over, and without their account", () => {
    const rows = new OpenRows();
    rows.set(held("a", "0x1", "signed"));
    rows.set(held("a", "0x1", "confirmed", 2));
    rows.set(held("b", "0x1", "failed"));
    expect([rows.get("a"), shown(rows.all()), shown(rows.of("0x1"))]).toEqual([undefined, [], []]);
    rows.set(held("c", "0x1", "signed"));
    expect(shown(rows.of("0x1"))).toEqual(["c 1"]);
  });
});
