/** The desk over both signing parties: the rows that an act leaves at the service, and what a repeated request gets. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import { CustodyBench, madeRows } from "../../engine/custody/provider/test/custody-bench.js";
import type { MemoryRows } from "../../engine/custody/provider/test/memory-party.js";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { Owners } from "../../engine/domain/owner.js";
import { createKeyedHash } from "../../engine/storage/server-secret.js";
import { createMemoryStore } from "../../engine/storage/test/memory-store.js";
import { type WalletCall, WalletDesk } from "../accounts/wallet-desk.js";
import type { AuditRow } from "../auth/audit.js";
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
});

type Row = Omit<AuditRow, "atMs">;

/** The service as it is wired: the events of its party and the acts of its desk go into one audit log. */
function deskOver(
  both: CustodyBench,
  store = createMemoryStore(),
): { readonly desk: WalletDesk; rows(): Promise<readonly Row[]> } {
  const appended: Row[] = [];
  const append = async (row: Row): Promise<void> => void appended.push(row);
  const record = new CustodyRecord({ audit: { append }, logger: silentLogger });
  let told = 0;
  const desk = new WalletDesk({
    ...{ provider: both.service, owners: new Owners(), store, clock: both.clock },
    ...{ hash: createKeyedHash(Buffer.alloc(32, 7)), logger: silentLogger, appendAct: append },
    randomIds: { randomHex128: () => "1".repeat(32) },
  });
  return {
    desk,
    async rows() {
      for (const { party, ...event } of both.events.slice(told)) if (party === 0) record.emit(party, event);
      told = both.events.length;
      return appended;
    },
  };
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

  it("leaves one of a creation that the co-signer refuses, too, and a refused refresh keeps its own", async () => {
    const both = await new CustodyBench({}, made.rows).up();
    const { desk, rows } = deskOver(both);
    both.seed = "host-2";
    both.link.fate = (_message, name) => (name === "state" || name === "stateReply" ? "drop" : "pass");
    const walletId = Buffer.from(made.wallet.walletId.replaceAll("-", ""), "hex");
    both.cosigner.host.exchange.ask(both.cosigner.host.rows.get(walletId) ?? never());
    expect(await both.told(desk.create("bea", call({ idempotencyKey: null })))).toBe("SIGNER_UNAVAILABLE");
    expect((await rows()).map(({ what, outcome }) => [what, outcome])).toEqual([["wallet.create", "failed"]]);
    expect(await both.told(both.service.refresh(made.wallet.walletId, 0))).toBe("SIGNER_UNAVAILABLE");
    expect((await rows()).map(({ what }) => what)).toEqual(["wallet.create", "wallet.refused"]);
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

/** What the call rejects with, however long it takes. */
async function refusal(both: CustodyBench, asked: Promise<unknown>): Promise<ServiceError> {
  const said = asked.then(never, (error: unknown) => (error instanceof ServiceError ? error : never()));
  const told = await both.told(said);
  return typeof told === "string" ? never() : told;
}

function never(): never {
  throw new Error("not expected");
}
