/** A comparison over a ledger, a chain and two venues: what it names, what it cannot read, and what a release makes of it. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../domain/logger.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { Restored } from "../../storage/instance/instance-mark.js";
import type { VenueEntry, VenueMoney } from "../../venue-money.js";
import { CHAIN_ID } from "../test/fake-chain.js";
import { ACCOUNT } from "../test/fake-signer.js";
import { type Life, TransferWorld, WALLET_ID } from "../test/transfer-world.js";
import type { TransferRow } from "../transfer-row.js";
import { type PartyView, Reconciler, type ReconcilerParts } from "./reconciler.js";

const AMOUNT = 7_000_000n;

interface Changes extends Partial<ReconcilerParts> {
  readonly entries?: readonly VenueEntry[] | "down";
}

/** `entries`: of the listed venue's history; the named one has none. */
function reconciler(world: TransferWorld, { book }: Life, { entries = [], ...changes }: Changes = {}): Reconciler {
  const history: VenueMoney["history"] = async () =>
    entries === "down"
      ? { ok: false, code: "TIMEOUT", message: "", retryAfterMs: null }
      : { ok: true, value: entries, asOfMs: world.clock.wallMs(), source: "venue" };
  const rails = new Map<RoutableVenue, VenueMoney>();
  for (const [venue, rail] of world.rails())
    rails.set(venue, venue === world.listed.venue ? { ...rail, history } : rail);
  return new Reconciler({
    ...{ book, rails, clock: world.clock, logger: silentLogger, chains: new Map() },
    openSession: async (_walletId, venue, payer) => (venue === "venueone" ? world.named : world.listed).session(payer),
    wallets: () => [{ walletId: WALLET_ID, address: ACCOUNT }],
    parties: () => null,
    restored: () => null,
    ...changes,
  });
}

const chainOf = (world: TransferWorld) => new Map([[CHAIN_ID, world.chain.port((act) => act())]]);

const entry = (world: TransferWorld, changes: Partial<VenueEntry> = {}): VenueEntry => ({
  ...{ kind: "withdrawal", venueId: "w-9", chainId: CHAIN_ID, asset: "USDC", amounts: ["7.00"], kindType: null },
  ...{ hash: null, atMs: world.clock.wallMs(), hasFailed: false },
  ...changes,
});

describe("a comparison", () => {
  it("of a wallet that has done nothing is clean, and says what it has read", async () => {
    const world = new TransferWorld();
    const { report, findings } = await reconciler(world, await world.live(), { chains: chainOf(world) }).run();
    expect(report).toMatchObject({ wallets: 1, compared: 3, differences: [], unread: [], unreadParts: [] });
    expect(findings).toEqual({ blocks: [], nonces: [] });
  });

  it("never counts as clean what could not be read", async () => {
    const world = new TransferWorld();
    world.chain.weather = () => "lost";
    const parties = (): PartyView => ({ wallets: null, lost: [] });
    const changes = { chains: chainOf(world), entries: "down", parties } as const;
    const { report } = await reconciler(world, await world.live(), changes).run();
    expect(report.unread.map(({ part, code }) => `${part} ${code}`).sort()).toEqual([
      `chain ${CHAIN_ID} ${report.unread.find(({ part }) => part.startsWith("chain"))?.code ?? ""}`,
      "co-signer SIGNER_UNAVAILABLE",
      "venuetwo TIMEOUT",
    ]);
    expect(report).toMatchObject({ unreadCount: 3, compared: 1 });
  });

  it("names an entry that no row explains, and blocks the like of it in a restored store alone", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const entries = [entry(world)];
    const plain = await reconciler(world, life, { entries }).run();
    expect(plain.report.differences).toMatchObject([
      { kind: "UNKNOWN_ENTRY", part: "venuetwo", transferId: null, text: "withdrawal of 7 USDC, w-9" },
    ]);
    expect(plain.findings.blocks).toEqual([]);
    const back: Restored = { reason: "FILE_AHEAD", sinceMs: world.clock.wallMs(), storeAtMs: world.clock.wallMs() };
    const restored = await reconciler(world, life, { entries, restored: () => back }).run();
    expect(restored.findings.blocks).toMatchObject([
      { reason: "FOUND", venueId: "w-9", amounts: ["7.00"], account: ACCOUNT },
    ]);
    // What the backup may have known is no news.
    const old = [entry(world, { atMs: world.clock.wallMs() - 2 * 3_600_000 })];
    const later = await reconciler(world, life, { entries: old, restored: () => back }).run();
    expect(later.findings.blocks).toEqual([]);
  });

  it("is clean where the row has the venue's id, and names a row that the venue has not", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    await world.untilQuiet(life);
    const [now] = await world.rows(life);
    const entries = [entry(world, { venueId: now?.venueId ?? "" })];
    expect((await reconciler(world, life, { entries }).run()).report.differences).toEqual([]);
    expect((await reconciler(world, life).run()).report.differences).toEqual([]);
    await world.clock.advanceAsync(3_600_000);
    expect((await reconciler(world, life).run()).report.differences).toMatchObject([
      { kind: "MISSING_ENTRY", part: "venuetwo", transferId: row.transferId },
    ]);
  });

  it("knows the wallet's own transactions, and names those that an emptied ledger does not", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    await world.untilQuiet(life);
    const known = await reconciler(world, life, { chains: chainOf(world) }).run();
    expect(known.report.differences).toEqual([]);
    const other = await new TransferWorld().live();
    const back: Restored = { reason: "FILE_MISSING", sinceMs: 1, storeAtMs: null };
    const lost = await reconciler(world, other, { chains: chainOf(world), restored: () => back }).run();
    expect(lost.report.differences).toMatchObject([
      { kind: "UNKNOWN_TRANSACTIONS", part: `chain ${CHAIN_ID}`, text: "nonce 0 used by no row" },
    ]);
    expect(lost.findings.nonces).toEqual([{ chainId: CHAIN_ID, account: ACCOUNT, nonce: 1 }]);
    expect(lost.findings.blocks).toMatchObject([
      { reason: "UNKNOWN_TRANSACTIONS", kind: "deposit", chainId: CHAIN_ID },
    ]);
  });

  it("finds nothing missing where the endpoints keep the receipt no more, and the block is there", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    await world.untilQuiet(life);
    await world.clock.advanceAsync(86_400_000);
    world.chain.keepsReceiptsOf = 128;
    const { report } = await reconciler(world, life, { chains: chainOf(world) }).run();
    // The fake's history names no deposit.
    expect(report.differences.map(({ kind }) => kind)).toEqual(["MISSING_ENTRY"]);
    expect(report.unread).toEqual([]);
  });

  it("says of how many transactions it has not asked the chain, the newest being asked for first", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    await world.untilQuiet(life);
    const [row] = await world.rows(life);
    for (const [count, expected] of [
      [50, []],
      [53, [{ part: `chain ${CHAIN_ID}`, walletId: WALLET_ID, transactions: 3 }]],
    ] as const) {
      const rows = Array.from({ length: count }, () => row as TransferRow);
      life.book.page = async () => ({ rows, next: null });
      const changes = { chains: chainOf(world) };
      const { report } = await reconciler(world, life, changes).run();
      expect(report).toMatchObject({ uncompared: expected, uncomparedCount: count - 50, unreadCount: 0 });
    }
  });

  it("names wallets of which the two parties hold different epochs, and those that the store lost", async () => {
    const world = new TransferWorld();
    const one = { epoch: 2, isSettled: true };
    const parties = (): PartyView => ({
      wallets: [
        { ...one, walletId: "w-1", verdict: "settled" },
        { ...one, walletId: "w-2", verdict: "restore cosigner" },
        { ...one, walletId: "w-3", verdict: "settled", isSettled: false },
      ],
      lost: ["w-4"],
    });
    const { report } = await reconciler(world, await world.live(), { parties }).run();
    expect(report.differences.map(({ kind, walletId }) => `${kind} ${walletId}`)).toEqual([
      "WALLET_LOST w-4",
      "EPOCHS w-2",
    ]);
    expect(report.unread).toEqual([{ part: "co-signer", walletId: "w-3", code: "NOT_SETTLED" }]);
  });

  it("has not read a wallet that a restored store lost", async () => {
    const world = new TransferWorld();
    const parties = (): PartyView => ({ wallets: [], lost: ["w-4"] });
    const back: Restored = { reason: "FILE_AHEAD", sinceMs: 1, storeAtMs: 1 };
    const { report } = await reconciler(world, await world.live(), { parties, restored: () => back }).run();
    expect(report).toMatchObject({ unreadParts: ["co-signer"], unread: [{ walletId: "w-4", code: "WALLET_LOST" }] });
  });

  it("reads no history where the wallet has no key, and keeps what might have left there blocked", async () => {
    const world = new TransferWorld();
    world.listed.hasKey = false;
    const life = await world.live();
    expect((await reconciler(world, life, { entries: "down" }).run()).report.unread).toEqual([]);
    const back: Restored = { reason: "FILE_AHEAD", sinceMs: 1, storeAtMs: 1 };
    const { report, findings } = await reconciler(world, life, { restored: () => back }).run();
    expect(report.unread).toEqual([]);
    const block = { reason: "UNREAD", venue: "venuetwo", amounts: null };
    expect(findings.blocks).toMatchObject([
      { ...block, kind: "withdrawal" },
      { ...block, kind: "internal" },
    ]);
  });
});
