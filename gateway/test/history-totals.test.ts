/** `total` of a list of what an account did: of the whole range, or nothing. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AccountHistory, HistoryPage, Read } from "../../engine/ports.js";
import { createFakeDesk } from "./fake-desk.js";
import { tradingWith } from "./fake-trading.js";
import { type Harness, startHarness } from "./harness.js";

const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";

let harness: Harness;

beforeEach(async () => {
  const wallet = {
    ownerId: null,
    walletId: WALLET,
    userId: "alice",
    address: ADDRESS,
    credentials: { venueone: { privateKey: "k" } },
  };
  harness = await startHarness({ trading: tradingWith(createFakeDesk(), [wallet]) });
});
afterEach(async () => {
  await harness.stop();
});

/** Each list of the venue answers this page. */
async function totals(page: HistoryPage<never>): Promise<unknown[]> {
  const read = async (): Promise<Read<HistoryPage<never>>> => ({
    ok: true,
    value: page,
    asOfMs: harness.clock.wallMs(),
    source: "venue",
  });
  const history: AccountHistory = { readOrders: read, readFills: read, readFunding: read };
  Object.assign(harness.one, { history });
  const headers = { "x-wallet-id": WALLET };
  const paths = [
    `/api/venueone/${WALLET}/orders/historical`,
    `/api/trading/venueone/fills/${ADDRESS}`,
    `/api/trading/venueone/funding/${ADDRESS}`,
  ];
  return Promise.all(
    paths.map(async (path) => {
      const reply = await harness.client.send(path, { method: "GET", headers });
      expect(reply.status, reply.text).toBe(200);
      return (reply.body as { readonly data: { readonly total: unknown } }).data.total;
    }),
  );
}

describe("the total of a history", () => {
  it("is returned for a range that one page holds", async () => {
    expect(await totals({ rows: [], nextCursor: null })).toEqual([0, 0, 0]);
  });

  it("is null before the last page", async () => {
    expect(await totals({ rows: [], nextCursor: "more" })).toEqual([null, null, null]);
  });

  it("is null where the venue no longer shows everything", async () => {
    expect(await totals({ rows: [], nextCursor: null, isCut: true })).toEqual([null, null, null]);
  });
});
