/** Creation and signing of both hosts over memory: in order, in turn, and what a caller is told. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { Owners } from "../../../domain/owner.js";
import { secp256k1 } from "@noble/curves/secp256k1";
import type { Wallet } from "../wallet-provider.js";
import { CustodyBench, flipped, madeRows, walletOf } from "./custody-bench.js";
import { walletRowsOf } from "./made-wallet.js";
import type { MemoryRows } from "./memory-party.js";
import { addressOf, decodePoint } from "../../mpc/base/point.js";

vi.mock("../../mpc/base/point.js", async (original) =>
  (await import("../../mpc/test/memo.js")).memoizedPoints(await original<typeof import("../../mpc/base/point.js")>()),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let made: { readonly rows: [MemoryRows, MemoryRows]; readonly wallet: Wallet };
let id: string;
const bench = (): Promise<CustodyBench> => new CustodyBench({}, made.rows).up();

beforeAll(async () => {
  made = await madeRows();
  id = made.wallet.walletId;
});

describe("creation", () => {
  it("is acknowledged with rows, owner and backup durable at both, and a stranger does not see it", async () => {
    const both = await bench();
    expect(made.wallet).toMatchObject({ userId: "ada", ownerId: null, state: "ACTIVE", epoch: 1 });
    expect(made.wallet.walletId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const point = decodePoint(Buffer.from(made.wallet.publicKey.slice(2), "hex"), "P");
    expect(made.wallet.address.toLowerCase()).toBe(`0x${addressOf(point).toString("hex")}`);
    for (const party of [0, 1] as const) {
      expect(both.rows[party].wallets.size).toBe(1);
      expect(both.rows[party].backups.length).toBe(1);
    }
    for (const name of ["ada", id, made.wallet.address, made.wallet.address.toUpperCase().replace("0X", "0x")])
      expect(both.service.find(name, null)).toEqual(made.wallet);
    for (const name of ["ada", id, made.wallet.address]) expect(both.service.find(name, "eve")).toBeNull();
    expect(both.service.list(null, null, 10)).toEqual({ wallets: [made.wallet], next: null });
    expect(both.service.list(null, id, 10).wallets).toEqual([]);
    expect(both.service.list("eve", null, 10).wallets).toEqual([]);
  });

  it("of a user id that has a wallet is refused with its id, and another owner may use the text", async () => {
    const both = await bench();
    await expect(both.service.create("ada", null)).rejects.toMatchObject({
      code: "WALLET_EXISTS",
      context: { walletId: id },
    });
    both.seed = "host-2";
    const other = walletOf(await both.create("ada", "eve"));
    expect(other.walletId).not.toBe(id);
    expect(both.service.find("ada", "eve")).toEqual(other);
    expect(both.service.find("ada", null)).toEqual(made.wallet);
    const ids = [id, other.walletId].sort();
    const adopted = new CustodyBench({ owners: new Owners({ adoptedBy: () => "eve" }) }, both.copyOfRows());
    await adopted.up();
    const first = adopted.service.list("eve", null, 1);
    expect([first.wallets[0]?.walletId, first.next]).toEqual([ids[0], ids[0]]);
    expect(adopted.service.list("eve", first.next, 1)).toMatchObject({ wallets: [{ walletId: ids[1] }], next: null });
    expect(both.owners).toContain("0 ada");
  });

  it("that the adopter and those without a key both have made of one user id are two wallets, and stay so", async () => {
    const both = await bench();
    both.seed = "host-2";
    const own = walletOf(await both.create("ada", "eve"));
    const owners = new Owners({ adoptedBy: () => "eve" });
    const after = await new CustodyBench({ owners }, both.copyOfRows()).up();
    // The user id is the adopter's own wallet; every other name of the adopted one leads to it.
    expect(after.service.find("ada", "eve")).toEqual(own);
    for (const name of [id, made.wallet.address]) expect(after.service.find(name, "eve")).toEqual(made.wallet);
    expect(after.service.find("ada", null)).toEqual(made.wallet);
    const listed = after.service.list("eve", null, 10).wallets.map(({ walletId }) => walletId);
    expect(listed).toEqual([id, own.walletId].sort());
    for (const walletId of listed) expect(await after.sign(walletId)).toMatchObject({ digest: expect.any(String) });
    for (const [ownerId, walletId] of [
      ["eve", own.walletId],
      [null, id],
    ] as const)
      await expect(after.service.create("ada", ownerId)).rejects.toMatchObject({
        code: "WALLET_EXISTS",
        context: { walletId },
      });
    expect(after.rows.map(({ wallets }) => wallets.size)).toEqual([2, 2]);
  });

  it("without an owner, of a user id that the adopter has, makes no second one, and does not name it", async () => {
    const owners = new Owners({ adoptedBy: () => "eve" });
    const both = await new CustodyBench({ owners }).up();
    const { walletId } = walletOf(await both.create("ada", "eve"));
    await expect(both.service.create("ada", null)).rejects.toMatchObject({ code: "WALLET_EXISTS", context: {} });
    const named = both.service.create("ada", null).catch((error: { context: unknown }) => error.context);
    expect(await named).toEqual({});
    await expect(both.service.create("ada", "eve")).rejects.toMatchObject({ context: { walletId } });
    expect(both.service.list("eve", null, 10).wallets.length).toBe(1);
    // At once, too.
    const told = await Promise.all([both.create("bea", null), both.create("bea", "eve")]);
    expect(told.filter((each) => each === "WALLET_EXISTS").length).toBe(1);
    expect(both.service.list("eve", null, 10).wallets.length).toBe(2);
  });

  it("that is asked for several times at once makes one wallet", async () => {
    const both = await new CustodyBench().up();
    const told = await Promise.all([both.create(), both.create(), both.create()]);
    expect(told.filter((each) => typeof each !== "string").length).toBe(1);
    expect(told.filter((each) => each === "WALLET_EXISTS").length).toBe(2);
    for (const rows of both.rows) expect(rows.wallets.size).toBe(1);
  });

  it("runs twice at a time, sixteen wait, and one more is refused", async () => {
    const both = await new CustodyBench().up();
    both.link.fate = (_message, name) => (name === "kg2" ? "drop" : "pass");
    const calls = Array.from({ length: 19 }, (_, at) => both.create(`user ${at}`));
    await both.quiet();
    expect(both.link.log.filter((line) => line === "0 kg1").length).toBe(2);
    expect(both.service.status().sessions.queued).toBe(16);
    expect(await calls[18]).toBe("SIGNER_UNAVAILABLE");
    const told = await Promise.all(calls);
    expect(new Set(told)).toEqual(new Set(["SIGNER_UNAVAILABLE"]));
    expect(both.service.status()).toMatchObject({ problem: null, wallets: 0, sessions: { queued: 0 } });
    for (const rows of both.rows) expect([rows.wallets.size, rows.beside.size]).toEqual([0, 0]);
  });
});

describe("signing", () => {
  it("gives a signature that recovers to the address", async () => {
    const both = await bench();
    const signed = await both.sign(id);
    if (typeof signed === "string") throw new Error(signed);
    const bytes = Buffer.from(signed.signature.slice(2), "hex");
    const recovery = (bytes.at(64) ?? 0) - 27;
    const found = secp256k1.Signature.fromCompact(bytes.subarray(0, 64)).addRecoveryBit(recovery);
    expect(found.recoverPublicKey(signed.digest.slice(2)).toHex()).toBe(made.wallet.publicKey.slice(2));
    expect(both.service.status()).toMatchObject({ problem: null, wallets: 1, sessions: { signed: 1 } });
    expect(both.rows[1].beside.size).toBe(1);
  });

  it("of fifty callers at once is in order, one at a time, and sixteen wait", async () => {
    const both = await bench();
    const calls = Array.from({ length: 50 }, (_, at) => both.sign(id, `t:pay ${at}`));
    await both.quiet();
    const told = await Promise.all(calls);
    const signed = told.flatMap((each, at) => (typeof each === "string" ? [] : [at]));
    expect(signed).toEqual(Array.from({ length: 17 }, (_, at) => at));
    expect(told.filter((each) => each === "SIGNER_UNAVAILABLE").length).toBe(33);
    // Two sessions of a wallet never overlap: F1 to F6, seventeen times.
    const flights = both.link.log.map((line) => line.slice(2)).filter((name) => /^f\d$/.test(name));
    expect(flights.join(" ")).toBe(Array<string>(17).fill("f1 f2 f3 f4 f5 f6").join(" "));
    expect(both.judged.length).toBe(17);
  });

  it("is refused by the co-signer's policy, with the name of the rule, and not tried again", async () => {
    const both = await bench();
    await expect(both.signing(id, "t:no")).rejects.toMatchObject({
      code: "DESTINATION_NOT_ALLOWED",
      context: { rule: "rule 9" },
    });
    expect(await both.sign(id, "t:bad")).toBe("POLICY_REFUSED");
    expect(both.link.log.filter((line) => line === "0 f1").length).toBe(2);
    expect(both.eventsOf("refused")).toEqual(["1 POLICY", "0 POLICY", "1 POLICY", "0 POLICY"]);
    expect(await both.sign(id)).toMatchObject({ digest: expect.any(String) });
  });

  it("without a connection is refused at once, and an unknown wallet is not found", async () => {
    const both = await bench();
    both.link.cut();
    await expect(both.signing(id)).rejects.toMatchObject({ code: "SIGNER_UNAVAILABLE" });
    expect(both.service.status().problem).toBe("UNREACHABLE");
    const strange = "00000000-0000-4000-8000-000000000000";
    await expect(both.signing(strange)).rejects.toMatchObject({ code: "WALLET_NOT_FOUND" });
  });
});

describe("a stop in order", () => {
  it("writes what is explained, answers whoever waits, and begins nothing more", async () => {
    const both = await bench();
    expect(await both.sign(id)).toMatchObject({ digest: expect.any(String) });
    const openAborts = (party: 0 | 1) => {
      const [wallet] = both.rows[party].wallets.values();
      return wallet?.row.readUInt8(30);
    };
    // Counted ahead, taken back in memory.
    expect([openAborts(0), openAborts(1)]).toEqual([1, 1]);
    both.link.fate = (_message, name) => (name === "f4" ? "drop" : "pass");
    const call = both.signing(id);
    call.catch(() => {});
    await both.quiet();
    await Promise.all([both.service.stop(), both.cosigner.stop()]);
    expect([openAborts(0), openAborts(1)]).toEqual([0, 0]);
    expect(await both.told(call)).toBe("SIGNER_UNAVAILABLE");
    expect(both.service.status().problem).toBe("STOPPED");
    expect(await both.sign(id)).toBe("SIGNER_UNAVAILABLE");
  });
});

describe("a store or a folder that takes nothing", () => {
  it("signs nothing, says STORE, and goes on by itself when it works again", async () => {
    for (const party of [0, 1] as const) {
      const both = await bench();
      both.parties[party].isFailing = true;
      expect(await both.sign(id)).toBe("SIGNER_UNAVAILABLE");
      if (party === 0) expect(both.service.status().problem).toBe("STORE");
      expect(both.link.log.filter((line) => line === (party === 0 ? "0 f1" : "1 f2"))).toEqual([]);
      expect(both.eventsOf("alert")).toContain(`${party} STORE_FAILED`);
      both.parties[party].isFailing = false;
      await both.pass(1_100);
      expect(await both.sign(id)).toMatchObject({ digest: expect.any(String) });
    }
  });

  it("gives no wallet where a backup cannot be written, and leaves nothing of it", async () => {
    for (const party of [0, 1] as const) {
      const both = await new CustodyBench().up();
      both.parties[party].isBackupFailing = true;
      expect(typeof (await both.create())).toBe("string");
      expect(both.eventsOf("alert")).toContain(`${party} BACKUP_FAILED`);
      await both.pass(11_000);
      for (const rows of both.rows) expect([rows.wallets.size, walletRowsOf(rows)]).toEqual([0, []]);
      both.parties[party].isBackupFailing = false;
      expect(await both.create()).toMatchObject({ userId: "ada" });
    }
  });
});

describe("a greeting", () => {
  const cases = [
    ["SAME_KEK", { kekId: Buffer.alloc(8, 1) }],
    ["SAME_BACKUP_KEY", { backupKeyId: Buffer.alloc(32, 1) }],
  ] as const;
  it.each(cases)("of two parties with one key is %s: no session starts", async (problem, identity) => {
    const both = new CustodyBench({ identities: { 0: identity, 1: identity } }, made.rows);
    await both.up();
    expect(both.service.status().problem).toBe(problem);
    expect([both.link.isUp, both.link.dropCount > 0]).toEqual([false, true]);
    expect(await both.sign(id)).toBe("SIGNER_UNAVAILABLE");
    expect(both.link.log.some((line) => line.endsWith("f1"))).toBe(false);
  });

  it("of another suite or the same party is refused", async () => {
    for (const [at, problem] of [
      [0, "SUITE"],
      [32, "SAME_PARTY"],
    ] as const) {
      const both = new CustodyBench({}, made.rows);
      both.link.fate = (message, name, from) => {
        if (name !== "hello" || from !== 1) return "pass";
        const body = Buffer.from(message.body);
        body.writeUInt8(at === 32 ? 0 : body.readUInt8(at) ^ 1, at);
        return [{ header: message.header, body }];
      };
      await both.up();
      expect(both.service.status().problem).toBe(problem);
    }
  });
});

/** One bit of the last byte of each such message. */
function falsify(both: CustodyBench, falsified: string): void {
  both.link.fate = (message, name) => (name === falsified ? [flipped(message, message.body.byteLength - 1)] : "pass");
}

describe("a creation that fails", () => {
  // kg10: a hash that cannot be, a violation. f4: a share of the test signature, a cheat that freezes nothing.
  it.each(["kg10", "f4"])("by a false %s is a creation's failure to its caller, and leaves no wallet", async (name) => {
    const both = await new CustodyBench().up();
    falsify(both, name);
    expect(await both.create()).toBe("FAILED_TO_CREATE_WALLET");
    expect(both.service.list(null, null, 10).wallets).toEqual([]);
    both.link.fate = () => "pass";
    await both.meet();
    expect(both.rows.map(({ wallets }) => wallets.size)).toEqual([0, 0]);
    expect(await both.create()).toMatchObject({ userId: "ada" });
  });

  it("by a fault of this side's thread is one, too", async () => {
    const both = await new CustodyBench().up();
    both.parties[0].isThreadGone = true;
    expect(await both.create()).toBe("FAILED_TO_CREATE_WALLET");
  });
});

describe("violations", () => {
  it("of one wallet, three in ten minutes, refuse its sessions for ten, with an alert", async () => {
    const both = await bench();
    both.link.fate = (message, name) => {
      if (name !== "f6") return "pass";
      const body = Buffer.from(message.body);
      body.writeUInt8(body.readUInt8(0) ^ 1, 0);
      return [{ header: message.header, body }];
    };
    for (let at = 0; at < 3; at++) expect(await both.sign(id)).toBe("FAILED_TO_SIGN");
    expect(both.eventsOf("alert")).toContain("0 VIOLATIONS");
    both.link.fate = () => "pass";
    const sent = both.link.log.length;
    expect(await both.sign(id)).toBe("SIGNER_UNAVAILABLE");
    expect(both.link.log.length).toBe(sent);
    both.clock.advance(599_000);
    expect(await both.sign(id)).toBe("SIGNER_UNAVAILABLE");
    await both.pass(1_000);
    expect(await both.sign(id)).toMatchObject({ digest: expect.any(String) });
  });
});
