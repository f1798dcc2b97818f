/**
 * Wallets that lost a disk, or both, come back from real backup files, are refreshed by mode 2 and sign for the same
 * address; until then they sign nothing.
 */
import { createRequire } from "node:module";
import { recoverAddress } from "viem";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import type { Party } from "../mpc/base/parameters.js";
import { addressOf, decodePoint } from "../mpc/base/point.js";
import type { Effect } from "../mpc/sessions/effects.js";
import { activatedRow, decodeStateRow, encodeStateRow, newWalletRow, type StateRow } from "../mpc/state/state-row.js";
import {
  carry,
  classOf,
  digestOf,
  Killed,
  Node,
  plainSealer,
  reconnect,
  type Store,
  WALLET,
} from "../mpc/test/link.js";
import { seededRandom } from "../mpc/test/seeded-random.js";
import { openBackupFile, sealBackupFile } from "./backup-file.js";
import { makeBackupPair } from "./backup-key.js";
import { backupFileName, parseBackupFileName } from "./backup-name.js";
import { DurablePartyStore } from "./durable-party-store.js";
import type { OpenBackup } from "./open-backup.js";
import type { StoredParty } from "./party-store.js";
import { restoredParty } from "./restore.js";
import { inventoryOf, planRestore, type WalletInventory } from "./restore-plan.js";
import {
  encodeEpochRow,
  encodeShareRow,
  EPOCH_NAMESPACE,
  SHARE_NAMESPACE,
  shareKey,
  STATE_NAMESPACE,
  stateKey,
} from "./share-row.js";
import { CTR, openShare, OWNER, TAG } from "./test/backups.js";

vi.mock("../mpc/base/point.js", async (original) =>
  (await import("../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../mpc/base/point.js")>()),
);

const native = createRequire(import.meta.url)("secp256k1") as typeof import("secp256k1");
/** One wallet; in the long form one for each hundred, with our own products of points (mpc/test/memo.ts). */
const RUNS = Math.ceil(Number(process.env["MPC_RUNS"] ?? 1) / 100);
const SEEDS = Array.from({ length: RUNS }, (_, index) => `restore-${index + 1}`);
/** Two key generations of arithmetic on a machine that is busy with other things. */
const PATIENCE_MS = 600_000;
const PAIRS = [makeBackupPair(seededRandom("pair-0")), makeBackupPair(seededRandom("pair-1"))] as const;

type Folder = Map<string, Uint8Array>;
type Folders = readonly [Folder, Folder];
type Nodes = readonly [Node, Node];

let walletSeed: string;
/** At epoch 1, with the backups of both. */
let live: readonly [Store, Store];
let folders: Folders;
let address: string;

function node(party: Party, folder: Folder, store?: Store, seed = walletSeed): Node {
  const random = seededRandom(`${seed}/backup/${party}`);
  const owner = party === 0 ? OWNER : null;
  const made = new Node(party, seededRandom(seed), undefined, store, (share, ctr) =>
    sealBackupFile({ share, ctr, owner, key: PAIRS[party].publicKey, random }),
  );
  made.onEffect = (before, effect) => keep(folder, party, before, effect);
  return made;
}

function keep(folder: Folder, party: Party, before: boolean, effect: Effect): void {
  if (before || effect.kind !== "backup") return;
  const { epoch, tag, file } = effect;
  folder.set(backupFileName({ walletId: WALLET, party, epoch, tag }), file);
}

function copyOf({ row, shares }: Store): Store {
  return { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [] };
}

function lost(): Store {
  return { row: null, shares: new Map(), backups: [] };
}

function nodes(stores: readonly [Store, Store], of: Folders = copies(), seed = walletSeed): Nodes {
  return [node(0, of[0], copyOf(stores[0]), seed), node(1, of[1], copyOf(stores[1]), seed)];
}

function copies(): Folders {
  return [new Map(folders[0]), new Map(folders[1])];
}

function storedOf({ row, store }: Node): StoredParty | null {
  if (row === null) return null;
  const own = new Node(0, seededRandom(walletSeed), undefined, store);
  const epochs = [...store.shares.keys()].map((epoch) => ({ epoch, ...own.peek(epoch) }));
  return { walletId: WALLET, row, epochs };
}

function inventory(of: Node, folder: Folder): WalletInventory {
  const names = [...folder.keys()].map(parseBackupFileName).filter((name) => name !== null);
  return inventoryOf(WALLET, storedOf(of), names);
}

function openFile(party: Party, folder: Folder, epoch: number, tag: string): OpenBackup {
  for (const [text, file] of folder) {
    const name = parseBackupFileName(text);
    if (name?.epoch !== epoch || !tag.startsWith(Buffer.from(name.tag).toString("hex"))) continue;
    const opened = openBackupFile(name, file, PAIRS[party].privateKey);
    if (opened.ok) return opened.backup;
  }
  throw new Error("no such backup");
}

/** The node of this side after its operator restored it; its rows went through the store of a party. */
async function restored(pair: Nodes, of: Folders, party: Party): Promise<Node> {
  const [own, peer] = [pair[party], pair[party === 0 ? 1 : 0]];
  const stored = storedOf(own);
  const plan = planRestore(inventory(own, of[party]), inventory(peer, of[party === 0 ? 1 : 0]));
  if (plan.kind !== "restore") throw new Error(`no restore: ${JSON.stringify(plan)}`);
  const backup = openFile(party, of[party], plan.epoch, plan.tag);
  expect(backup.owner).toEqual(party === 0 ? OWNER : null);
  const result = restoredParty(plan, stored, backup, plainSealer);
  backup.wipe();
  if (!result.ok) throw new Error(result.problem);

  const rows = createMemoryStore();
  if (own.row !== null) await rows.put(STATE_NAMESPACE, stateKey(WALLET), encodeStateRow(own.row));
  for (const [epoch, record] of own.store.shares) {
    const share = { epoch, ...own.peek(epoch), record };
    await rows.put(SHARE_NAMESPACE, shareKey(WALLET, epoch), encodeShareRow(share));
    await rows.put(EPOCH_NAMESPACE, shareKey(WALLET, epoch), encodeEpochRow(share));
  }
  const store = new DurablePartyStore(rows);
  const beside = [{ namespace: "beside", key: "owner", value: Buffer.from("row") }];
  const { walletId, row, share: put, erase } = result.restored;
  await store.commit({ walletId, row, put, erase, beside });
  const [party0] = await store.load();
  const share = await store.share(WALLET, plan.epoch);
  if (party0 === undefined || share === null) throw new Error("nothing was restored");
  expect([party0.epochs.length, party0.row.status, await rows.get("beside", "owner")]).toEqual([
    ...[1, "restored", Uint8Array.from(Buffer.from("row"))],
  ]);
  const shares = new Map([[plan.epoch, Buffer.from(share.record)]]);
  return node(party, of[party], { row: encodeStateRow(party0.row), shares, backups: [] });
}

async function expectSigned([service, cosigner]: Nodes, text: string): Promise<void> {
  const intent = Buffer.from(`t:${text}`);
  carry([service, cosigner], service.sign(intent));
  expect([classOf(service.ends.at(-1)), classOf(cosigner.ends.at(-1))]).toEqual(["done", "done"]);
  const signature = service.released.at(-1);
  if (signature === undefined) throw new Error("no signature");
  const { bytes, recoveryId } = signature;
  const hex = `0x${bytes.toString("hex")}${recoveryId === 0 ? "1b" : "1c"}` as const;
  const digest = digestOf(intent);
  const hash = `0x${digest.toString("hex")}` as const;
  expect((await recoverAddress({ hash, signature: hex })).toLowerCase()).toBe(address);
  expect(native.ecdsaVerify(bytes, digest, native.ecdsaRecover(bytes, recoveryId, digest))).toBe(true);
}

function expectNothingSigned(pair: Nodes): void {
  const released = pair[0].released.length;
  carry(pair, pair[0].sign(Buffer.from("t:early")));
  expect(classOf(pair[0].ends.at(-1))).toBe("refused STATE");
  expect(pair[0].released.length).toBe(released);
}

/** From meeting again to the signature. */
async function expectHealed(pair: Nodes, epoch: number): Promise<void> {
  expect(reconnect(pair)).toBe("settled");
  expectNothingSigned(pair);
  // Without the word of C's operator nothing is refreshed.
  carry(pair, pair[0].refresh(2));
  expect(classOf(pair[0].ends.at(-1))).toBe("refused STATE");
  pair[1].approved = 2;
  carry(pair, pair[0].refresh(2));
  expect([classOf(pair[0].ends.at(-1)), classOf(pair[1].ends.at(-1))]).toEqual(["done", "done"]);
  for (const { row, store } of pair) {
    expect(row).toMatchObject({ status: "active", activeEpoch: epoch, keptEpoch: 0 });
    expect([...store.shares.keys()]).toEqual([epoch]);
  }
  await expectSigned(pair, "healed");
}

/** A refresh of mode 0 that is killed at S once its backup is written and before anything else leaves. */
function killedInRefresh(of: Folders): Nodes {
  const pair = nodes(live, of, `${walletSeed}/killed`);
  const keeping = pair[0].onEffect;
  pair[0].onEffect = (before, effect) => {
    keeping(before, effect);
    if (!before && effect.kind === "backup") throw new Killed();
  };
  expect(() => carry(pair, pair[0].refresh(0))).toThrow(Killed);
  for (const each of pair) each.restart();
  return nodes([pair[0].store, pair[1].store], of);
}

function makeWallet(seed: string): void {
  walletSeed = seed;
  folders = [new Map(), new Map()];
  const pair = [node(0, folders[0]), node(1, folders[1])] as const;
  carry(pair, pair[0].keygen());
  const key = pair[0].acknowledged;
  if (key === null) throw new Error("no key");
  address = `0x${addressOf(decodePoint(key, "P")).toString("hex")}`;
  live = [pair[0].store, pair[1].store];
  expect(folders.map((folder) => folder.size)).toEqual([1, 1]);
}

describe.each(SEEDS)("a wallet of seed %s", { timeout: PATIENCE_MS }, (seed) => {
  beforeAll(() => makeWallet(seed), PATIENCE_MS);

  it.each([0, 1] as const)(
    "comes back where the disk of party %i is lost, with the private key of that party alone",
    async (party) => {
      const of = copies();
      const before = nodes(party === 0 ? [lost(), live[1]] : [live[0], lost()], of);
      expect(reconnect(before)).toBe(party === 0 ? "restore service" : "restore cosigner");
      const other = before[party === 0 ? 1 : 0];
      expect(planRestore(inventory(other, of[party === 0 ? 1 : 0]), inventory(before[party], of[party]))).toEqual({
        ...{ kind: "keep", epoch: 1 },
      });
      const back = await restored(before, of, party);
      await expectHealed(party === 0 ? [back, before[1]] : [before[0], back], 2);
    },
  );

  it("comes back where both disks are lost", async () => {
    const of = copies();
    const before = nodes([lost(), lost()], of);
    await expectHealed([await restored(before, of, 0), await restored(before, of, 1)], 2);
  });

  it("comes back where an older store was put back at C", async () => {
    const of = copies();
    const pair = nodes(live, of);
    const older = copyOf(live[1]);
    carry(pair, pair[0].refresh(0));
    const before = nodes([pair[0].store, older], of);
    expect(reconnect(before)).toBe("restore the older");
    await expectHealed([before[0], await restored(before, of, 1)], 3);
  });

  it("comes back where both are lost at a crash inside a refresh: the orphan is left out", async () => {
    const of = copies();
    const killed = killedInRefresh(of);
    expect([of[0].size, of[1].size]).toEqual([2, 1]);
    expect(killed[0].row).toMatchObject({ preparedEpoch: 2 });
    const before = nodes([lost(), lost()], of);
    const pair = [await restored(before, of, 0), await restored(before, of, 1)] as const;
    expect(pair.map(({ row }) => row?.activeEpoch)).toEqual([1, 1]);
    await expectHealed(pair, 2);
  });

  it("comes back where S is lost inside a refresh: the epoch that C holds, and C's own attempt is dropped", async () => {
    const of = copies();
    const killed = killedInRefresh(of);
    const before = nodes([lost(), killed[1].store], of);
    await expectHealed([await restored(before, of, 0), before[1]], 2);
  });

  it("comes back where a dropped epoch left its file: of two files of one epoch the right one is taken", async () => {
    const of = copies();
    const killed = killedInRefresh(of);
    expect(reconnect(killed)).toBe("settled");
    carry(killed, killed[0].refresh(0));
    expect(killed.map(({ row }) => row?.activeEpoch)).toEqual([2, 2]);
    const numbers = [...of[0].keys()].map((text) => parseBackupFileName(text)?.epoch).sort();
    expect([numbers, of[1].size]).toEqual([[1, 2, 2], 2]);
    const tag = killed[1].peek(2).tag;
    const before = nodes([lost(), lost()], of);
    const pair = [await restored(before, of, 0), await restored(before, of, 1)] as const;
    for (const each of pair) expect(each.peek(2).tag).toEqual(tag);
    await expectHealed(pair, 3);
  });

  it("has no OT state once it is restored, so it signs nothing even where its row says that it may", async () => {
    const of = copies();
    for (const party of [0, 1] as const) {
      const before = nodes(party === 0 ? [lost(), live[1]] : [live[0], lost()], of);
      const back = await restored(before, of, party);
      const { row } = back;
      if (row === null) throw new Error("no row");
      back.row = { ...row, status: "active" } satisfies StateRow;
      const pair = party === 0 ? ([back, before[1]] as const) : ([before[0], back] as const);
      carry(pair, pair[0].sign(Buffer.from("t:forced")));
      expect(classOf(back.ends.at(-1))).toBe("fault");
      expect(pair[0].released).toEqual([]);
    }
  });
});

describe("a restored wallet", { timeout: PATIENCE_MS }, () => {
  it("replaces no row of the same or a higher epoch, is no other backup, and takes no ctr from nowhere", async () => {
    const given = { share: openShare(0), ctr: CTR, owner: OWNER, key: PAIRS[0].publicKey };
    const file = sealBackupFile({ ...given, random: seededRandom("file") });
    const opened = openBackupFile({ walletId: WALLET, party: 0, epoch: 7, tag: TAG }, file, PAIRS[0].privateKey);
    if (!opened.ok) throw new Error(opened.reason);
    const { backup } = opened;
    const plan = { kind: "restore" as const, epoch: 7, tag: backup.tag.toString("hex"), ctr: 0n };
    const active = activatedRow(newWalletRow(), false);
    const stored = { walletId: WALLET, row: active, epochs: [] };
    const problem = (more: Partial<typeof plan>, row: StateRow | null = null) => {
      const rows = row === null ? null : { ...stored, row };
      const result = restoredParty({ ...plan, ...more }, rows, backup, plainSealer);
      return result.ok ? "restored" : result.problem;
    };
    const older = { ...active, activeEpoch: 6 };
    expect(problem({}, { ...active, activeEpoch: 7 })).toBe("HIGHER_EPOCH");
    expect(problem({}, { ...active, activeEpoch: 8 })).toBe("HIGHER_EPOCH");
    expect(problem({}, { ...older, stage: "prepared", preparedEpoch: 7 })).toBe("HIGHER_EPOCH");
    expect(problem({}, older)).toBe("restored");
    expect(problem({ epoch: 6 })).toBe("OTHER_BACKUP");
    expect(problem({ tag: "00".repeat(8) })).toBe("OTHER_BACKUP");
    expect(problem({ tag: plan.tag.slice(0, 16) })).toBe("restored");
    expect(problem({ ctr: backup.ctr + 2n ** 21n })).toBe("restored");
    expect(problem({ ctr: backup.ctr + 2n ** 21n + 1n })).toBe("CTR");
    const made = restoredParty(
      { ...plan, ctr: CTR + 9n },
      { ...stored, row: { ...older, ctr: CTR + 7n } },
      backup,
      plainSealer,
    );
    expect(made.ok && made.restored.row.ctr).toBe(CTR + 9n);
    expect(made.ok && decodeStateRow(encodeStateRow(made.restored.row))).toEqual(made.ok && made.restored.row);
  });
});
