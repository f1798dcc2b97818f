/** What callers hear of deposits, and what becomes of them, on a chain that behaves and on one that does not. */
import { describe, expect, it } from "vitest";
import { ServiceError } from "../domain/errors.js";
import { storeUnavailable } from "../storage/state-store.js";
import { OLD_TOKEN, VAULT } from "./test/fake-contracts.js";
import { MINIMUM } from "./test/fake-money.js";
import { ACCOUNT } from "./test/fake-signer.js";
import { begun, type Life, START, TransferWorld } from "./test/transfer-world.js";
import type { DepositRow } from "./transfer-row.js";

const AMOUNT = 7_000_000n;

async function deposits(world: TransferWorld, life: Life): Promise<DepositRow[]> {
  return (await world.rows(life)).filter((row) => row.kind === "deposit");
}

describe("a deposit", () => {
  it("is credited by a credit of its own, where the venue lists no transactions and two are of one amount", async () => {
    const { world, life } = await begun();
    const ask = world.deposit(world.named, MINIMUM);
    const rows = [await world.answered(life, life.transfers.deposit(ask))];
    rows.push(await world.answered(life, life.transfers.deposit(ask)));
    await world.untilQuiet(life);
    const after = await Promise.all(rows.map(({ transferId }) => life.transfers.find(transferId)));
    expect(after).toMatchObject([{ state: "confirmed" }, { state: "confirmed" }]);
    expect(new Set(after.map((row) => row?.venueId)).size).toBe(2);
  });

  it("is answered at its first confirmation, and confirmed when it is final and credited", async () => {
    const { world, life } = await begun();
    const row = await world.answered(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT)));
    const last = row.steps.at(-1)?.mined;
    expect([row.state, row.plan, last?.confirmations]).toEqual(["broadcast", ["approve", "deposit"], 1]);
    await world.untilQuiet(life);
    const after = await life.transfers.find(row.transferId);
    expect(after).toMatchObject({ state: "confirmed", reason: null, isCreditAwaited: false });
    expect(after?.venueId).toMatch(/^credit-/);
    expect(world.signed).toHaveLength(2);
  });

  it("approves nothing where the allowance is enough, and nothing where the token is sent", async () => {
    const { world, life } = await begun();
    world.chain.allow(OLD_TOKEN, ACCOUNT, VAULT, AMOUNT);
    const old = await world.answered(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT, "OLD")));
    const sent = await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT + 1n)));
    expect([old.plan, sent.plan]).toEqual([["deposit"], ["deposit"]]);
  });

  it("sets an allowance of an old token to zero before it approves", async () => {
    const { world, life } = await begun();
    world.chain.allow(OLD_TOKEN, ACCOUNT, VAULT, 5n);
    const row = await world.answered(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT, "OLD")));
    expect(row.plan).toEqual(["reset", "approve", "deposit"]);
    await world.untilQuiet(life);
    expect(world.chain.deposits().map(({ amount }) => amount)).toEqual([AMOUNT]);
  });

  it("of a token whose contract counts otherwise than the configuration is refused, and nothing is signed", async () => {
    const { world, life } = await begun();
    world.chain.decimals = 18;
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT)));
    expect([error.code, error.context["reason"]]).toEqual(["FAILED_TO_DEPOSIT", "TOKEN_DECIMALS"]);
    expect([await world.rows(life), world.signed]).toEqual([[], []]);
  });

  it("that is only checked says what it would take, and leaves no row", async () => {
    const { world, life } = await begun();
    const ask = world.deposit(world.listed, AMOUNT);
    const check = await world.answered(life, life.transfers.checkDeposit(ask));
    expect(check).toMatchObject({ minimum: MINIMUM, available: START.token, gas: { plan: ["approve", "deposit"] } });
    expect(check.gas.needed > 0n && check.gas.available === START.native).toBe(true);
    const tooMuch = { ...ask, amount: START.token + 1n };
    const error = await world.refusal(life, life.transfers.checkDeposit(tooMuch));
    expect(error.code).toBe("INSUFFICIENT_BALANCE");
    expect([await world.rows(life), world.signed]).toEqual([[], []]);
  });

  it("that an earlier start made has not failed where the lost one may have carried it out", async () => {
    const world = new TransferWorld();
    const before = await world.live({ at: 1, isAfter: true });
    expect(await world.outcome(before, before.transfers.deposit(world.deposit(world.named, START.token)))).toBe("dead");
    // What the life that is lost did of it: the money is at the venue.
    world.chain.spend(ACCOUNT, START.token);
    const restored = new ServiceError("RESTORED_STORE", { isUnsettled: true });
    const refused = () => Promise.reject(restored);
    world.instance = { assertNotRestored() {}, outside: async () => {}, vouched: refused, witnessed: refused };
    const life = await world.live();
    life.keeper.start();
    await world.clock.advanceAsync(60_000);
    expect(await deposits(world, life)).toMatchObject([{ state: "created", reason: null }]);
  });

  it("below the minimum is refused with the minimum, and leaves no row", async () => {
    const { world, life } = await begun();
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.listed, MINIMUM - 1n)));
    expect([error.code, error.context["minimum"]]).toEqual(["DEPOSIT_BELOW_MINIMUM", "5"]);
    expect([await world.rows(life), world.signed]).toEqual([[], []]);
  });

  it("above what the wallet has, less what deposits under way will take, is refused", async () => {
    const { world, life } = await begun();
    world.chain.baseFee = 1_000n;
    const first = life.transfers.deposit(world.deposit(world.named, START.token - AMOUNT));
    await world.clock.advanceAsync(500);
    world.chain.baseFee = 5_000n;
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT + 1n)));
    expect([error.code, error.message]).toEqual(["INSUFFICIENT_BALANCE", "Insufficient balance for deposit"]);
    expect(error.context).toMatchObject({ amount: "7.000001", available: "7", address: ACCOUNT });
    world.chain.baseFee = 10n;
    await world.answered(life, first);
  });

  it("without money for the gas is refused with the chain, the amount and the address", async () => {
    const { world, life } = await begun();
    world.chain.baseFee = 10n ** 13n;
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT)));
    expect([error.code, error.status]).toEqual(["INSUFFICIENT_GAS", 400]);
    expect(error.context).toMatchObject({ chainId: 56, address: ACCOUNT, available: "1" });
    expect(Number(error.context["needed"])).toBeGreaterThan(1);
    expect([await world.rows(life), world.signed]).toEqual([[], []]);
  });

  it("of a chain that does not answer is refused, and of a token that is not taken too", async () => {
    const { world, life } = await begun();
    const other = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT, "OLD")));
    world.chain.weather = () => "lost";
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    expect([other.code, error.code, error.context["chainId"]]).toEqual(["INVALID_PARAMETERS", "CHAIN_UNAVAILABLE", 56]);
    expect([await world.rows(life), world.signed]).toEqual([[], []]);
  });

  it("that no block takes is answered as broadcast when the wait is over, and goes on", async () => {
    const { world, life } = await begun();
    const call = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.clock.advanceAsync(0);
    world.chain.baseFee = 1_000n;
    const row = await world.answered(life, call);
    expect([row.state, row.steps.at(-1)?.mined]).toEqual(["broadcast", null]);
    world.chain.baseFee = 10n;
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed" });
  });

  it("that gas became too dear for is signed at a higher price, and is otherwise the same", async () => {
    const { world, life } = await begun();
    life.keeper.start();
    const call = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.clock.advanceAsync(0);
    world.chain.baseFee = 100n;
    const row = await world.answered(life, call);
    await world.untilQuiet(life);
    const [one] = await deposits(world, life);
    expect([one?.state, one?.steps.length, world.chain.deposits().length]).toEqual(["confirmed", 1, 1]);
    const signed = world.signed.flatMap((request) => (request.kind === "transaction" ? request.transaction : []));
    expect(signed.length).toBeGreaterThan(1);
    const rest = signed.map(({ nonce, to, value, data, gasLimit }) => ({ nonce, to, value, data, gasLimit }));
    expect(
      new Set(rest.map((each) => JSON.stringify(each, (_, value) => (typeof value === "bigint" ? `${value}` : value))))
        .size,
    ).toBe(1);
    expect(one?.steps[0]?.mined?.hash).not.toBe(row.steps[0]?.versions[0]?.hash);
  });

  it("whose nonce another transaction took has failed, with the reason", async () => {
    const { world, life } = await begun();
    const call = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.clock.advanceAsync(0);
    world.chain.forgetPool();
    world.chain.outside(ACCOUNT);
    const row = await world.answered(life, call);
    expect(["broadcast", "unknown"]).toContain(row.state);
    await world.untilQuiet(life);
    expect(await deposits(world, life)).toMatchObject([{ state: "failed", reason: "NONCE_USED" }]);
    expect(world.chain.deposits()).toEqual([]);
  });

  it("has not failed because endpoints that lag show its nonce as used, and not what used it", async () => {
    const { world, life } = await begun();
    const row = await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    life.keeper.start();
    await world.clock.advanceAsync(2_000);
    world.chain.hidesReceipts = true;
    await world.clock.advanceAsync(20_000);
    world.chain.hidesReceipts = false;
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed" });
  });

  it("takes no nonce behind one of somebody else's that is not final", async () => {
    for (const isTaken of [true, false]) {
      const { world, life } = await begun();
      world.chain.outside(ACCOUNT);
      const call = life.transfers.deposit(world.deposit(world.named, AMOUNT));
      await world.clock.advanceAsync(4_000);
      expect(world.signed).toEqual([]);
      // Back to before the other one, which does not come again.
      if (isTaken) world.chain.reorg(3, true);
      const row = await world.answered(life, call);
      expect([row.state, row.steps[0]?.nonce]).toEqual(["broadcast", isTaken ? 0 : 1]);
    }
  });

  it("that a reorg took away is handed out again, the same bytes, and confirmed once", async () => {
    const { world, life } = await begun();
    await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    world.chain.reorg(2, true);
    expect(world.chain.deposits()).toEqual([]);
    await world.untilQuiet(life);
    expect([world.signed.length, world.chain.deposits().length]).toEqual([1, 1]);
    expect(await deposits(world, life)).toMatchObject([{ state: "confirmed" }]);
  });

  it("whose approval lost its nonce to another while its deposit waited for cheaper gas ends, and makes way", async () => {
    const { world, life } = await begun();
    const unlisten = life.transfers.listen((row) => {
      if (row.kind !== "deposit" || row.steps[1]?.versions[0]?.isTaken !== true) return;
      unlisten();
      world.chain.baseFee = 100n;
      world.chain.reorg(2, true);
      world.chain.outside(ACCOUNT);
    });
    await world.answered(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT)));
    await world.untilQuiet(life);
    expect(await deposits(world, life)).toMatchObject([{ state: "failed", reason: "NONCE_USED" }]);
    await world.answered(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT + 1n)));
    await world.untilQuiet(life);
    expect(world.chain.deposits().map(({ amount }) => amount)).toEqual([AMOUNT + 1n]);
  });

  it("that the chain would undo is refused, and nothing is signed", async () => {
    const { world, life } = await begun();
    // Between the check and the step the money goes elsewhere.
    const unlisten = life.transfers.listen(() => world.chain.spend(ACCOUNT, 1n));
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, START.token)));
    unlisten();
    expect([error.code, error.context["reason"]]).toEqual(["FAILED_TO_DEPOSIT", "WOULD_REVERT"]);
    expect(error.context["chainText"]).toBe("transfer amount exceeds balance");
    expect([world.signed.length, (await deposits(world, life))[0]?.state]).toEqual([0, "failed"]);
  });

  it("that the signer refuses has failed, and the caller hears the refusal", async () => {
    const { world, life } = await begun();
    for (const code of ["POLICY_REFUSED", "SIGNER_UNAVAILABLE"] as const) {
      world.signerError = new ServiceError(code, {});
      const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
      expect(error.code).toBe(code);
    }
    world.signerError = null;
    await world.untilQuiet(life);
    expect(world.chain.deposits()).toEqual([]);
    expect(await deposits(world, life)).toMatchObject([{ reason: "NOT_SIGNED" }, { reason: "NOT_SIGNED" }]);
  });

  it("that people must approve goes on once they have, also when nobody asks again", async () => {
    const { world, life } = await begun();
    world.signerError = new ServiceError("APPROVAL_PENDING", {});
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    expect(error.code).toBe("APPROVAL_PENDING");
    expect(await deposits(world, life)).toMatchObject([{ state: "created" }]);
    world.signerError = null;
    await world.untilQuiet(life);
    expect(world.chain.deposits()).toHaveLength(1);
  });

  it("asked for again under its id is the same one; another one under it is refused", async () => {
    const { world, life } = await begun();
    const ask = { ...world.deposit(world.named, AMOUNT), transferId: world.newId() };
    const first = await world.answered(life, life.transfers.deposit(ask));
    const second = await world.answered(life, life.transfers.deposit(ask));
    expect([second.transferId, world.signed.length]).toEqual([first.transferId, 1]);
    const error = await world.refusal(life, life.transfers.deposit({ ...ask, amount: AMOUNT + 1n }));
    expect(error.code).toBe("TRANSFER_NAME_USED");
  });

  it("behind one that is stuck is refused with the other's id, and nothing of it is signed", async () => {
    const { world, life } = await begun();
    const first = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.clock.advanceAsync(0);
    world.chain.baseFee = 1_000n;
    const { transferId } = await world.answered(life, first);
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT + 1n)));
    expect([error.code, error.context["transferId"], world.signed.length]).toEqual([
      "TRANSFER_IN_PROGRESS",
      transferId,
      1,
    ]);
  });

  it("of which the logs show nothing is unknown, never failed, until the venue has it", async () => {
    const { world, life } = await begun();
    world.listed.hidesLogs = true;
    const row = await world.answered(life, life.transfers.deposit(world.deposit(world.listed, AMOUNT)));
    life.keeper.start();
    world.listed.weather = () => "lost";
    await world.clock.advanceAsync(60_000);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "unknown", reason: "NOT_SHOWN" });
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", reason: null });
  });

  it("does not wait for a chain that never answers longer than a call may take", async () => {
    const { world, life } = await begun();
    const row = await world.answered(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    world.chain.isMute = true;
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT + 1n)));
    expect(error.code).toBe("CHAIN_UNAVAILABLE");
    world.chain.isMute = false;
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed" });
  });

  it("that waits while too many others do is not refused and carried out later", async () => {
    const { world, life } = await begun();
    const first = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.clock.advanceAsync(0);
    world.chain.baseFee = 1_000n;
    await world.answered(life, first);
    const second = life.transfers.deposit(world.deposit(world.named, AMOUNT + 1n));
    await world.clock.advanceAsync(19_300);
    // All of them stand in the lane when its wait is over.
    world.chain.isMute = true;
    const others = Array.from({ length: 17 }, (_, index) =>
      life.transfers.deposit(world.deposit(world.named, AMOUNT + 2n + BigInt(index))).catch(() => {}),
    );
    const outcome = await world.outcome(life, second, 300_000);
    world.chain.isMute = false;
    world.chain.baseFee = 10n;
    await world.outcome(life, Promise.all(others), 300_000);
    await world.untilQuiet(life);
    const effects = world.chain.deposits().filter(({ amount }) => amount === AMOUNT + 1n).length;
    expect([outcome, effects]).toEqual(["TRANSFER_IN_PROGRESS", 0]);
  });

  it("that a pool already knows stays broadcast, and is looked at more and more seldom", async () => {
    const { world, life } = await begun();
    world.chain.sendWeather = () => "unheard";
    const call = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.clock.advanceAsync(0);
    world.chain.baseFee = 1_000n;
    const row = await world.answered(life, call);
    world.chain.sendWeather = () => "fine";
    life.keeper.start();
    await world.clock.advanceAsync(10_000);
    const heard: string[] = [];
    life.transfers.listen(({ state }) => heard.push(state));
    await world.clock.advanceAsync(30_000);
    expect([(await life.transfers.find(row.transferId))?.state, heard]).toEqual(["broadcast", []]);
  });

  it("is never signed at a price above the chain's limit, however long it waits", async () => {
    const world = new TransferWorld();
    // An eighth above the price before is above it.
    world.chain.priceMax = 23n;
    const life = await world.live();
    const call = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.clock.advanceAsync(0);
    world.chain.baseFee = 22n;
    await world.answered(life, call);
    life.keeper.start();
    await world.clock.advanceAsync(3_600_000);
    const prices = world.signed.flatMap((request) =>
      request.kind === "transaction" && request.transaction.type === "eip1559" ? request.transaction.maxFeePerGas : [],
    );
    expect(prices).toEqual([21n]);
    world.chain.baseFee = 10n;
    await world.untilQuiet(life);
    expect(await deposits(world, life)).toMatchObject([{ state: "confirmed" }]);
  });

  it("that the store does not take on is refused with its id, for it goes on", async () => {
    const { world, life } = await begun();
    let commits = 0;
    world.store.gate = async () => {
      if (++commits === 2) throw storeUnavailable("QUEUE_FULL");
    };
    const error = await world.refusal(life, life.transfers.deposit(world.deposit(world.named, AMOUNT)));
    const [row] = await deposits(world, life);
    expect([error.code, error.context["transferId"]]).toEqual(["STORE_UNAVAILABLE", row?.transferId]);
  });
});
