/** The release of a store that was put back: what it waits for, what it writes down, and what its rows do after it. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import type { Restored } from "../../storage/instance/instance-mark.js";
import { CHAIN_ID } from "../test/fake-chain.js";
import { FEE } from "../test/fake-money.js";
import { ACCOUNT } from "../test/fake-signer.js";
import { depositStep } from "../transfer-row.js";
import { type Life, TransferWorld } from "../test/transfer-world.js";
import { TransferBlocks } from "./blocks.js";
import type { ReconcileRun } from "./reconciler.js";
import { Reconciliation, type ReleaseOutcome } from "./reconciliation.js";
import { DIFFERENCE_KINDS, type ReconcileFindings } from "./report.js";

const AMOUNT = 7_000_000n;
const SETTLE_MS = 60_000;
const RESTORED: Restored = { reason: "FILE_AHEAD", sinceMs: 5, storeAtMs: 1 };
const NOTHING: ReconcileFindings = { blocks: [], nonces: [] };

function runOf(findings: ReconcileFindings, unreadParts: readonly string[]): ReconcileRun {
  const differenceCounts = Object.fromEntries(DIFFERENCE_KINDS.map((kind) => [kind, 0]));
  const report = {
    ...{ startedAtMs: 0, endedAtMs: 0, sinceMs: 0, wallets: 1, compared: 1, restored: RESTORED, differences: [] },
    ...{ unread: [], unreadCount: unreadParts.length, unreadParts },
  };
  return { report: { ...report, differenceCounts } as unknown as ReconcileRun["report"], findings };
}

/** Over the ledger of a life; `restored` is null once it is released. */
class Stand {
  restored: Restored | null = RESTORED;
  findings = NOTHING;
  unread: readonly string[] = [];
  looksAgain = 0;
  readonly blocks: TransferBlocks;
  readonly reconciliation: Reconciliation;
  readonly #world: TransferWorld;

  constructor(world: TransferWorld, life: Life, intervalMs = 0) {
    const { clock, store } = world;
    const { book } = life;
    this.#world = world;
    this.blocks = new TransferBlocks({ store, clock, rails: world.rails() });
    const stand = this;
    this.reconciliation = new Reconciliation({
      ...{ book, clock, store, logger: silentLogger, blocks: this.blocks, intervalMs, settleMs: SETTLE_MS },
      lookAgain: () => void this.looksAgain++,
      reconciler: { run: async () => runOf(this.findings, this.unread) },
      instance: {
        get restored() {
          return stand.restored;
        },
        release: async (alongside) => {
          if (alongside.length > 0) await store.commit({ writes: alongside });
          stand.restored = null;
        },
      },
    });
  }

  async compared(): Promise<void> {
    this.reconciliation.begin();
    while (this.reconciliation.view().isRunning) await this.#world.clock.advanceAsync(1);
  }

  async released(force: readonly string[] = []): Promise<ReleaseOutcome> {
    await this.#world.clock.advanceAsync(SETTLE_MS);
    await this.compared();
    return this.reconciliation.release(force, () => []);
  }
}

/** A life that ended right behind the commit of a row: nothing of it is signed. */
async function madeAndDied(world: TransferWorld, call: (life: Life) => Promise<unknown>): Promise<Life> {
  const before = await world.live({ at: 1, isAfter: true });
  expect(await world.outcome(before, call(before))).toBe("dead");
  return world.live();
}

describe("a comparison", () => {
  it("has payments that are searched for looked for at once, where the operator asks for it and not the clock", async () => {
    const world = new TransferWorld();
    const stand = new Stand(world, await world.live(), 60_000);
    stand.reconciliation.start();
    await world.clock.advanceAsync(600_000);
    expect([stand.reconciliation.view().last === null, stand.looksAgain]).toEqual([false, 0]);
    await stand.compared();
    expect(stand.looksAgain).toBe(1);
    await stand.reconciliation.stop();
  });
});

describe("the release of a store that was put back", () => {
  it("waits for a comparison of this start, for a minute after it, and for every part", async () => {
    const world = new TransferWorld();
    const stand = new Stand(world, await world.live());
    const { reconciliation } = stand;
    expect(await reconciliation.release([], () => [])).toMatchObject({ ok: false, code: "RECONCILE_FIRST" });
    await stand.compared();
    expect(await reconciliation.release([], () => [])).toMatchObject({
      code: "TOO_EARLY",
      retryAfterMs: expect.any(Number),
    });
    stand.unread = ["chain 56", "venueone"];
    expect(await stand.released()).toMatchObject({ code: "PARTS_UNREAD", parts: ["chain 56", "venueone"] });
    expect(await stand.released(["venueone"])).toMatchObject({ code: "PARTS_UNREAD", parts: ["chain 56"] });
    expect(await stand.released(["venueone", "chain 56"])).toEqual({ ok: true, blocks: 0, rows: 0 });
    expect(await stand.released()).toMatchObject({ code: "NOT_RESTORED" });
  });

  it("keeps blocks over a restart, for a day", async () => {
    const world = new TransferWorld();
    const stand = new Stand(world, await world.live());
    const found = { reason: "FOUND", kind: "withdrawal", account: ACCOUNT, venue: "venueone", chainId: null } as const;
    const entry = { asset: "USDC", amounts: ["6", "7"], kindType: null, venueId: "9", atMs: 3 };
    stand.findings = { blocks: [{ ...found, ...entry }], nonces: [] };
    expect(await stand.released()).toEqual({ ok: true, blocks: 1, rows: 0 });
    const later = new TransferBlocks({ store: world.store, clock: world.clock, rails: world.rails() });
    await later.load();
    const refused = (ask = world.withdrawal(world.named, AMOUNT)) => {
      try {
        later.assertFree("withdrawal", ask);
        return "free";
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
    };
    expect(refused()).toBe("TRANSFER_FOUND");
    expect(refused(world.withdrawal(world.named, AMOUNT - 1_000_000n))).toBe("TRANSFER_FOUND");
    expect(refused(world.withdrawal(world.named, AMOUNT + 1n))).toBe("free");
    expect(refused(world.withdrawal(world.listed, AMOUNT))).toBe("free");
    await world.clock.advanceAsync(86_400_000);
    expect(refused()).toBe("free");
  });

  it("blocks what may have been asked for where the list leaves the fee open, by a few times the fee of today", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const stand = new Stand(world, life);
    const found = {
      reason: "FOUND",
      kind: "withdrawal",
      account: ACCOUNT,
      venue: "venuetwo",
      chainId: CHAIN_ID,
    } as const;
    const entry = { asset: "USDC", amounts: ["20"], isFeeOpen: true, kindType: null, venueId: "9", atMs: 3 };
    stand.findings = { blocks: [{ ...found, ...entry }], nonces: [] };
    await stand.released();
    const later = new TransferBlocks({ store: world.store, clock: world.clock, rails: world.rails() });
    await later.load();
    const refused = (amount: bigint) => {
      try {
        for (const blocks of [stand.blocks, later])
          blocks.assertFree("withdrawal", { ...world.withdrawal(world.listed, amount), fee: FEE });
        return "free";
      } catch (error) {
        return (error as { readonly code: string }).code;
      }
    };
    for (const amount of [20_000_000n, 20_000_000n - FEE, 20_000_000n + FEE, 20_000_000n + 3n * FEE])
      expect(refused(amount), String(amount)).toBe("TRANSFER_FOUND");
    expect(refused(20_000_000n + 5n * FEE)).toBe("free");
  });

  it("blocks each of two finds of one id and time, and amounts in more places than the token has", async () => {
    const world = new TransferWorld();
    const stand = new Stand(world, await world.live());
    const found = { reason: "FOUND", kind: "withdrawal", account: ACCOUNT, venue: "venueone", chainId: null } as const;
    const entry = { ...found, asset: "USDC", kindType: null, venueId: "9", atMs: 3 };
    const [six, seven] = [
      { ...entry, amounts: ["6.0000009"] },
      { ...entry, amounts: ["7"] },
    ];
    stand.findings = { blocks: [six, seven], nonces: [] };
    await stand.released();
    const later = new TransferBlocks({ store: world.store, clock: world.clock, rails: world.rails() });
    await later.load();
    for (const amount of [AMOUNT, AMOUNT - 1_000_000n])
      for (const blocks of [stand.blocks, later])
        expect(() => blocks.assertFree("withdrawal", world.withdrawal(world.named, amount))).toThrow(
          expect.objectContaining({ code: "TRANSFER_FOUND" }),
        );
  });

  it("sends nothing again of a withdrawal that was made before the backup and paid after it", async () => {
    const world = new TransferWorld();
    const life = await madeAndDied(world, (before) =>
      before.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)),
    );
    const [row] = await world.rows(life);
    // What the life that is lost did of it.
    const paid = { id: "w-1", nonce: 1, receiver: ACCOUNT, amount: AMOUNT, debit: AMOUNT, paid: AMOUNT, fails: false };
    world.listed.payouts.push({ ...paid, atMs: world.clock.wallMs() });
    const stand = new Stand(world, life);
    expect(await stand.released()).toEqual({ ok: true, blocks: 0, rows: 1 });
    expect(await life.transfers.find(row?.transferId ?? "")).toMatchObject({ state: "unknown", reason: "RESTORED" });
    life.keeper.start();
    await world.untilQuiet(life);
    const end = { state: "confirmed", reason: null, payout: "completed", venueId: "w-1" };
    expect(await life.transfers.find(row?.transferId ?? "")).toMatchObject(end);
    expect([world.listed.payouts.length, world.signed]).toEqual([1, []]);
  });

  it.each(["named", "listed"] as const)(
    "ends a withdrawal of the %s style that never left, once its act is over",
    async (style) => {
      const world = new TransferWorld();
      const life = await madeAndDied(world, (before) =>
        before.transfers.withdraw(world.withdrawal(world[style], AMOUNT)),
      );
      const stand = new Stand(world, life);
      await stand.released();
      life.keeper.start();
      await world.untilQuiet(life);
      expect(await world.rows(life)).toMatchObject([{ state: "failed", reason: "NEVER_ARRIVED" }]);
      expect([world[style].payouts, world.signed]).toEqual([[], []]);
    },
  );

  it("sends a transfer between accounts no second time, and ends one that never left", async () => {
    const world = new TransferWorld();
    const life = await madeAndDied(world, (before) => before.transfers.move(world.internal("70000", "name-1")));
    await new Stand(world, life).released();
    life.keeper.start();
    await world.untilQuiet(life);
    expect(await world.rows(life)).toMatchObject([{ state: "failed", reason: "NEVER_ARRIVED" }]);
    expect(world.listed.moves).toEqual([]);
  });

  it("signs nothing of a deposit that was begun, and lets the wallet deposit again", async () => {
    const world = new TransferWorld();
    const life = await madeAndDied(world, (before) => before.transfers.deposit(world.deposit(world.named, AMOUNT)));
    await new Stand(world, life).released();
    life.keeper.start();
    await world.clock.advanceAsync(600_000);
    expect(await world.rows(life)).toMatchObject([{ state: "unknown", reason: "RESTORED" }]);
    expect([world.chain.deposits(), world.signed]).toEqual([[], []]);
    await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT + 1n)));
    expect(world.chain.deposits()).toHaveLength(1);
  });

  it("takes neither of two transfers of one amount for the one that arrived, and ends neither", async () => {
    const world = new TransferWorld();
    await madeAndDied(world, (before) => before.transfers.move(world.internal("70000", "name-1")));
    const life = await madeAndDied(world, (before) => before.transfers.move(world.internal("70000", "name-2")));
    // What the life that is lost sent: the second of them.
    world.listed.moves.push({ id: "m-1", name: "name-2", amount: "70000", atMs: world.clock.wallMs() });
    await new Stand(world, life).released();
    life.keeper.start();
    await world.clock.advanceAsync(1_200_000);
    const end = { state: "unknown", reason: "RESTORED", venueId: null };
    expect(await world.rows(life)).toMatchObject([end, end]);
    world.listed.moves.push({ id: "m-2", name: "name-1", amount: "70000", atMs: world.clock.wallMs() });
    await world.untilQuiet(life);
    expect((await world.rows(life)).map(({ state, venueId }) => `${state} ${venueId}`).sort()).toEqual([
      "confirmed m-1",
      "confirmed m-2",
    ]);
  });

  it("takes a transfer that is sent after the release for that, and not for one of before", async () => {
    const world = new TransferWorld();
    const life = await madeAndDied(world, (before) => before.transfers.move(world.internal("70000", "name-1")));
    await new Stand(world, life).released();
    world.listed.weather = () => "unheard";
    const row = await world.answered(life, life.transfers.move(world.internal("70000", "name-2")));
    world.listed.weather = () => "fine";
    life.keeper.start();
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", venueId: "m-1" });
    expect((await world.rows(life)).map(({ state }) => state)).toEqual(["confirmed", "failed"]);
  });

  it("follows a deposit to its end whose transaction is final, whatever the copy was taken between", async () => {
    let final = 0;
    for (let at = 1; at <= 120; at++) {
      const world = new TransferWorld();
      const before = await world.live({ at, isAfter: true });
      before.keeper.start();
      await world.outcome(before, before.transfers.deposit(world.deposit(world.listed, AMOUNT)), 120_000);
      await world.untilQuiet(before);
      const life = await world.live();
      const [row] = await world.rows(life);
      if (row?.kind !== "deposit" || row.state === "confirmed" || depositStep(row)?.mined?.isFinal !== true) continue;
      final++;
      await new Stand(world, life).released();
      life.keeper.start();
      await world.clock.advanceAsync(1_200_000);
      expect(await world.rows(life), `killed after act ${at}`).toMatchObject([{ state: "confirmed", reason: null }]);
    }
    expect(final).toBeGreaterThan(0);
  });

  it("follows a deposit to its credit of which the logs show nothing", async () => {
    const world = new TransferWorld();
    world.listed.hidesLogs = true;
    const before = await world.live();
    const row = await world.answered(before, before.transfers.deposit(world.deposit(world.listed, AMOUNT)));
    before.keeper.start();
    for (let second = 0; (await before.transfers.find(row.transferId))?.reason !== "NOT_SHOWN" && second < 60; second++)
      await world.clock.advanceAsync(1_000);
    const life = await world.live();
    await new Stand(world, life).released();
    life.keeper.start();
    await world.clock.advanceAsync(1_200_000);
    expect(await world.rows(life)).toMatchObject([{ state: "confirmed", venueId: expect.stringMatching(/^credit-/) }]);
  });
});
