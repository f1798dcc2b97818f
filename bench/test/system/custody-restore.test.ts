/**
 * What is lost, as both operators bring it back: the service and the co-signer as processes, and nothing but the commands
 * of docs/custody.md. A co-signer whose machine is gone, with its backups on a volume of their own; and the stores of
 * both.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  type CustodyBench,
  type CustodyPlace,
  editParty,
  madeWallet,
  onceServed,
  outcomeOf,
  walletIn,
} from "../support/custody-bench.js";
import { benchOfFile, MESSAGE, signerOf } from "../support/custody-file.js";

let bench: CustodyBench;
benchOfFile(17, (made) => {
  bench = made;
});

/** What the command prints; a failure shows what it says. */
async function unwind(place: CustodyPlace, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await bench.serve.unwind(place, ...args);
  expect([code, stderr], args.join(" ")).toEqual([0, ""]);
  return stdout;
}

async function pinOf(place: CustodyPlace, folder: string): Promise<string> {
  return (JSON.parse(await unwind(place, "custody", "pin", folder, "--json")) as { readonly pin: string }).pin;
}

/** A co-signer's folder of a new set-up, whose backup key is a new one, too; both sides pin what the other has now. */
async function replaceCosigner(place: CustodyPlace, backupDirectory: string): Promise<void> {
  const fresh = join(place.folder, "fresh");
  await unwind(place, "custody", "init", fresh);
  renameSync(join(fresh, "cosigner"), place.cosigner);
  const [ofService, ofCosigner] = [await pinOf(place, place.service), await pinOf(place, place.cosigner)];
  editParty(place.cosigner, (members) => ({ ...members, backupDirectory, peerPins: [ofService] }));
  editParty(place.service, (members) => ({ ...members, peerPins: [ofCosigner] }));
}

it("a co-signer that lost its folder is restored by the commands of both operators, and the address signs again", async () => {
  const place = bench.place("lost-cosigner");
  const backups = join(place.folder, "volume");
  mkdirSync(backups, { mode: 0o700 });
  editParty(place.cosigner, (members) => ({ ...members, backupDirectory: backups }));
  const before = await bench.cosignerProcess(place);
  const service = await bench.start(place, before.environment);
  const key = await bench.createKey(place);
  const { walletId, address } = await madeWallet(bench.caller(service, key), "alice");
  expect(readdirSync(backups)).toHaveLength(1);

  await bench.serve.stop(before.running, "SIGKILL");
  await bench.stop(service, "SIGKILL");
  rmSync(place.cosigner, { recursive: true });
  await replaceCosigner(place, backups);
  const after = await bench.cosignerProcess(place);
  const again = await bench.start(place, after.environment);
  const caller = bench.caller(again, key);
  // Until the parties have met, the co-signer is only away.
  const refused = await onceServed(() => caller.sign("alice", { message: MESSAGE }));
  expect(outcomeOf(refused)).toEqual([503, "RESTORED_STORE"]);
  // The service knows whose wallets there are, so others are made meanwhile.
  const bob = await madeWallet(caller, "bob");

  const cosigner = ["--cosigner", place.cosigner];
  const peer = join(place.folder, "peer.json");
  const ownBackups = join(place.service, "backups");
  writeFileSync(peer, await unwind(place, "wallets", "inventory", walletId, "--backups", ownBackups));
  const keyFile = join(place.folder, "custody", "offline", "cosigner-backup.key");
  const from = ["--backups", backups, "--key-file", keyFile, "--peer", peer];
  const restored = await unwind(place, "wallets", "restore", walletId, ...from, ...cosigner, "--json");
  expect(JSON.parse(restored)).toEqual({ walletId, epoch: 1, state: "RESTORED" });
  // Until there are new shares nothing is signed.
  expect((await caller.sign("alice", { message: MESSAGE })).status).toBe(503);

  const early = await bench.serve.unwind(place, "wallets", "refresh", walletId, "--after-restore");
  expect([early.code, early.stderr]).toEqual([3, expect.stringContaining("APPROVAL_NEEDED")]);
  await unwind(place, "wallets", "refresh", walletId, ...cosigner);
  const refreshed = await unwind(place, "wallets", "refresh", walletId, "--after-restore", "--json");
  expect(JSON.parse(refreshed)).toEqual({ walletId, epoch: 2, state: "ACTIVE" });
  expect(await signerOf(await onceServed(() => caller.sign("alice", { message: MESSAGE })))).toBe(address);
  const listed = (await caller.list()).map((wallet) => [wallet.userId, wallet.walletId, wallet.address, wallet.epoch]);
  expect(listed.sort()).toEqual([
    ["alice", walletId, address, 2],
    ["bob", bob.walletId, bob.address, 1],
  ]);
  expect(readdirSync(backups)).toHaveLength(3);

  // What they hold now is durable at both.
  await bench.serve.stop(after.running, "SIGKILL");
  await bench.stop(again, "SIGKILL");
  const last = await bench.cosignerProcess(place);
  const restarted = bench.caller(await bench.start(place, last.environment), key);
  expect(await signerOf(await onceServed(() => restarted.sign(address, { message: MESSAGE })))).toBe(address);
  expect(await signerOf(await onceServed(() => restarted.sign("bob", { message: MESSAGE })))).toBe(bob.address);
});

/** The file that one operator hands to the other. */
async function inventory(place: CustodyPlace, walletId: string, side: "service" | "cosigner"): Promise<string> {
  const file = join(place.folder, `${side}-inventory.json`);
  const from = ["--backups", join(place[side], "backups"), ...sideOf(place, side)];
  writeFileSync(file, await unwind(place, "wallets", "inventory", walletId, ...from));
  return file;
}

const sideOf = (place: CustodyPlace, side: "service" | "cosigner") =>
  side === "cosigner" ? ["--cosigner", place.cosigner] : [];

it("two parties that both lost their stores make no second wallet for anybody, until both are restored by commands", async () => {
  const place = bench.place("lost-stores");
  const first = await bench.start(place);
  const { ownerId, ...key } = await bench.createKey(place);
  const { walletId, address } = await madeWallet(bench.caller(first, { ownerId, ...key }), "alice");
  await bench.stop(first, "SIGTERM");
  for (const name of readdirSync(place.dataDir)) rmSync(join(place.dataDir, name), { recursive: true });
  rmSync(join(place.cosigner, "data"), { recursive: true });

  const service = await bench.start(place);
  // The keys were in the store, too: the owner gets another one.
  const again = await bench.serve.createKey(place, "--owner", ownerId, "--scope", "read,sign,admin");
  const caller = bench.caller(service, again);
  for (const user of ["alice", "bob"]) {
    const refused = await onceServed(() => caller.create(user));
    expect(outcomeOf(refused)).toEqual([503, "RESTORED_STORE"]);
    expect(refused.text).toContain("A store was restored from a backup; an operator must act first");
  }
  expect(outcomeOf(await caller.sign(address, { message: MESSAGE }))).toEqual([404, "WALLET_NOT_FOUND"]);
  const list = async (side: "service" | "cosigner") =>
    (await bench.wallets(place))[side].map((wallet) => `${wallet.walletId} ${wallet.state}`);
  expect([await list("service"), await list("cosigner")]).toEqual([[`${walletId} LOST`], []]);
  expect(/^unwind_wallets_lost (\d+)$/m.exec((await caller.ask("/metrics")).text)?.[1]).toBe("1");

  const peers = {
    cosigner: await inventory(place, walletId, "service"),
    service: await inventory(place, walletId, "cosigner"),
  };
  for (const side of ["cosigner", "service"] as const) {
    const keyFile = join(place.folder, "custody", "offline", `${side}-backup.key`);
    const from = ["--backups", join(place[side], "backups"), "--key-file", keyFile, "--peer", peers[side]];
    const restored = await unwind(place, "wallets", "restore", walletId, ...from, ...sideOf(place, side), "--json");
    expect(JSON.parse(restored)).toEqual({ walletId, epoch: 1, state: "RESTORED" });
  }
  expect(outcomeOf(await onceServed(() => caller.sign(address, { message: MESSAGE })))).toEqual([
    503,
    "RESTORED_STORE",
  ]);
  await unwind(place, "wallets", "refresh", walletId, ...sideOf(place, "cosigner"));
  const refreshed = await unwind(place, "wallets", "refresh", walletId, "--json");
  expect(JSON.parse(refreshed)).toEqual({ walletId, epoch: 2, state: "ACTIVE" });

  expect(await signerOf(await onceServed(() => caller.sign("alice", { message: MESSAGE })))).toBe(address);
  expect(outcomeOf(await onceServed(() => caller.create("alice")))).toEqual([409, "WALLET_EXISTS"]);
  expect(walletIn(await caller.find("alice"))).toMatchObject({ walletId, address, epoch: 2 });
  const bob = await madeWallet(caller, "bob");
  expect((await caller.list()).map((wallet) => wallet.walletId).sort()).toEqual([walletId, bob.walletId].sort());
});
