import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import type { AccountSession, Read, VenueRoom } from "../../engine/ports.js";
import { createFakeRoom } from "../test/fake-room.js";
import { accountAddress, AccountReads, namingAccount } from "./account-reads.js";
import { coverageOf, readError } from "./read-errors.js";

const ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const LIMITS = { timeoutMs: 1_000, inFlightMax: 2 };

function setUp() {
  const clock = new VirtualClock();
  const room = createFakeRoom("venueone", [], () => clock.wallMs());
  return { clock, room, reads: new AccountReads(clock, LIMITS) };
}

const NEVER = new Promise<Read<number>>(() => {});
const ok = async (): Promise<Read<number>> => ({ ok: true, value: 7, asOfMs: 5, source: "venue" });

describe("a read of an account", () => {
  it("opens its own session and closes it, whatever the outcome of the read", async () => {
    const { room, reads } = setUp();
    const ref = { walletAddress: ADDRESS, block: { privateKey: "k" }, payer: null };
    expect(await reads.read(room, ref, ok)).toEqual({ ok: true, value: 7, asOfMs: 5, source: "venue" });
    const failed: Read<number> = { ok: false, code: "VENUE_ERROR", message: "boom", retryAfterMs: 3 };
    expect(await reads.read(room, ref, async () => failed)).toEqual(failed);
    await expect(reads.read(room, ref, () => Promise.reject(new Error("a bug")))).rejects.toThrow("a bug");
    expect([room.sessionsOpen(), reads.inFlight]).toEqual([0, 0]);
  });

  it("ends at its deadline although the room never answers", async () => {
    const { clock, room, reads } = setUp();
    const reading = reads.read(room, { walletAddress: ADDRESS, block: {}, payer: null }, () => NEVER);
    clock.advance(1_250);
    expect(await reading).toMatchObject({ ok: false, code: "TIMEOUT" });
    expect([room.sessionsOpen(), reads.inFlight]).toEqual([0, 0]);
  });

  it("is refused at once beyond the bound, and accepted again when another has ended", async () => {
    const { clock, room, reads } = setUp();
    const ref = { walletAddress: ADDRESS, block: {}, payer: null };
    const running = [reads.read(room, ref, () => NEVER), reads.read(room, ref, () => NEVER)];
    expect(await reads.read(room, ref, ok)).toMatchObject({ ok: false, code: "OVERLOADED" });
    clock.advance(1_250);
    await Promise.all(running);
    expect(await reads.read(room, ref, ok)).toMatchObject({ ok: true });
  });

  it("leaves half of the bound to the keys of others", async () => {
    const { room, reads } = setUp();
    const ref = (payer: string) => ({ walletAddress: ADDRESS, block: {}, payer });
    void reads.read(room, ref("pk_greedy"), () => NEVER);
    expect(await reads.read(room, ref("pk_greedy"), ok)).toMatchObject({ ok: false, code: "OVERLOADED" });
    expect(await reads.read(room, ref("pk_other"), ok)).toMatchObject({ ok: true });
  });

  it("needs credentials where nothing is public, and uses the address where something is", async () => {
    const { room, reads } = setUp();
    const ref = { walletAddress: ADDRESS, block: null, payer: null };
    expect(await reads.read(room, ref, ok)).toMatchObject({ ok: false, code: "AUTH_REQUIRED" });
    const asked: string[] = [];
    const session: AccountSession = {
      venue: "venueone",
      accountId: "public",
      payer: null,
      close: () => void asked.push("closed"),
    };
    const open: VenueRoom = {
      ...room,
      openAddress(address) {
        asked.push(address);
        return { ok: true, session };
      },
    };
    expect(await reads.read(open, ref, ok)).toMatchObject({ ok: true });
    expect(asked).toEqual([ADDRESS, "closed"]);
  });

  it("tells the room which account is meant, unless the block names it itself", async () => {
    const { room, reads } = setUp();
    const blocks: unknown[] = [];
    const noting: VenueRoom = {
      ...room,
      openSession(raw) {
        blocks.push(raw);
        return room.openSession(raw, null);
      },
    };
    const own = { privateKey: "k", walletAddress: OTHER };
    await reads.read(noting, { walletAddress: ADDRESS, block: { privateKey: "k" }, payer: null }, ok);
    await reads.read(noting, { walletAddress: ADDRESS, block: own, payer: null }, ok);
    expect(blocks).toEqual([{ privateKey: "k", walletAddress: ADDRESS }, own]);
    expect(accountAddress("venueone", { walletAddress: ADDRESS, block: own })).toBe(OTHER);
    for (const block of [null, {}, { walletAddress: 7 }, { walletAddress: "a key by mistake" }])
      expect(accountAddress("venueone", { walletAddress: ADDRESS, block })).toBe(ADDRESS);
  });

  it("leaves places to another key where one has asked for more than all of them", async () => {
    const { clock, room } = setUp();
    const reads = new AccountReads(clock, { timeoutMs: 1_000, inFlightMax: 8 });
    const ask = async (payer: string | null, count: number): Promise<readonly unknown[]> => {
      const answers = Array.from({ length: count }, () =>
        reads.read(room, { walletAddress: ADDRESS, block: {}, payer }, () => NEVER),
      );
      return Promise.all(
        answers.map((answer) => Promise.race([answer, new Promise((resolve) => setImmediate(resolve, "runs"))])),
      );
    };
    const refused = expect.objectContaining({ code: "OVERLOADED" });
    const runCount = async (payer: string, count: number) =>
      (await ask(payer, count)).filter((answer) => answer === "runs").length;
    // Nobody else is there: all but the place that another finds.
    expect([await runCount("pk_busy", 20), await runCount("pk_other", 20)]).toEqual([7, 1]);
    await clock.advanceAsync(1_250);
    expect([await runCount("pk_busy", 20), await runCount("pk_other", 1)]).toEqual([4, 1]);
    // Callers without a key cannot be told apart: all places are there for all.
    expect(await ask(null, 4)).toEqual(["runs", "runs", "runs", refused]);
    await clock.advanceAsync(1_250);
    expect(await ask("pk_busy", 1)).toEqual(["runs"]);
  });

  it("takes the vault that a key trades for as the account, not for a master", () => {
    const vault = { privateKey: "k", vaultAddress: OTHER };
    const both = { ...vault, walletAddress: ADDRESS };
    for (const block of [vault, both]) {
      for (const walletAddress of [OTHER, ADDRESS]) {
        const ref = { walletAddress, block };
        expect(namingAccount("venueone", ref)).toBe(block);
        expect(accountAddress("venueone", ref)).toBe(OTHER);
      }
    }
    // No vault: the field may be present and empty, and other venues have no such thing.
    const none = { privateKey: "k", vaultAddress: "" };
    expect(namingAccount("venueone", { walletAddress: ADDRESS, block: none })).toEqual({
      ...none,
      walletAddress: ADDRESS,
    });
    expect(accountAddress("venuetwo", { walletAddress: ADDRESS, block: vault })).toBe(ADDRESS);
  });

  it("never passes on what looks like a key", async () => {
    const { room, reads } = setUp();
    const secret = "ab".repeat(40);
    const failed: Read<number> = { ok: false, code: "VENUE_ERROR", message: `bad ${secret}`, retryAfterMs: null };
    const read = await reads.read(room, { walletAddress: ADDRESS, block: {}, payer: null }, async () => failed);
    expect(JSON.stringify(read)).not.toContain(secret);
  });
});

describe("a failed read of an account", () => {
  const failed = (code: string) => ({ ok: false, code, message: "words", retryAfterMs: null }) as const;

  it.each([
    ["AUTH", 401, "Missing or invalid credentials for venuetwo"],
    ["AUTH_REQUIRED", 401, "Missing or invalid credentials for venuetwo"],
    ["NEEDS_CREDENTIALS", 401, "Missing or invalid credentials for venuetwo"],
    ["RATE_LIMITED", 503, "venuetwo is rate limiting this service"],
    ["BREAKER_OPEN", 503, "venuetwo is unavailable"],
    ["OVERLOADED", 503, "Too many requests in flight"],
    ["NOT_SUPPORTED", 400, "Not supported: words"],
    ["BAD_CURSOR", 400, "Invalid request parameters"],
    ["TIMEOUT", 500, "Failed to fetch open positions: TIMEOUT: words"],
    ["VENUE_ERROR", 500, "Failed to fetch open positions: VENUE_ERROR: words"],
    ["BAD_RESPONSE", 500, "Failed to fetch open positions: BAD_RESPONSE: words"],
  ] as const)("with %s is %i %s on a route of one venue", (code, status, text) => {
    const error = readError("venuetwo", failed(code) as never, "FAILED_TO_FETCH_POSITIONS");
    expect([error.status, error.message]).toEqual([status, text]);
  });

  it("is AUTH_REQUIRED or ERROR in a coverage, never a snapshot", () => {
    expect(coverageOf("venuetwo", failed("AUTH") as never)).toMatchObject({
      state: "AUTH_REQUIRED",
      asOf: null,
      error: { code: "MISSING_CREDENTIALS", message: "Missing or invalid credentials for venuetwo: words" },
    });
    expect(coverageOf("venuetwo", failed("AUTH_REQUIRED") as never)).toMatchObject({
      error: { message: "Missing or invalid credentials for venuetwo" },
    });
    expect(coverageOf("venuetwo", failed("TIMEOUT") as never)).toMatchObject({
      state: "ERROR",
      error: { code: "TIMEOUT" },
    });
    expect(coverageOf("venuetwo", { ok: true, value: [], asOfMs: 5, source: "stream" })).toEqual({
      state: "LIVE",
      mode: "push",
      asOf: 5,
      source: "stream",
    });
  });
});
