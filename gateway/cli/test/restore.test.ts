/**
 * A wallet whose party lost its disk comes back by the commands of its operators alone: inventory, restore, approval,
 * refresh. Real folders, stores and backups; until the refresh nothing is signed.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { recoverMessageAddress } from "viem";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../../../engine/custody/mpc/base/parameters.js";
import type { Wallet } from "../../../engine/custody/provider/wallet-provider.js";
import { WalletWorld } from "./wallet-world.js";

vi.mock("../../../engine/custody/mpc/base/point.js", async (original) =>
  (await import("../../../engine/custody/mpc/test/memo.js")).memoizedPoints(
    await original<typeof import("../../../engine/custody/mpc/base/point.js")>(),
  ),
);

// Key generations on a machine that is busy with other things.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let world: WalletWorld;
let wallet: Wallet;

beforeAll(async () => {
  world = new WalletWorld();
  await world.up();
  wallet = await world.service.create("ada", null);
});

afterAll(async () => {
  await world.end();
});

function sign() {
  return world.service.sign(wallet.walletId, "caller", { kind: "message", bytes: Buffer.from("hello") });
}

async function expectSigned() {
  const { signature } = await sign();
  const signer = await recoverMessageAddress({ message: "hello", signature: signature as `0x${string}` });
  expect(signer).toBe(wallet.address);
}

/** The file that one operator hands to the other. */
async function inventory(of: Party): Promise<string> {
  const side = of === 1 ? " C" : "";
  const told = await world.cli(`wallets inventory ${wallet.walletId} --backups ${world.backups(of)}${side}`);
  expect(told).toMatchObject({ code: 0, stderr: "" });
  const file = world.path(`inventory.${of}.json`);
  writeFileSync(file, told.stdout);
  return file;
}

function restore(party: Party, peerFile: string, keyFile = world.keyFile(party)) {
  const side = party === 1 ? " C" : "";
  return world.cli(
    `wallets restore ${wallet.walletId} --backups ${world.backups(party)} --key-file ${keyFile} --peer ${peerFile} --json${side}`,
  );
}

async function lose(party: Party): Promise<void> {
  await world.down();
  world.lose(party);
  await world.up();
}

/** Cells of a table without its head. */
function rowsIn({ stdout }: { readonly stdout: string }): readonly (readonly string[])[] {
  return stdout
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/));
}

describe("a lost store", () => {
  it("of the service: no wallet is made beside it, it is restored, refreshed with approval, and signs", async () => {
    await expectSigned();
    await lose(0);
    await expect(world.service.create("bea", null)).rejects.toMatchObject({ code: "RESTORED_STORE" });
    expect(rowsIn(await world.cli("wallets list"))).toEqual([[wallet.walletId, "-", "-", "-", "LOST", "-"]]);
    expect((await world.cli("wallets list C")).stdout).toContain(wallet.walletId);
    const unknown = await world.cli(`wallets refresh ${wallet.walletId}`);
    expect(unknown).toMatchObject({ code: 3, stderr: expect.stringContaining("unwind wallets restore") });

    const peer = await inventory(1);
    const wrongKey = await restore(0, peer, world.keyFile(1));
    expect(wrongKey).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("another key") });
    const before = world.audit.rows.length;
    const done = await restore(0, peer);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(done.stdout)).toEqual({ walletId: wallet.walletId, epoch: 1, state: "RESTORED" });
    expect(world.audit.rows.slice(before)).toMatchObject([{ who: "admin", what: "wallet.restore", outcome: "done" }]);
    await expect(sign()).rejects.toMatchObject({ code: "RESTORED_STORE" });

    const early = await world.cli(`wallets refresh ${wallet.walletId}`);
    expect(early).toMatchObject({ code: 3, stderr: expect.stringContaining("--cosigner <folder>") });
    expect(early.stderr).toContain("APPROVAL_NEEDED");
    const approved = await world.cli(`wallets refresh ${wallet.walletId} C --json`);
    expect(JSON.parse(approved.stdout)).toEqual({ walletId: wallet.walletId, epoch: 2, state: "APPROVED" });
    const refreshed = await world.cli(`wallets refresh ${wallet.walletId} --json`);
    expect(JSON.parse(refreshed.stdout)).toEqual({ walletId: wallet.walletId, epoch: 2, state: "ACTIVE" });
    expect(world.service.find("ada", null)).toMatchObject({ address: wallet.address, epoch: 2, state: "ACTIVE" });
    await expectSigned();
  });

  it("of the co-signer comes back the same way, and the service is told that the other side was restored", async () => {
    const before = world.service.find("ada", null)?.epoch ?? 0;
    await lose(1);
    await expect(sign()).rejects.toMatchObject({ code: "RESTORED_STORE" });
    const rowsBefore = world.audit.rows.length;
    const done = await restore(1, await inventory(0));
    expect(JSON.parse(done.stdout)).toMatchObject({ epoch: before, state: "RESTORED" });
    expect(world.audit.rows.slice(rowsBefore)).toMatchObject([{ who: "admin", subject: wallet.walletId }]);
    expect((await world.cli(`wallets refresh ${wallet.walletId} C`)).code).toBe(0);
    const refreshed = await world.cli(`wallets refresh ${wallet.walletId} --after-restore --json`);
    expect(JSON.parse(refreshed.stdout)).toMatchObject({ epoch: before + 1, state: "ACTIVE" });
    await expectSigned();
  });

  it("of both is named by the backups: no wallet is made, each side restores, and the address signs", async () => {
    const before = world.service.find("ada", null)?.epoch ?? 0;
    await world.down();
    for (const party of [0, 1] as const) world.lose(party);
    await world.up();
    for (const user of ["ada", "bea"])
      await expect(world.service.create(user, null)).rejects.toMatchObject({ code: "RESTORED_STORE" });
    expect(rowsIn(await world.cli("wallets list"))).toEqual([[wallet.walletId, "-", "-", "-", "LOST", "-"]]);
    expect(await world.cli("wallets list C")).toMatchObject({ stdout: "no wallets\n" });
    const [ofService, ofCosigner] = [await inventory(0), await inventory(1)];
    for (const [party, peer] of [
      [1, ofService],
      [0, ofCosigner],
    ] as const)
      expect(JSON.parse((await restore(party, peer)).stdout)).toMatchObject({ epoch: before, state: "RESTORED" });
    expect((await world.cli(`wallets refresh ${wallet.walletId} C`)).code).toBe(0);
    expect((await world.cli(`wallets refresh ${wallet.walletId}`)).code).toBe(0);
    await expectSigned();
    await expect(world.service.create("ada", null)).rejects.toMatchObject({ code: "WALLET_EXISTS" });
  });

  it("that is none is left as it is", async () => {
    const epoch = world.service.find("ada", null)?.epoch;
    const kept = await restore(0, await inventory(1));
    expect(JSON.parse(kept.stdout)).toEqual({ walletId: wallet.walletId, epoch, state: "KEPT" });
    await expectSigned();
  });
});

describe("what the commands write", () => {
  it("has no private key and no share in it, and an inventory is public", async () => {
    const peer = readFileSync(await inventory(0), "utf8");
    expect(Object.keys(JSON.parse(peer) as object).sort()).toEqual(["active", "ctr", "epochs", "prepared", "walletId"]);
    const rows = JSON.stringify(world.audit.rows);
    for (const party of [0, 1] as const) {
      const key = readFileSync(world.keyFile(party));
      expect(key.byteLength).toBe(32);
      for (const text of [key.toString("hex"), key.toString("base64")]) expect(rows + peer).not.toContain(text);
    }
  });

  it("is a refusal in words where the wallet is unknown or its state allows nothing", async () => {
    const strange = "00000000-0000-4000-8000-000000000000";
    for (const side of ["", " C"]) {
      const unfreeze = await world.cli(`wallets unfreeze ${wallet.walletId}${side}`);
      expect(unfreeze).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("WALLET_STATE") });
      expect(unfreeze.stderr).toContain("The wallet is ACTIVE");
      expect(await world.cli(`wallets unfreeze ${strange}${side}`)).toMatchObject({
        code: 3,
        stderr: expect.stringContaining("WALLET_UNKNOWN"),
      });
    }
  });
});
