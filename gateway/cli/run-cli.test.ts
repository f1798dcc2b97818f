import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { openLmdbStore } from "../../engine/storage/lmdb-store.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { AdminUnreachable } from "../admin/admin-client.js";
import { AdminServer } from "../admin/admin-server.js";
import { directAdmin } from "../admin/direct-admin.js";
import { AdminOperations } from "../admin/operations.js";
import type { AdminReply } from "../admin/protocol.js";
import { memoryPorts } from "../admin/test/admin-doubles.js";
import type { ReconcileAdmin, ReconcileState } from "../admin/reconcile-port.js";
import { KeyTable } from "../auth/key-table.js";
import { StoredLocalRows } from "../auth/local-rows.js";
import type { AdminConfig } from "../app/admin-config.js";
import type { OpenAdministration } from "../app/administration.js";
import { reachAdmin } from "./reach-admin.js";
import { runCli } from "./run-cli.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of undo.splice(0).reverse()) await end();
});

function world() {
  const { keys, audit, ports } = memoryPorts();
  const operations = new AdminOperations(ports, silentLogger);
  return { keys, audit, reach: async () => directAdmin(operations, async () => {}) };
}

async function run(args: string, reach: Parameters<typeof runCli>[1]["reach"], out?: (text: string) => Promise<void>) {
  let stdout = "";
  let stderr = "";
  const write = async (text: string) => {
    stdout += text;
  };
  const code = await runCli(
    args.split(" ").filter((word) => word !== ""),
    {
      version: "0.1.0",
      out: out ?? write,
      error: (text) => {
        stderr += text;
      },
      reach,
      untilStopped: async () => {},
    },
  );
  return { code, stdout, stderr };
}

const refusing = (reply: Partial<Extract<AdminReply, { ok: false }>>) => async () => ({
  call: async (): Promise<AdminReply> => ({ id: null, ok: false, code: "X", message: "no", details: {}, ...reply }),
  close: async () => {},
});

describe("the command line", () => {
  it("makes a key and prints its secret once, as text or as JSON", async () => {
    const { keys, reach } = world();
    const text = await run("keys create --scope read,trade --owner desk --label bot --ip 10.0.0.0/8 --ip ::1", reach);
    expect(text).toMatchObject({ code: 0, stderr: "" });
    expect(text.stdout).toContain("secret              sk_of_pk_1\n");
    expect(keys.wishes[0]).toEqual({
      ownerId: "desk",
      label: "bot",
      scopes: ["read", "trade"],
      ips: ["10.0.0.0/8", "::1"],
      adoptLocal: false,
    });
    const json = await run("keys create --scope admin --adopt-local --json", reach);
    expect(JSON.parse(json.stdout)).toMatchObject({ key: { keyId: "pk_2" }, secret: "sk_of_pk_2" });
    expect(json.stdout.trimEnd()).not.toContain("\n");
    expect(keys.wishes[1]).toMatchObject({ ownerId: null, adoptLocal: true, scopes: ["admin"] });
  });

  it("lists, rotates and revokes keys, and shows no secret where none is new", async () => {
    const { reach } = world();
    await run("keys create --scope read", reach);
    const list = await run("keys list", reach);
    expect(list.stdout).toMatch(/^key +owner .*\npk_1 +owner-pk_1 +read +any +live/);
    expect(list.stdout).not.toContain("sk_");
    expect(JSON.parse((await run("keys list --json", reach)).stdout)).toMatchObject({ keys: [{ keyId: "pk_1" }] });
    const rotated = await run("keys rotate pk_1 --overlap 90s --json", reach);
    expect(JSON.parse(rotated.stdout)).toMatchObject({
      key: { formerSecretUntilMs: 90_001 },
      secret: "sk_again_of_pk_1",
    });
    expect((await run("keys revoke pk_1", reach)).stdout).toContain("revoked");
  });

  it("pages the record of acts", async () => {
    const { audit, reach } = world();
    for (const subject of ["a", "b", "c"])
      await audit.append({ who: "admin", what: "key.create", subject, outcome: "done", details: { n: 1 } });
    expect((await run("audit --limit 2", reach)).stdout).toMatch(
      / c +done +n=1\n[^\n]* b +done +n=1\n\nmore: --cursor 2\n$/,
    );
    expect(JSON.parse((await run("audit --cursor 2 --json", reach)).stdout)).toMatchObject({
      rows: [{ subject: "a" }],
    });
  });

  it("shows a label's control characters as such", async () => {
    const { keys, reach } = world();
    await keys.create({ ownerId: "o", label: "x\u001b[2J\u202ey", scopes: ["read"], ips: [], adoptLocal: false });
    const { stdout } = await run("keys list", reach);
    expect(stdout).toContain("x?[2J?y");
    expect(stdout).not.toContain("\u001b");
  });

  it.each([
    ["", 2, "Usage: unwind"],
    ["keys", 2, "Usage: unwind keys"],
    ["keys drop", 2, "unknown command"],
    ["keys create", 2, "required option '--scope <scopes>'"],
    ["keys create --scope read, ", 2, "single commas"],
    ["keys create --scope everything", 2, "scopes must name at least one of read, trade, transfer, sign, admin"],
    ["keys create --scope read --secret s", 2, "unknown option '--secret'"],
    ["keys rotate", 2, "missing required argument 'key'"],
    ["keys rotate pk_1 --overlap soon", 2, "Use a time such as"],
    ["keys rotate pk_1 --overlap 8d", 2, "overlapMs must be a whole number"],
    ["keys revoke pk_9", 3, "NOT_FOUND"],
    ["audit --limit 0", 2, "Use a whole number above 0"],
    ["audit --limit 501", 2, "limit must be a whole number from 1 to 500"],
    ["seal rotate --to-file kek", 2, "nextKeyFile must be an absolute path"],
    ["seal rotate", 3, "NOT_AVAILABLE"],
    ["tls reload", 3, "NOT_AVAILABLE"],
    ["wallets", 2, "Usage: unwind wallets"],
    ["wallets list", 3, "NOT_AVAILABLE"],
    ["wallets refresh", 2, "missing required argument 'walletId'"],
    ["wallets refresh x", 2, "walletId must be the UUID of a wallet"],
    ["wallets unfreeze x", 2, "walletId must be the UUID of a wallet"],
    ["wallets inventory x", 2, "required option '--backups <folder>'"],
    ["wallets inventory x --backups /", 2, "walletId must be the UUID of a wallet"],
    ["wallets restore x --backups / --key-file k", 2, "required option '--peer <file>'"],
    ["wallets restore x --backups / --key-file k --peer /nowhere", 2, "is not what `unwind wallets inventory` printed"],
  ])("ends `unwind %s` with %i and says why on stderr", async (args, code, text) => {
    const { reach } = world();
    const result = await run(args, reach);
    expect(result).toMatchObject({ code, stdout: "" });
    expect(result.stderr).toContain(text);
  });

  it.each([
    ["--help", "Exit codes: 0 done"],
    ["keys --help", "revoke"],
    ["keys create --help", "--adopt-local"],
    ["keys rotate --help", "--overlap <time>"],
    ["audit --help", "--cursor"],
    ["seal rotate --help", "--to-file"],
    ["tls reload --help", "--json"],
    ["wallets --help", "unfreeze"],
    ["wallets refresh --help", "--after-restore"],
    ["wallets restore --help", "--key-file"],
    ["custody --help", "backup-key"],
    ["custody init --help", "--service-backup-key"],
    ["cosigner --help", "--log-level"],
    ["seal rotate --help", "--cosigner"],
    ["status --help", "DATA_DIR"],
    ["--version", "0.1.0"],
  ])("answers `unwind %s` on stdout and asks nobody", async (args, text) => {
    const result = await run(args, () => Promise.reject(new Error("asked")));
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout).toContain(text);
  });

  it.each([
    ["INTERNAL", 1],
    ["OUTCOME_UNKNOWN", 1],
    ["KEY_REVOKED", 3],
    ["STORE_UNAVAILABLE", 3],
    ["SHUTTING_DOWN", 4],
    ["TOO_MANY_CONNECTIONS", 4],
  ])("ends a refusal %s with %i, as JSON where that is asked for", async (code, exit) => {
    const result = await run("keys list --json", refusing({ code, details: { reason: "R" } }));
    expect(result).toMatchObject({ code: exit, stdout: "" });
    expect(JSON.parse(result.stderr)).toEqual({ error: { code, message: "no", details: { reason: "R" } } });
  });

  it("calls a lost reply unknown, and names the key whose secret could not be written", async () => {
    const lost = await run("keys create --scope read", async () => ({
      call: () => Promise.reject(new AdminUnreachable("lost", "the reply was lost")),
      close: async () => {},
    }));
    expect(lost).toMatchObject({ code: 1 });
    expect(lost.stderr).toContain("may have been done");
    const closed = await run("keys create --scope read", world().reach, () => Promise.reject(new Error("EPIPE")));
    expect(closed).toMatchObject({ code: 1 });
    expect(closed.stderr).toContain("the secret of pk_1 is lost");
    expect(closed.stderr).not.toContain("sk_");
  });
});

describe("the way to the administration", () => {
  function place() {
    const folder = mkdtempSync(join(tmpdir(), "unwind-reach-"));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    return join(folder, "data");
  }

  function parts(dataDir: string, clock = createSystemClock()) {
    let openedCount = 0;
    const openAdministration: OpenAdministration = async () => {
      openedCount++;
      const { keys, audit } = memoryPorts();
      const localRows = await StoredLocalRows.open(createMemoryStore());
      const nothingSealed = {
        sealRotation: null,
        watchVenueKeys() {},
        ring: null,
        kekId: null,
        table: new KeyTable(),
        localRows,
      };
      return { keys, audit, ...nothingSealed, close: async () => {} };
    };
    const config: AdminConfig = { dataDir, adminSocket: "", authMode: "signed", kek: null, formerKek: null };
    const checkStateFile = async () => {};
    return {
      opened: () => openedCount,
      reach: { config, keyProblems: [], clock, openAdministration, checkStateFile },
    };
  }

  it("is the store itself while no service runs, and nobody opens it meanwhile", async () => {
    const dataDir = place();
    const { reach, opened } = parts(dataDir);
    const admin = await reachAdmin(reach, true);
    expect(opened()).toBe(1);
    expect(await admin.call("status", {})).toMatchObject({ ok: true, result: { running: false } });
    expect(() => openLmdbStore({ directory: dataDir, clock: createSystemClock() })).toThrow(
      expect.objectContaining({ context: expect.objectContaining({ reason: "LOCKED" }) }),
    );
    await admin.close();
    await openLmdbStore({ directory: dataDir, clock: createSystemClock() }).close();
  });

  it("is the socket while a service has the store", async () => {
    const dataDir = place();
    const clock = createSystemClock();
    const store = openLmdbStore({ directory: dataDir, clock });
    undo.push(() => store.close());
    const operations = new AdminOperations(memoryPorts().ports, silentLogger);
    const server = new AdminServer({ path: join(dataDir, "admin.sock"), operations, clock, logger: silentLogger });
    await server.start();
    undo.push(() => server.stop(1_000));
    const { reach, opened } = parts(dataDir);
    const admin = await reachAdmin(reach, false);
    expect(await admin.call("status", {})).toMatchObject({ ok: true, result: { running: true } });
    await admin.close();
    expect(opened()).toBe(0);
  });

  it("is none where a process has the store and no socket: the store is not opened", async () => {
    const dataDir = place();
    const store = openLmdbStore({ directory: dataDir, clock: createSystemClock() });
    undo.push(() => store.close());
    // Each look at this clock is a second later, so that no test waits.
    let seconds = 0;
    const clock = {
      ...createSystemClock(),
      monoNs: () => seconds++ * 1e9,
      setTimer: (run: () => void) => {
        setImmediate(run);
        return { id: 0 };
      },
      clearTimer: () => {},
    };
    const { reach, opened } = parts(dataDir, clock);
    await expect(reachAdmin(reach, true)).rejects.toMatchObject({
      exitCode: 4,
      code: expect.stringMatching(/SERVICE_/),
    });
    expect(opened()).toBe(0);
  });

  it("begins no store for a command that only looks, nor one with keys that are wrong", async () => {
    const dataDir = place();
    mkdirSync(dataDir, { mode: 0o700 });
    const { reach, opened } = parts(dataDir);
    await expect(reachAdmin(reach, false)).rejects.toMatchObject({ exitCode: 4, code: "NO_STORE" });
    await expect(reachAdmin({ ...reach, keyProblems: ["KEK_FILE x"] }, true)).rejects.toMatchObject({ exitCode: 2 });
    expect(opened()).toBe(0);
  });
});

describe("unwind reconcile", () => {
  const REPORT = {
    ...{ startedAtMs: 1_790_000_000_000, endedAtMs: 1_790_000_001_000, sinceMs: 0, wallets: 1, compared: 3 },
    ...{ restored: null, differences: [], differenceCounts: {}, unread: [], unreadCount: 0, unreadParts: [] },
    ...{ uncompared: [], uncomparedCount: 0 },
  };
  const difference = {
    ...{ kind: "UNKNOWN_ENTRY", walletId: "w-1", part: "venuetwo", transferId: null, atMs: 1_790_000_000_000 },
    text: "withdrawal of 7 USDC\u001b[2J",
  };
  const unread = { part: "chain 56", walletId: "w-1", code: "TIMEOUT" };

  function reconciling(last: object, problem: string | null = null) {
    const asked: unknown[] = [];
    let left = 2;
    const state = (isRunning: boolean) => ({ isRunning, last, problem, restored: null }) as unknown as ReconcileState;
    const reconcile: ReconcileAdmin = {
      begin() {
        asked.push("begin");
        return state(true);
      },
      view: () => state(asked.length > 0 && --left > 0),
      async release(force) {
        asked.push(force);
        return { blocks: 2, rows: 1 };
      },
    };
    const operations = new AdminOperations(memoryPorts({ reconcile }).ports, silentLogger);
    return { asked, reach: async () => directAdmin(operations, async () => {}) };
  }

  it("waits for the comparison that it begins, and is 0 where all is the same", async () => {
    const { asked, reach } = reconciling(REPORT);
    const { code, stdout, stderr } = await run("reconcile", reach);
    expect([code, stderr, asked]).toEqual([0, "", ["begin"]]);
    expect(stdout).toMatch(/^compared +3$/m);
  });

  it("says what it has not compared, however much is the same", async () => {
    const uncompared = [{ part: "chain 56", walletId: "w-1", transactions: 12 }];
    const { code, stdout } = await run("reconcile", reconciling({ ...REPORT, uncompared, uncomparedCount: 12 }).reach);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^not compared +12$/m);
    expect(stdout).toMatch(/^chain 56 +w-1 +12$/m);
  });

  it("is 5 where something differs, and 6 where something was not read, whatever else differs", async () => {
    const differing = { ...REPORT, differences: [difference] };
    const differs = await run("reconcile", reconciling(differing).reach);
    expect(differs).toMatchObject({ code: 5, stderr: expect.stringContaining("DIFFERENCES") });
    expect(differs.stdout).toContain("withdrawal of 7 USDC?[2J");
    const partly = { ...differing, unread: [unread], unreadCount: 1, unreadParts: ["chain 56"] };
    const json = await run("reconcile --json", reconciling(partly).reach);
    expect(json.code).toBe(6);
    expect(JSON.parse(json.stdout)).toMatchObject({ last: { unreadParts: ["chain 56"] } });
    expect(JSON.parse(json.stderr)).toMatchObject({
      error: { code: "PARTS_UNREAD", details: { parts: ["chain 56"] } },
    });
    expect((await run("reconcile", reconciling(REPORT, "LEDGER_BROKEN").reach)).code).toBe(1);
  });

  it("releases with the parts that are given up, and needs a running service", async () => {
    const { asked, reach } = reconciling(REPORT);
    const { code, stdout } = await run("reconcile --release --force venueone --force venuetwo", reach);
    expect([code, asked]).toEqual([0, [["venueone", "venuetwo"]]]);
    expect(stdout).toContain("open again");
    expect(await run("reconcile", world().reach)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("NOT_AVAILABLE"),
    });
  });
});
