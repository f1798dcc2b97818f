/**
 * Many wallets at once: 40 that sign in the same moment, and 20,000 of them in the store. `WALLETS=100000` fills the store
 * as large as one is meant to be.
 */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { Owners } from "../../../domain/owner.js";
import { encodeJson } from "../../../storage/state-store.js";
import type { Party } from "../../mpc/base/parameters.js";
import { shareContext } from "../../mpc/state/share-record.js";
import type { Message } from "../../mpc/wire/header.js";
import { SESSIONS_MAX as COSIGNER_SESSIONS_MAX } from "../cosigner-host.js";
import { SESSIONS_MAX } from "../wallet-acts.js";
import { addressText, markedWalletId, walletIdText } from "../wallet-names.js";
import type { Wallet } from "../wallet-provider.js";
import { WALLET_NAMESPACE } from "../wallet-rows.js";
import { CustodyBench, madeRows } from "./custody-bench.js";
import { copyOfRows, type MemoryRows } from "./memory-party.js";
import { plainSealer } from "./plain-sealer.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

/** Of a record (docs/mpc.md, 5.4), behind what the plain sealer puts before it. */
const WALLET_AT = 32;
const SEALED_AT = 32;

const WALLETS = Number(process.env["WALLETS"] ?? 20_000);
/** One in so many belongs to an owner of few. */
const FEW_EVERY = 1_000;

let made: { readonly rows: [MemoryRows, MemoryRows]; readonly wallet: Wallet };

beforeAll(async () => {
  made = await madeRows();
});

function idOf(index: number): Buffer {
  const drawn = Buffer.alloc(16);
  drawn.writeUInt32BE(index);
  return Buffer.from(markedWalletId(drawn));
}

const ownerOf = (index: number): string | null => (index % FEW_EVERY === 0 ? "ow_few" : null);

/** The row of S that says whose it is. */
function put(rows: MemoryRows, index: number): void {
  const walletId = walletIdText(idOf(index));
  const address = addressText(Buffer.alloc(20, index).fill(idOf(index), 0, 4));
  const row = { walletId, ownerId: ownerOf(index), userId: `user ${index}`, address, createdAt: index };
  rows.beside.set(`${WALLET_NAMESPACE}/${walletId}`, encodeJson(row));
}

/** The wallet that was made, under another id: its record names the wallet, and nothing that is signed with does. */
function cloned(party: Party, rows: MemoryRows, index: number): void {
  const [wallet] = made.rows[party].wallets.values();
  const share = wallet?.shares.get(1);
  if (wallet === undefined || share === undefined) throw new Error("no wallet");
  const walletId = idOf(index);
  const plain = Buffer.from(share.record.subarray(SEALED_AT));
  plain.set(walletId, WALLET_AT);
  const name = { walletId, party, epoch: 1, publicKey: Buffer.from(share.publicKey) };
  const record = Buffer.from(plainSealer.seal(shareContext(name), plain));
  rows.wallets.set(walletId.toString("hex"), { row: wallet.row, shares: new Map([[1, { ...share, record }]]) });
}

describe("forty wallets that sign at once", () => {
  it("are all served, 32 at a time, and the co-signer refuses one more than that by itself", async () => {
    expect([SESSIONS_MAX, COSIGNER_SESSIONS_MAX]).toEqual([32, 32]);
    const rows: [MemoryRows, MemoryRows] = [copyOfRows(made.rows[0]), copyOfRows(made.rows[1])];
    const count = 40;
    for (let index = 1; index <= count; index++) {
      put(rows[0], index);
      for (const party of [0, 1] as const) cloned(party, rows[party], index);
    }
    const both = await new CustodyBench({}, rows).up();
    const openings: Message[] = [];
    both.link.fate = (message, name) => {
      if (name === "f1") openings.push(message);
      // C holds all that have begun until the rest is asked for.
      return name === "f2" ? { delayMs: 1_000 } : "pass";
    };
    const ids = Array.from({ length: count }, (_, at) => walletIdText(idOf(at + 1)));
    const calls = ids.map((id, at) => both.sign(id, `t:pay ${at}`));
    await both.quiet();
    const sent = (name: string) => both.link.log.filter((line) => line === name).length;
    expect([sent("0 f1"), both.cosigner.host.driver.sessionCount]).toEqual([32, 32]);
    expect(both.service.status().sessions.queued).toBe(8);
    // An F1 of a wallet that S keeps waiting.
    const first = openings[0];
    if (first === undefined) throw new Error("no opening");
    await both.link.inject(1, { header: { ...first.header, walletId: idOf(count) }, body: first.body });
    await both.quiet();
    expect([sent("1 abort"), both.cosigner.host.driver.sessionCount]).toEqual([1, 32]);
    const told = await Promise.all(calls);
    const digests = told.map((each) => (typeof each === "string" ? each : each.digest));
    expect(new Set(digests).size).toBe(count);
    for (const digest of digests) expect(digest).toMatch(/^0x/);
    expect(both.cosigner.host.driver.sessionCount).toBe(0);
  });
});

describe(`a store with ${WALLETS.toLocaleString("en-US")} wallets`, () => {
  it("finds each by every name, and lists page by page without a look at the rest", async () => {
    let lookCount = 0;
    class CountingOwners extends Owners {
      override reaches(ownerId: string | null, rowOwner: string | null | undefined): boolean {
        lookCount++;
        return super.reaches(ownerId, rowOwner);
      }
    }
    const rows: MemoryRows = { wallets: new Map(), beside: new Map(), backups: [] };
    const [wallet] = made.rows[0].wallets.values();
    if (wallet === undefined) throw new Error("no wallet");
    for (let index = 0; index < WALLETS; index++) {
      put(rows, index);
      rows.wallets.set(idOf(index).toString("hex"), wallet);
    }
    const both = new CustodyBench({ owners: new CountingOwners() });
    both.rows[0] = rows;
    await both.start(0);
    const few = FEW_EVERY * Math.floor((0.7 * WALLETS) / FEW_EVERY);
    const many = few + 777;
    const middle = walletIdText(idOf(many));
    for (const name of [middle, `user ${many}`, both.service.find(middle, null)?.address ?? ""])
      expect(both.service.find(name, null)?.walletId).toBe(middle);
    expect(both.service.find(`user ${few}`, null)).toBeNull();
    expect(both.service.find(`user ${few}`, "ow_few")?.walletId).toBe(walletIdText(idOf(few)));

    lookCount = 0;
    const page = both.service.list(null, middle, 100);
    expect([page.wallets.length, page.next]).toEqual([100, page.wallets.at(-1)?.walletId]);
    expect(page.wallets[0]?.walletId).toBe(walletIdText(idOf(many + 1)));
    // An owner of few among many.
    const ofFew = both.service.list("ow_few", walletIdText(idOf(5_000)), 10);
    expect(ofFew.wallets.map(({ userId }) => userId)).toEqual(
      Array.from({ length: 10 }, (_, at) => `user ${6_000 + at * FEW_EVERY}`),
    );
    expect(lookCount).toBeLessThan(1_000);

    const seen: string[] = [];
    for (let after: string | null = null, isMore = true; isMore; ) {
      const { wallets, next }: ReturnType<typeof both.service.list> = both.service.list(null, after, 1_000);
      seen.push(...wallets.map(({ walletId }) => walletId));
      [after, isMore] = [next, next !== null];
    }
    expect(seen.length).toBe(WALLETS - WALLETS / FEW_EVERY);
    expect(seen).toEqual([...new Set(seen)].sort());
    expect(lookCount).toBeLessThan(1_000);
  });
});
