/** The desk over both signing parties: the rows that an act leaves at the service, and what a repeated request gets. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Party } from "../../engine/custody/mpc/base/parameters.js";
import { systemRandom } from "../../engine/custody/mpc/base/random.js";
import { abortMessage } from "../../engine/custody/provider/host-messages.js";
import { storedAs } from "../../engine/custody/provider/test/made-wallet.js";
import { plainSealer } from "../../engine/custody/provider/test/plain-sealer.js";
import { CREATION_NAMESPACE, CustodyBench, madeRows } from "../../engine/custody/provider/test/custody-bench.js";
import type { MemoryRows } from "../../engine/custody/provider/test/memory-party.js";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { Owners } from "../../engine/domain/owner.js";
import { createKeyedHash } from "../../engine/storage/server-secret.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { KeyedRequests } from "../accounts/keyed-requests.js";
import { type WalletCall, WalletDesk } from "../accounts/wallet-desk.js";
import { AdminOperations } from "../admin/operations.js";
import type { AdminRefusal } from "../admin/protocol.js";
import { memoryPorts } from "../admin/test/admin-doubles.js";
import { WalletRestores } from "../admin/wallet-restores.js";
import { serviceWallets } from "../app/custody-admin.js";
import type { AuditLog, AuditRow } from "../auth/audit.js";
import { CustodyRecord } from "../custody/custody-record.js";

vi.mock("../../engine/custody/mpc/base/point.js", async (original) =>
  (await import("../../engine/custody/mpc/test/memo.js")).memoizedPoints(
    await original<typeof import("../../engine/custody/mpc/base/point.js")>(),
  ),
);

// A ceiling for a machine that has other work.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let made: { readonly rows: [MemoryRows, MemoryRows]; readonly wallet: Wallet };

beforeAll(async () => {
  made = await madeRows();
  const { beside } = made.rows[0];
  for (const key of beside.keys()) if (key.startsWith(`${CREATION_NAMESPACE}/`)) beside.delete(key);
});

type Row = Omit<AuditRow, "atMs">;

/** The service as it is wired: the events of its party and the acts of its desk go into one audit log. */
function deskOver(
  both: CustodyBench,
  store = createMemoryStore(),
): { readonly desk: WalletDesk; readonly append: AuditLog["append"]; rows(party?: Party): Promise<readonly Row[]> } {
  const appended: Row[] = [];
  const append = async (row: Row): Promise<void> => void appended.push(row);
  const desk = new WalletDesk({
    ...{ provider: both.service, owners: new Owners(), logger: silentLogger, appendAct: append },
    keyed: new KeyedRequests({
      ...{ owners: new Owners(), store, clock: both.clock, hash: createKeyedHash(Buffer.alloc(32, 7)) },
      ...{ logger: silentLogger, randomIds: { randomHex128: () => "1".repeat(32) } },
    }),
  });
  return {
    desk,
    append,
    /** What the acts have left, and at the service, or at C, the events of the party. */
    async rows(party: Party = 0) {
      const found: Row[] = party === 0 ? [...creationRows(both), ...appended] : [];
      const record = new CustodyRecord({
        audit: { append: async (row) => void found.push(row) },
        logger: silentLogger,
      });
      for (const { party: from, ...event } of both.events) if (from === party) record.emit(party, event);
      return found;
    },
  };
}

/** Those that are in the service's store since the commit that made a wallet, or gave it up. */
function creationRows({ rows: [{ beside }] }: CustodyBench): Row[] {
  const written = [...beside].filter(([key]) => key.startsWith(`${CREATION_NAMESPACE}/`));
  return written.map(([, value]) => JSON.parse(Buffer.from(value).toString("utf8")) as Row);
}

/** The operator's socket of the service, over the same audit log. */
function operatorOf(both: CustodyBench, append: AuditLog["append"]): AdminOperations {
  const { audit } = memoryPorts();
  const restores = new WalletRestores({
    ...{ party: 0, sealer: plainSealer, random: systemRandom, clock: both.clock },
    ...{ stored: () => null, restore: async () => {} },
  });
  const wallets = serviceWallets(both.service, restores);
  const page = (limit: number, cursor: string | null) => audit.page(limit, cursor);
  return new AdminOperations(memoryPorts({ wallets, audit: { append, page } }).ports, silentLogger);
}

const call = (changes: Partial<WalletCall> = {}): WalletCall => ({
  ...{ ownerId: null, keyId: "pk_alice", requestId: "r-1", idempotencyKey: "k" },
  boundBytes: Buffer.from("POST /api/wallets\n{}"),
  ...changes,
});
const message = (text: string) => ({ kind: "message", bytes: Buffer.from(text) }) as const;

describe("a refused signature", () => {
  it("leaves one row at the service: that of the act, with who asked", async () => {
    const both = await new CustodyBench({}, made.rows).up();
    const { desk, rows } = deskOver(both);
    const asked = desk.sign(made.wallet, message("t:no"), call({ idempotencyKey: null }));
    expect(await both.told(asked)).toBe("DESTINATION_NOT_ALLOWED");
    expect(await rows()).toEqual([
      {
        ...{ who: "pk_alice", what: "wallet.sign", subject: made.wallet.walletId, outcome: "refused" },
        details: { kind: "message", code: "DESTINATION_NOT_ALLOWED", rule: "rule 9" },
      },
    ]);
  });

  it("leaves one of a creation that the co-signer refuses, too, and one of an operator's refresh", async () => {
    const both = await new CustodyBench({}, made.rows).up();
    const { desk, append, rows } = deskOver(both);
    const { walletId } = made.wallet;
    both.seed = "host-2";
    both.link.fate = (_message, name) => (name === "state" || name === "stateReply" ? "drop" : "pass");
    both.cosigner.host.exchange.ask(both.cosigner.host.rows.byId(walletId) ?? never());
    expect(await both.told(desk.create("bea", call({ idempotencyKey: null })))).toBe("SIGNER_UNAVAILABLE");
    expect((await rows()).map(({ what, outcome }) => [what, outcome])).toEqual([["wallet.create", "failed"]]);
    const refresh = operatorOf(both, append).run("wallets.refresh", { walletId });
    expect(await both.told(refresh.catch(({ code }: AdminRefusal) => code))).toBe("SIGNER_UNAVAILABLE");
    expect((await rows()).map(({ what, outcome }) => [what, outcome])).toEqual([
      ["wallet.create", "failed"],
      ["wallet.refresh", "refused"],
    ]);
  });
});

describe("what is done", () => {
  it("leaves one row of a creation at the service: that of the act, with who asked", async () => {
    const both = await new CustodyBench().up();
    const { desk, rows } = deskOver(both);
    const wallet = await both.told(desk.create("ada", call()));
    expect(await rows()).toEqual([
      {
        ...{ who: "pk_alice", what: "wallet.create", outcome: "done", details: {} },
        subject: typeof wallet === "string" ? never() : wallet.value.walletId,
      },
    ]);
  });

  it("leaves one row of an operator's refresh at the service, and one at the co-signer", async () => {
    const both = await new CustodyBench({}, made.rows).up();
    const { append, rows } = deskOver(both);
    const { walletId } = made.wallet;
    expect(await both.told(operatorOf(both, append).run("wallets.refresh", { walletId }))).toMatchObject({ epoch: 2 });
    const row = { subject: walletId, outcome: "done" };
    expect(await rows()).toEqual([
      { ...row, who: "admin", what: "wallet.refresh", details: { epoch: 2, state: "ACTIVE" } },
    ]);
    expect(await rows(1)).toEqual([
      { ...row, who: "cosigner", what: "wallet.refreshed", details: { epoch: 2, mode: 0 } },
    ]);
  });

  it("leaves one row of a refresh that the service began by itself, done or refused", async () => {
    const due = storedAs(made.rows[0], { status: "refreshDue" });
    const both = await new CustodyBench({}, [due, made.rows[1]]).up();
    const { rows } = deskOver(both);
    await both.pass(1_000);
    expect(await rows()).toMatchObject([{ who: "service", what: "wallet.refreshed", details: { epoch: 2, mode: 0 } }]);

    const refused = new CustodyBench({}, [due, made.rows[1]]);
    refused.link.fate = (message, name) => {
      if (name !== "rf1") return "pass";
      void refused.link.inject(0, abortMessage(1, message.header, { class: "refused", code: "STATE", detail: 0 }));
      return "drop";
    };
    await refused.up();
    expect(await deskOver(refused).rows()).toMatchObject([
      { who: "service", what: "wallet.refused", outcome: "refused", details: { code: "STATE" } },
    ]);
  });
});

describe("a creation that was answered 503 and becomes a wallet later", () => {
  it("is that wallet to the same request with the same key, and 409 to every other", async () => {
    const both = await new CustodyBench().up();
    const { desk } = deskOver(both);
    both.link.fate = (_message, name) => (name === "activate" ? "cut" : "pass");
    const first = desk.create("ada", call());
    await expect(refusal(both, first)).resolves.toMatchObject({
      code: "SIGNER_UNAVAILABLE",
      context: { isUnsettled: true },
    });
    // The key keeps its request.
    const other = desk.create("ada", call({ boundBytes: Buffer.from("another body") }));
    expect(await both.told(other)).toBe("IDEMPOTENCY_MISMATCH");
    both.link.fate = () => "pass";
    await both.meet();
    const [wallet] = both.service.list(null, null, 10).wallets;
    expect(wallet).toMatchObject({ userId: "ada", state: "ACTIVE" });
    expect(await both.told(desk.create("ada", call()))).toEqual({ value: wallet, replayed: true });
    expect(await both.told(desk.create("ada", call()))).toEqual({ value: wallet, replayed: true });
    expect(await both.told(desk.create("ada", call({ idempotencyKey: null })))).toBe("WALLET_EXISTS");
    for (const rows of both.rows) expect(rows.wallets.size).toBe(1);
  });

  it("is in doubt to the same request until the parties have met", async () => {
    const both = await new CustodyBench().up();
    const store = createMemoryStore();
    const { desk } = deskOver(both, store);
    // S has prepared it and dies; C activates on the word that S had decided, which its store has lost.
    const prepared: [MemoryRows, MemoryRows][] = [];
    both.link.fate = (_message, name) => {
      if (name === "f5") prepared.push(both.copyOfRows());
      return name === "activated" ? "cut" : "pass";
    };
    expect(await both.told(desk.create("ada", call()))).toBe("SIGNER_UNAVAILABLE");
    const back = new CustodyBench({}, [prepared[0]?.[0] ?? never(), both.rows[1]]);
    await back.start(0);
    await back.start(1);
    const again = deskOver(back, store).desk;
    for (let at = 0; at < 2; at++)
      await expect(refusal(back, again.create("ada", call()))).resolves.toMatchObject({
        ...{ code: "SIGNER_UNAVAILABLE", context: { isUnsettled: true } },
      });
    await back.meet();
    const [wallet] = back.service.list(null, null, 10).wallets;
    expect(wallet).toMatchObject({ userId: "ada" });
    expect(await back.told(again.create("ada", call()))).toMatchObject({ value: { walletId: wallet?.walletId } });
    for (const rows of back.rows) expect(rows.wallets.size).toBe(1);
  });

  it("and came to nothing instead is made by the same request", async () => {
    const both = await new CustodyBench().up();
    const { desk } = deskOver(both);
    // C is away from its tested epoch on: S drops the attempt, C holds it until they meet.
    both.link.fate = (_message, name) => (name === "f6" ? "cut" : "pass");
    expect(await both.told(desk.create("ada", call()))).toBe("SIGNER_UNAVAILABLE");
    both.link.fate = () => "pass";
    await both.meet();
    expect(await both.told(desk.create("ada", call()))).toMatchObject({ value: { userId: "ada" } });
    for (const rows of both.rows) expect(rows.wallets.size).toBe(1);
  });
});

describe("the audit log of a creation whose end its caller was not told", () => {
  const row = { what: "wallet.create", subject: expect.any(String), details: {} };
  const done = { ...row, who: "pk_alice", outcome: "done" };
  const failed = { ...row, outcome: "failed", details: { code: "SIGNER_UNAVAILABLE" } };

  it("has one row, done, where the wallet came to be, whether or not its caller asks again", async () => {
    const both = await new CustodyBench().up();
    const { desk, rows } = deskOver(both);
    both.link.fate = (_message, name) => (name === "activate" ? "cut" : "pass");
    expect(await both.told(desk.create("ada", call()))).toBe("SIGNER_UNAVAILABLE");
    both.link.fate = () => "pass";
    await both.meet();
    const [wallet] = both.service.list(null, null, 10).wallets;
    expect(await rows()).toEqual([{ ...done, subject: wallet?.walletId }]);
    expect(await both.told(desk.create("ada", call()))).toMatchObject({ value: wallet });
    expect(await both.told(desk.create("ada", call({ idempotencyKey: null })))).toBe("WALLET_EXISTS");
    expect(await rows()).toEqual([{ ...done, subject: wallet?.walletId }]);
  });

  it("has it where the service died behind the commit that made the wallet", async () => {
    const both = await new CustodyBench().up();
    const store = createMemoryStore();
    both.link.fate = (_message, name) => {
      if (name === "activate") both.kill(0);
      return "pass";
    };
    void deskOver(both, store).desk.create("ada", call()).catch(never);
    for (let ms = 0; !both.parties[0].isDead; ms += 25) {
      if (ms > 60_000) never();
      await both.quiet();
      await both.pass(25);
    }
    both.link.fate = () => "pass";
    await both.restart(0);
    const [wallet] = both.service.list(null, null, 10).wallets;
    const { desk, rows } = deskOver(both, store);
    expect(await rows()).toEqual([{ ...done, subject: wallet?.walletId }]);
    expect(await both.told(desk.create("ada", call()))).toMatchObject({ value: wallet });
    expect(await rows()).toHaveLength(1);
  });

  it("has one row, by the service, where its store had lost that it had decided", async () => {
    const both = await new CustodyBench().up();
    const prepared: [MemoryRows, MemoryRows][] = [];
    both.link.fate = (_message, name) => {
      if (name === "f5") prepared.push(both.copyOfRows());
      return name === "activated" ? "cut" : "pass";
    };
    expect(await both.told(deskOver(both).desk.create("ada", call()))).toBe("SIGNER_UNAVAILABLE");
    const back = await new CustodyBench({}, [prepared[0]?.[0] ?? never(), both.rows[1]]).up();
    const [wallet] = back.service.list(null, null, 10).wallets;
    expect(await deskOver(back).rows()).toContainEqual({ ...done, who: "service", subject: wallet?.walletId });
    expect(creationRows(back)).toHaveLength(1);
  });

  it("has one row, failed, where the parties gave it up", async () => {
    const both = await new CustodyBench().up();
    const { desk, rows } = deskOver(both);
    // The service's thread gives no result to the last message, and the co-signer is away: nobody can say.
    both.link.fate = (_message, name) => {
      if (name !== "f6") return "pass";
      both.parties[0].isThreadGone = true;
      queueMicrotask(() => both.link.cut());
      return "pass";
    };
    await expect(refusal(both, desk.create("ada", call()))).resolves.toMatchObject({ context: { isUnsettled: true } });
    expect(await rows()).toEqual([]);
    both.parties[0].isThreadGone = false;
    both.link.fate = () => "pass";
    await both.meet();
    for (const { wallets } of both.rows) expect(wallets.size).toBe(0);
    expect(await rows()).toEqual([{ ...failed, who: "pk_alice" }]);
    both.seed = "host-2";
    expect(await both.told(desk.create("ada", call()))).toMatchObject({ value: { userId: "ada" } });
    expect(await rows()).toEqual([{ ...failed, who: "pk_alice" }, done]);
  });

  it("has one row, failed, where they gave it up while its caller waited", async () => {
    const both = await new CustodyBench().up();
    const { desk, rows } = deskOver(both);
    both.link.fate = (_message, name) => {
      if (name === "f6") both.parties[0].isThreadGone = true;
      return "pass";
    };
    const asked = desk.create("ada", call());
    expect(await both.told(asked)).toBe("FAILED_TO_CREATE_WALLET");
    for (const { wallets } of both.rows) expect(wallets.size).toBe(0);
    expect(await rows()).toMatchObject([{ who: "pk_alice", outcome: "failed" }]);
  });
});

describe("the audit log of an epoch that is active later than its session ended", () => {
  const row = { subject: expect.any(String), outcome: "done" };

  it("has one row of a creation at the co-signer", async () => {
    const both = await new CustodyBench().up();
    const { desk, rows } = deskOver(both);
    both.link.fate = (_message, name) => (name === "activate" ? "cut" : "pass");
    expect(await both.told(desk.create("ada", call()))).toBe("SIGNER_UNAVAILABLE");
    expect(await rows(1)).toEqual([]);
    both.link.fate = () => "pass";
    await both.meet();
    expect(await rows(1)).toEqual([{ ...row, who: "cosigner", what: "wallet.created", details: {} }]);
  });

  it.each(["activate", "activated"])(
    "has one row of an operator's refresh at each party, beside that of the answer that he got, where %s is lost",
    async (lost) => {
      const both = await new CustodyBench({}, made.rows).up();
      const { append, rows } = deskOver(both);
      const { walletId } = made.wallet;
      both.link.fate = (_message, name) => (name === lost ? "cut" : "pass");
      const asked = operatorOf(both, append).run("wallets.refresh", { walletId });
      expect(await both.told(asked.catch(({ code }: AdminRefusal) => code))).toBe("SIGNER_UNAVAILABLE");
      both.link.fate = () => "pass";
      await both.meet();
      expect(both.service.find(walletId, null)).toMatchObject({ state: "ACTIVE", epoch: 2 });
      const refreshed = { ...row, what: "wallet.refreshed", details: { epoch: 2, mode: 0 } };
      expect(await rows(1)).toEqual([{ ...refreshed, who: "cosigner" }]);
      expect((await rows()).map(({ who, what, outcome }) => [who, what, outcome])).toEqual([
        ["admin", "wallet.refresh", "refused"],
        ["service", "wallet.refreshed", "done"],
      ]);
    },
  );

  it("has one row of an operator's refresh at the service where he is told that it is done", async () => {
    const both = await new CustodyBench({}, made.rows).up();
    const { append, rows } = deskOver(both);
    const { walletId } = made.wallet;
    both.link.fate = (_message, name) => (name === "activated" ? "cut" : "pass");
    const asked = operatorOf(both, append).run("wallets.refresh", { walletId });
    const told = both.told(asked);
    for (let ms = 0; both.link.isUp; ms += 25) {
      if (ms > 60_000) never();
      await both.quiet();
      await both.pass(25);
    }
    both.link.fate = () => "pass";
    await both.meet();
    expect(await told).toMatchObject({ epoch: 2 });
    expect(await rows()).toMatchObject([{ who: "admin", what: "wallet.refresh", outcome: "done" }]);
  });

  it("has one row, by the service, of a refresh whose process died behind its decision", async () => {
    const both = await new CustodyBench({}, made.rows).up();
    const { walletId } = made.wallet;
    both.link.fate = (_message, name) => {
      if (name === "activate") both.kill(0);
      return "pass";
    };
    void both.service.refresh(walletId, 0).catch(never);
    for (let ms = 0; !both.parties[0].isDead; ms += 25) {
      if (ms > 60_000) never();
      await both.quiet();
      await both.pass(25);
    }
    both.link.fate = () => "pass";
    await both.restart(0);
    expect(await deskOver(both).rows()).toEqual([
      { ...row, who: "service", what: "wallet.refreshed", details: { epoch: 2 } },
    ]);
  });
});

/** What the call rejects with, however long it takes. */
async function refusal(both: CustodyBench, asked: Promise<unknown>): Promise<ServiceError> {
  const said = asked.then(never, (error: unknown) => (error instanceof ServiceError ? error : never()));
  const told = await both.told(said);
  return typeof told === "string" ? never() : told;
}

function never(): never {
  throw new Error("not expected");
}
