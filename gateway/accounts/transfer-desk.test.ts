/** The desk over the real ledger, with a chain and venues in memory: keys, crashes, the audit log, faults behind a send. */
import { describe, expect, it } from "vitest";
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { Owners } from "../../engine/domain/owner.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createKeyedHash, cryptoRandomIds } from "../../engine/storage/server-secret.js";
import { ACCOUNT } from "../../engine/transfers/test/fake-signer.js";
import { type Life, TransferWorld, WALLET_ID } from "../../engine/transfers/test/transfer-world.js";
import type { WalletAct } from "./act-rows.js";
import { KeyedRequests } from "./keyed-requests.js";
import { TransferDesk } from "./transfer-desk.js";
import type { WalletBalances } from "./wallet-balances.js";
import type { WalletCall } from "./wallet-desk.js";

const AMOUNT = 7_000_000n;
const hash = createKeyedHash(Buffer.alloc(32, 9));
const wallet: Wallet = {
  ...{ ownerId: "owner-a", walletId: WALLET_ID, userId: "user-1", address: ACCOUNT, publicKey: "0x02" },
  ...{ createdAt: 1, state: "ACTIVE", epoch: 1 },
};

let requests = 0;
const callWith = (key: string | null): WalletCall => ({
  ...{ ownerId: "owner-a", keyId: "pk_alice", requestId: `request-${requests++}`, idempotencyKey: key },
  boundBytes: Buffer.from("POST /deposit {}"),
});

function deskOf(world: TransferWorld, { transfers }: Pick<Life, "transfers">) {
  const { clock, store } = world;
  const acts: WalletAct[] = [];
  const keyed = new KeyedRequests({
    ...{ owners: new Owners(), store, hash, randomIds: cryptoRandomIds, clock, logger: silentLogger },
  });
  const desk = new TransferDesk({
    ...{ transfers, keyed, hash, clock, logger: silentLogger, explorers: new Map() },
    balances: {} as WalletBalances,
    appendAct: async (act) => void acts.push(act),
    actWrites(act) {
      acts.push(act);
      return [];
    },
  });
  return { desk, acts };
}

/** As the routes make one of what the ledger is asked for. */
function orderOf(world: TransferWorld, amount = AMOUNT) {
  const { venue, chainId, network, symbol, broker } = world.deposit(world.named, amount);
  return { venue, chainId, network, symbol, amount, broker };
}

const outcomesOf = (acts: readonly WalletAct[]) => acts.map(({ what, outcome }) => [what, outcome]);

describe("a transfer by the desk", () => {
  it("is one for its key: the same reply again, and its rows in the audit log", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const { desk, acts } = deskOf(world, life);
    const first = await world.answered(life, desk.deposit(wallet, orderOf(world), callWith("key-1")));
    const again = await world.answered(life, desk.deposit(wallet, orderOf(world), callWith("key-1")));
    expect([first.replayed, again]).toEqual([false, { data: first.data, replayed: true }]);
    expect(first.data).toMatchObject({ amount: "7", status: "broadcast", blockNumber: expect.any(Number) });
    expect(outcomesOf(acts)).toEqual([
      ["transfer.deposit", "pending"],
      ["transfer.deposit", "done"],
    ]);
    expect(acts[1]?.details).toMatchObject({ transferId: first.data.transferId, state: "broadcast" });
    expect(world.chain.deposits()).toHaveLength(1);
  });

  it("that a crash cut short at any act is found again by its key, and moves once", async () => {
    let deaths = 0;
    for (const isAfter of [false, true])
      for (let at = 1; ; at++) {
        const world = new TransferWorld();
        const cut = await world.live({ at, isAfter });
        await world.outcome(cut, deskOf(world, cut).desk.deposit(wallet, orderOf(world), callWith("key-1")));
        if (!cut.isDead()) break;
        deaths++;
        const life = await world.live();
        const [row] = await world.rows(life);
        const { desk } = deskOf(world, life);
        const found = await world.answered(life, desk.deposit(wallet, orderOf(world), callWith("key-1")));
        if (row !== undefined) expect([at, found.data.transferId]).toEqual([at, row.transferId]);
        await world.untilQuiet(life);
        expect([at, (await world.rows(life)).length, world.chain.deposits().length]).toEqual([at, 1, 1]);
      }
    expect(deaths).toBeGreaterThan(10);
  });

  it.each(["RESTORED_STORE", "OVERLOADED"] as const)(
    "that a crash cut short stays its key's, where that is asked for again and answered %s",
    async (code) => {
      const world = new TransferWorld();
      // The key, then the row.
      const cut = await world.live({ at: 2, isAfter: true });
      await world.outcome(cut, deskOf(world, cut).desk.deposit(wallet, orderOf(world), callWith("key-1")));
      const between = await world.live();
      expect(await world.rows(between)).toMatchObject([{ state: "created" }]);
      const refusing = Object.create(between.transfers, {
        deposit: { value: () => Promise.reject(new ServiceError(code)) },
        find: { value: (transferId: string) => between.transfers.find(transferId) },
      }) as typeof between.transfers;
      const { desk } = deskOf(world, { transfers: refusing });
      const error = await world.refusal(between, desk.deposit(wallet, orderOf(world), callWith("key-1")));
      const life = await world.live();
      await world.answered(life, deskOf(world, life).desk.deposit(wallet, orderOf(world), callWith("key-1")));
      await world.untilQuiet(life);
      expect([(await world.rows(life)).length, world.chain.deposits().length]).toEqual([1, 1]);
      expect(error).toMatchObject({ code, context: { isUnsettled: true } });
    },
  );

  it("that may have been sent is answered as its row, whatever fault comes behind it", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const faulty = Object.create(life.transfers, {
      deposit: {
        value: async (ask: Parameters<typeof life.transfers.deposit>[0]) => {
          await life.transfers.deposit(ask);
          throw new TypeError("a fault of ours");
        },
      },
      find: { value: (transferId: string) => life.transfers.find(transferId) },
    }) as typeof life.transfers;
    const { desk } = deskOf(world, { transfers: faulty });
    const { data } = await world.answered(life, desk.deposit(wallet, orderOf(world), callWith(null)));
    expect(data).toMatchObject({ status: "broadcast", transferId: expect.any(String) });
  });

  it("that a check refuses leaves no row in the audit log, and its key is free", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    const { desk, acts } = deskOf(world, life);
    const tooLittle = desk.deposit(wallet, orderOf(world, 1n), callWith("key-1"));
    await world.outcome(life, tooLittle);
    await expect(tooLittle).rejects.toMatchObject({ code: "DEPOSIT_BELOW_MINIMUM" });
    expect(acts).toEqual([]);
    const { replayed } = await world.answered(life, desk.deposit(wallet, orderOf(world), callWith("key-1")));
    expect(replayed).toBe(false);
  });

  it("that the signer refuses names its row, and leaves its refusal in the audit log", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    world.signerError = new ServiceError("POLICY_REFUSED", { rule: "CONTRACT" });
    const { desk, acts } = deskOf(world, life);
    const refused = desk.deposit(wallet, orderOf(world), callWith(null));
    const error = await world.refusal(life, refused);
    expect([error.code, error.context["rule"]]).toEqual(["POLICY_REFUSED", "CONTRACT"]);
    expect(await desk.find(String(error.context["transferId"]))).toMatchObject({
      state: "failed",
      reason: "NOT_SIGNED",
    });
    expect(outcomesOf(acts).at(-1)).toEqual(["transfer.deposit", "refused"]);
  });
});
