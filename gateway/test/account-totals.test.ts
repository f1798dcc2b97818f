/**
 * What all balances of a wallet add up to, which coverage makes them complete, and the reply when no venue answered;
 * and readiness.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AccountReader, Read } from "../../engine/ports.js";
import type { Reply } from "./client.js";
import { createFakeDesk } from "./fake-desk.js";
import type { FakeRoom } from "./fake-room.js";
import { tradingWith } from "./fake-trading.js";
import { type Harness, startHarness } from "./harness.js";

const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const WALLET = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const BARE_WALLET = "22222222-2222-4222-8222-222222222222";
const BARE_ADDRESS = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const KEY_ONE = { privateKey: "0xkey-of-one" };
const KEY_TWO = { apiKey: "key", apiSecret: "secret", walletAddress: ADDRESS };
const FAILED: Read<never> = { ok: false, code: "TIMEOUT", message: "no answer in time", retryAfterMs: null };

let harness: Harness;

beforeEach(async () => {
  harness = await startHarness({
    trading: tradingWith(createFakeDesk(), [
      {
        ownerId: null,
        walletId: WALLET,
        userId: "alice",
        address: ADDRESS,
        credentials: { venueone: KEY_ONE, venuetwo: KEY_TWO },
      },
      { ownerId: null, walletId: BARE_WALLET, userId: "bob", address: BARE_ADDRESS, credentials: {} },
    ]),
  });
  harness.refreshBooks();
});
afterEach(async () => {
  await harness.stop();
});

/** The account is worth so much; null: the venue does not answer. */
function worth(room: FakeRoom, equity: string | null): void {
  const answer = <T>(value: T): Read<T> =>
    equity === null ? FAILED : { ok: true, value, asOfMs: harness.clock.wallMs(), source: "venue" };
  const reader: Partial<AccountReader> = {
    readBalances: async () => answer([]),
    readAccount: async () =>
      answer({
        quoteAsset: "USDC",
        equity: equity ?? "",
        marginUsed: "1",
        free: "2",
        maintenanceMargin: null,
        tsVenueMs: 0,
      }) as Awaited<ReturnType<NonNullable<AccountReader["readAccount"]>>>,
  };
  Object.assign(room.reader, reader);
}

const balances = (walletId: string, address: string): Promise<Reply> =>
  harness.client.send(`/api/trading/balances/all/${address}`, {
    method: "GET",
    headers: { "x-wallet-id": walletId },
  });

function at(reply: Reply, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], reply.body);
}

describe("all balances in one", () => {
  it("are complete when every venue that is served here is in them", async () => {
    worth(harness.one, "100.5");
    worth(harness.two, "10");
    const reply = await balances(WALLET, ADDRESS);
    expect(at(reply, "data.totals")).toMatchObject({ equity: "110.5", complete: true });
    worth(harness.two, null);
    const half = await balances(WALLET, ADDRESS);
    expect(half.status).toBe(200);
    expect(at(half, "data.totals")).toMatchObject({ equity: "100.5", complete: false });
  });

  it("are null, not zero, when no venue answered", async () => {
    worth(harness.one, null);
    worth(harness.two, null);
    const reply = await balances(WALLET, ADDRESS);
    expect([reply.status, at(reply, "code"), at(reply, "details.coverage.venueone.error.code")]).toEqual([
      500,
      "FAILED_TO_FETCH_ACCOUNT",
      "TIMEOUT",
    ]);
  });

  it("are null, not zero, without credentials for any venue", async () => {
    const reply = await balances(BARE_WALLET, BARE_ADDRESS);
    expect(reply.status).toBe(200);
    expect(at(reply, "data")).toEqual({
      accounts: [],
      totals: { equity: null, marginUsed: null, free: null, complete: false },
    });
  });
});

describe("readiness", () => {
  it.each(["STALE", "DOWN"] as const)("is denied while a venue's feed is %s, whatever its books say", async (state) => {
    harness.one.statusOverrides = { state };
    const reply = await harness.client.get("/ready");
    expect([reply.status, at(reply, "error")]).toEqual([503, "Not ready: venueone"]);
    harness.one.statusOverrides = {};
    expect((await harness.client.get("/ready")).status).toBe(200);
  });
});
