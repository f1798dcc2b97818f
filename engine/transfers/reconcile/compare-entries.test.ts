/** Rows of the ledger beside what a venue's history shows. */
import { describe, expect, it } from "vitest";
import type { VenueEntry } from "../../venue-money.js";
import type { InternalRow } from "../transfer-row.js";
import { compareEntries } from "./compare-entries.js";

const NOW = 1_800_000_000_000;
const HOUR = 3_600_000;
const TIMES = { sinceMs: NOW - 100 * HOUR, nowMs: NOW };

const row = (changes: Partial<InternalRow> = {}): InternalRow => ({
  ...{ transferId: "00000000-0000-4000-8000-000000000001", ownerId: null, walletId: "w", account: "0xaa" },
  ...{ venue: "venuetwo", requestId: "r", createdAtMs: NOW - 2 * HOUR, updatedAtMs: NOW - 2 * HOUR },
  ...{ state: "confirmed", reason: null, reasonText: "", venueId: "7", kind: "internal", asset: "USDT" },
  ...{ amount: "5", kindType: "SPOT_FUTURE", clientTranId: "n", sentAtMs: 1, lastSentAtMs: 1, isRefusedAgain: false },
  ...changes,
});

const entry = (changes: Partial<VenueEntry> = {}): VenueEntry => ({
  ...{ kind: "internal", venueId: "7", chainId: null, asset: "USDT", amounts: ["5.00"], kindType: "SPOT_FUTURE" },
  ...{ hash: null, atMs: NOW - 2 * HOUR, hasFailed: false },
  ...changes,
});

const counts = (rows: readonly InternalRow[], entries: readonly VenueEntry[]) => {
  const { unknownEntries, missingRows, unnamedEntries } = compareEntries(rows, entries, TIMES);
  return [unknownEntries.length, missingRows.length, unnamedEntries.length];
};

describe("a comparison of rows with a history", () => {
  it("is clean where the history has the id of each row", () => {
    expect(counts([row()], [entry()])).toEqual([0, 0, 0]);
  });

  it("names what the history alone has, and what the ledger alone has", () => {
    expect(counts([row()], [entry({ venueId: "8", amounts: ["6"] })])).toEqual([1, 1, 1]);
  });

  it("is clean where the history lists a transfer under another id than the venue answered", () => {
    expect(counts([row()], [entry({ venueId: "8" })])).toEqual([0, 0, 1]);
    expect(counts([row()], [entry({ venueId: "8" }), entry({ venueId: "9" })])).toEqual([1, 0, 2]);
    expect(counts([row()], [entry(), entry({ venueId: "8" })])).toEqual([1, 0, 1]);
  });

  it("pairs a row without an id by amount and time, once, and still has the entry as one without a name", () => {
    const open = row({ state: "unknown", venueId: null });
    expect(counts([open], [entry(), entry({ venueId: "8" })])).toEqual([1, 0, 2]);
    expect(counts([open], [entry({ amounts: ["5.01"] })])).toEqual([1, 0, 1]);
    expect(counts([open], [entry({ kindType: "FUTURE_SPOT" })])).toEqual([1, 0, 1]);
    expect(counts([open], [entry({ atMs: NOW - 4 * HOUR })])).toEqual([1, 0, 1]);
  });

  it("pairs a withdrawal with an entry whose fee is open, within what was signed for it", () => {
    const token = { symbol: "USDT", address: "0x1", decimals: 6, resetsAllowance: false };
    const withdrawal = {
      ...row({ state: "unknown", venueId: null }),
      ...{ kind: "withdrawal", amount: "5000000", token, chainId: 56, fee: "10000", isAccepted: false },
    } as unknown as InternalRow;
    const listed = (amount: string) =>
      entry({ kind: "withdrawal", amounts: [amount], kindType: null, isFeeOpen: true, venueId: "8" });
    for (const amount of ["5", "4.99", "5.01", "4.995"])
      expect(counts([withdrawal], [listed(amount)])).toEqual([0, 0, 1]);
    for (const amount of ["4.98", "5.02"]) expect(counts([withdrawal], [listed(amount)])).toEqual([1, 0, 1]);
  });

  it("explains nothing by a row of which nothing left", () => {
    for (const state of ["created", "failed"] as const) {
      const reason = state === "failed" ? "NOT_SIGNED" : null;
      expect(counts([row({ state, reason, venueId: null })], [entry()])).toEqual([1, 0, 1]);
    }
  });

  it("does not miss what is too young for a history, or older than what was read", () => {
    expect(counts([row({ updatedAtMs: NOW - HOUR / 2 })], [])).toEqual([0, 0, 0]);
    expect(counts([row({ createdAtMs: NOW - 101 * HOUR })], [])).toEqual([0, 0, 0]);
  });

  it("takes no notice of what the venue gave back", () => {
    expect(counts([], [entry({ hasFailed: true })])).toEqual([0, 0, 1]);
  });
});
