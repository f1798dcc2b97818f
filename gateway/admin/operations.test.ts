import { describe, expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { AdminOperations } from "./operations.js";
import type { WalletAdmin } from "./wallet-admin.js";
import { AdminRefusal, decodeReply, decodeRequest, refusalOf } from "./protocol.js";
import { memoryPorts } from "./test/admin-doubles.js";

const REPORT = { kekId: "k2", isDone: true, rewrappedRows: 3, leftRows: 0, foreignRows: 0 };
const WALLET = "0f0e0d0c-0b0a-4908-8706-050403020100";
const TAGGED = "7.0011223344556677";

function make(changes: Parameters<typeof memoryPorts>[0] = {}) {
  const { keys, audit, ports } = memoryPorts(changes);
  return { keys, audit, operations: new AdminOperations(ports, silentLogger) };
}

describe("the administrative operations", () => {
  it("create, list, rotate and revoke keys", async () => {
    const { keys, operations } = make();
    const wish = { ownerId: "desk", label: "bot", scopes: ["trade", "read"], ips: ["10.0.0.0/8"], adoptLocal: true };
    expect(await operations.run("keys.create", wish)).toMatchObject({ secret: "sk_of_pk_1", key: { ownerId: "desk" } });
    // In the order of SCOPES, so that a key reads alike however it was asked for.
    expect(keys.wishes).toEqual([{ ...wish, scopes: ["read", "trade"] }]);
    expect(await operations.run("keys.list", {})).toEqual({ keys: keys.keys });
    expect(await operations.run("keys.rotate", { keyId: "pk_1" })).toMatchObject({
      key: { formerSecretUntilMs: 86_400_001 },
    });
    expect(await operations.run("keys.revoke", { keyId: "pk_1" })).toMatchObject({ revokedAtMs: 2 });
  });

  it.each([
    ["keys.create", {}, ["scopes"]],
    ["keys.create", { scopes: ["read", "everything"] }, ["scopes"]],
    ["keys.create", { scopes: ["read", "read"] }, ["scopes"]],
    ["keys.create", { scopes: "read" }, ["scopes", "scopes"]],
    ["keys.create", { scopes: ["read"], owner: "x", adoptLocal: "yes" }, ["adoptLocal", "owner"]],
    ["keys.create", { scopes: ["read"], ips: Array.from({ length: 65 }, () => "::1") }, ["ips"]],
    ["keys.create", { scopes: ["read"], label: "x".repeat(257) }, ["label"]],
    ["keys.list", { all: true }, ["all"]],
    ["keys.rotate", { overlapMs: -1 }, ["keyId", "overlapMs"]],
    ["keys.rotate", { keyId: "pk_1", overlapMs: 1.5 }, ["overlapMs"]],
    ["keys.rotate", { keyId: "pk_1", overlapMs: 7 * 86_400_000 + 1 }, ["overlapMs"]],
    ["keys.revoke", { keyId: 5 }, ["keyId"]],
    ["audit.page", { limit: 501, cursor: "" }, ["limit", "cursor"]],
    ["status", { x: 1 }, ["x"]],
    ["seal.rotate", { nextKeyFile: "kek.next" }, ["nextKeyFile"]],
    ["wallets.list", { all: true }, ["all"]],
    ["wallets.refresh", { walletId: "ada", afterRestore: 1 }, ["walletId", "afterRestore"]],
    ["wallets.unfreeze", {}, ["walletId"]],
    ["wallets.inventory", { walletId: WALLET, backups: ["7.zz"] }, ["backups"]],
    ["wallets.inventory", { walletId: WALLET, backups: Array.from({ length: 257 }, () => TAGGED) }, ["backups"]],
    ["wallets.restoreKey", { walletId: WALLET, backups: [TAGGED], peer: { walletId: WALLET } }, ["peer"]],
    ["wallets.restore", { walletId: WALLET, backup: "AA" }, ["backup"]],
    ["wallets.restore", { walletId: WALLET }, ["backup"]],
    ["wallets.restore", { walletId: WALLET, backup: "AAAA".repeat(2_732) }, ["backup", "backup"]],
  ])("%s refuses the parameters %j by name, and does nothing", async (op, params, paths) => {
    const { keys, operations } = make();
    await expect(operations.run(op, params)).rejects.toMatchObject({
      code: "INVALID_PARAMETERS",
      context: { fields: paths.map((path) => expect.objectContaining({ path })) },
    });
    expect(keys.wishes).toEqual([]);
  });

  it("are known by name only, also where an object would answer to it", async () => {
    const { operations } = make();
    for (const op of ["keys.drop", "", "constructor", "__proto__"])
      await expect(operations.run(op, {})).rejects.toMatchObject({ code: "UNKNOWN_OPERATION" });
  });

  it("say what is missing where a part is not there", async () => {
    const { operations } = make();
    await expect(operations.run("seal.rotate", {})).rejects.toMatchObject({ code: "NOT_AVAILABLE" });
    await expect(operations.run("tls.reload", {})).rejects.toMatchObject({ code: "NOT_AVAILABLE" });
  });

  it("leave an audit row of a reload and a rotation, whatever their end", async () => {
    let ends = 0;
    const { audit, operations } = make({
      sealRotation: { rotate: async () => REPORT },
      tls: {
        reload: async () => {
          if (ends++ > 0) throw new AdminRefusal("TLS_RELOAD_FAILED", "no", { reason: "MISMATCH" });
          return { serial: "02", subject: "CN=x", validFromMs: 1, validUntilMs: 2, changed: true };
        },
      },
    });
    await operations.run("seal.rotate", {});
    await operations.run("tls.reload", {});
    await expect(operations.run("tls.reload", {})).rejects.toMatchObject({ code: "TLS_RELOAD_FAILED" });
    expect(audit.rows.map(({ what, subject, outcome }) => [what, subject, outcome])).toEqual([
      ["seal.rotate", "k2", "done"],
      ["tls.reload", "02", "done"],
      ["tls.reload", "", "refused"],
    ]);
  });

  it("act on wallets, with a row for each act and each refusal that names the wallet", async () => {
    const asked: unknown[] = [];
    const report = (state: string) => ({ walletId: WALLET, epoch: 2, state });
    const wallets: WalletAdmin = {
      list: async () => [],
      refresh: async (...args) => {
        asked.push(args);
        return report("ACTIVE");
      },
      unfreeze: () => Promise.reject(new AdminRefusal("WALLET_STATE", "no")),
      inventory: async (walletId, backups) => {
        asked.push([walletId, backups]);
        return { walletId, active: null, prepared: null, ctr: "0", epochs: [] };
      },
      beginRestore: async () => ({ kind: "keep", epoch: 1 }),
      restore: async (_walletId, file) => {
        asked.push(Buffer.from(file));
        return report("RESTORED");
      },
    };
    const { audit, operations } = make({ wallets });
    expect(await operations.run("wallets.list", {})).toEqual({ wallets: [] });
    await operations.run("wallets.refresh", { walletId: WALLET.toUpperCase() });
    await operations.run("wallets.refresh", { walletId: WALLET, afterRestore: true });
    await expect(operations.run("wallets.unfreeze", { walletId: WALLET })).rejects.toMatchObject({
      code: "WALLET_STATE",
    });
    await operations.run("wallets.inventory", { walletId: WALLET, backups: [TAGGED] });
    await operations.run("wallets.restore", { walletId: WALLET, backup: "AAEC" });
    const tag = Buffer.from("0011223344556677", "hex");
    expect(asked).toEqual([
      ...[
        [WALLET, false],
        [WALLET, true],
        [WALLET, [{ epoch: 7, tag }]],
      ],
      Buffer.of(0, 1, 2),
    ]);
    expect(audit.rows.map(({ what, subject, outcome }) => [what, subject, outcome])).toEqual([
      ["wallet.refresh", WALLET, "done"],
      ["wallet.refresh", WALLET, "done"],
      ["wallet.unfreeze", WALLET, "refused"],
      ["wallet.restore", WALLET, "done"],
    ]);
  });

  it("keep a result whose audit row could not be written, and log that", async () => {
    const logged: string[] = [];
    const { ports } = memoryPorts({
      audit: { append: () => Promise.reject(new Error("full")), page: async () => ({ rows: [], nextCursor: null }) },
      sealRotation: { rotate: async () => REPORT },
    });
    const operations = new AdminOperations(ports, { ...silentLogger, error: (event) => logged.push(event) });
    expect(await operations.run("seal.rotate", {})).toMatchObject({ kekId: "k2" });
    expect(logged).toEqual(["admin.audit_failed"]);
  });
});

describe("a line of the admin socket", () => {
  it.each([
    "",
    "[]",
    "null",
    "5",
    "{",
    '{"op":1}',
    '{"op":"x","id":1}',
    '{"op":"x","params":[]}',
    '{"op":"x","more":1}',
  ])("is refused where it is %s, without its text", (line) => {
    expect(() => decodeRequest(line)).toThrow(expect.objectContaining({ code: "BAD_REQUEST" }));
  });

  it("never shows the text of a failure that is a bug", () => {
    expect(JSON.stringify(refusalOf("1", new Error("sk_secret")))).not.toContain("sk_secret");
  });

  it("repeats no key that was given where none belongs, in its text and its details", async () => {
    const key = `sk_${"A".repeat(43)}`;
    for (const [op, params] of [
      ["keys.list", { [key]: 1 }],
      ["keys.create", { scopes: ["read"], [key]: 1 }],
    ] as const) {
      const refused = await make()
        .operations.run(op, params)
        .catch((error: unknown) => error);
      expect(refusalOf("1", refused)).toMatchObject({ code: "INVALID_PARAMETERS", details: { fields: [{}] } });
      expect(JSON.stringify(refusalOf("1", refused))).not.toContain(key);
    }
    const refusal = refusalOf("1", new AdminRefusal("NOT_AVAILABLE", `no ${key}`, { path: `/${key}` }));
    expect(JSON.stringify(refusal)).not.toContain(key);
  });

  it("is a reply only with an outcome", () => {
    for (const line of ['{"id":"1"}', '{"ok":false}', '{"ok":"yes"}', '{"id":5,"ok":true}'])
      expect(() => decodeReply(line)).toThrow(AdminRefusal);
  });
});
