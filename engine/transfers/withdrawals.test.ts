/** What callers hear of withdrawals and of transfers between a venue's accounts, and what becomes of them. */
import { describe, expect, it } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import { Instance } from "../storage/instance/instance.js";
import type { CountFile } from "../storage/instance/instance-file.js";
import { createMemoryStore } from "../storage/test/memory-store.js";
import { FEE, type VenueWeather } from "./test/fake-money.js";
import { ACCOUNT } from "./test/fake-signer.js";
import { begun, TransferWorld } from "./test/transfer-world.js";

const AMOUNT = 7_000_000n;
const OTHER = `0x${"99".repeat(20)}`;

/** Of the first call, and fine ever after. */
function atFirst(first: VenueWeather): () => VenueWeather {
  let next = first;
  return () => {
    const now = next;
    next = "fine";
    return now;
  };
}

describe("a withdrawal", () => {
  it.each(["named", "listed"] as const)("of the %s style is followed until the venue has paid", async (style) => {
    const { world, life } = await begun();
    const money = world[style];
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(money, AMOUNT)));
    expect([row.state, row.isAccepted, row.fee]).toEqual(["broadcast", true, FEE.toString()]);
    life.keeper.start();
    await world.clock.advanceAsync(10_000);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "broadcast", payout: "pending" });
    await world.untilQuiet(life);
    const paid = (style === "named" ? AMOUNT - FEE : AMOUNT).toString();
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", payout: "completed", paid });
  });

  it("of which the venue keeps more is recorded as it was paid", async () => {
    const { world, life } = await begun();
    world.named.extraFee = 3n;
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    await world.untilQuiet(life);
    const paid = (AMOUNT - FEE - 3n).toString();
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", paid });
  });

  it("that is only checked says the venue's terms, and leaves no row", async () => {
    const { world, life } = await begun();
    const ask = world.withdrawal(world.named, AMOUNT);
    const { terms } = await world.answered(life, life.transfers.checkWithdrawal(ask));
    expect(terms).toMatchObject({ fee: FEE, feeIsInside: true });
    const tooMuch = { ...ask, amount: terms.available + 1n };
    const error = await world.refusal(life, life.transfers.checkWithdrawal(tooMuch));
    expect([error.code, await world.rows(life), world.signed]).toEqual(["INSUFFICIENT_BALANCE", [], []]);
  });

  it("takes its owner's share of the venue's lanes while somebody waits, and nobody's later", async () => {
    const { world, life } = await begun();
    await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    expect(world.named.payers).toEqual(["owner-1", "owner-1", "owner-1"]);
    await world.untilQuiet(life);
    expect(new Set(world.named.payers.slice(3))).toEqual(new Set([null]));
  });

  it("that an earlier start made has not failed while it is not known whether the store was put back", async () => {
    const clock = new VirtualClock();
    for (const [reason, isPast] of [
      ["asked", false],
      ["asked", true],
      ["kept", true],
    ] as const) {
      const world = new TransferWorld();
      const before = await world.live({ at: 1, isAfter: true });
      const ask = { ...world.withdrawal(world.named, AMOUNT), transferId: world.newId() };
      expect(await world.outcome(before, before.transfers.withdraw(ask))).toBe("dead");
      if (isPast) await world.clock.advanceAsync(90_000_000);
      // A copy of the folder and of the file beside it: the co-signer is the first to know.
      const store = createMemoryStore();
      const file: CountFile = { read: async () => ({ kind: "missing" }), write: async () => {} };
      const instance = await Instance.open({ store, file, clock, newId: () => "0".repeat(32), logger: silentLogger });
      instance.bindWitness(() => {});
      const heard = (): void => instance.heard({ ...instance.toTell, count: instance.toTell.count + 1 });
      world.instance = {
        ...{ assertNotRestored: () => {}, outside: () => instance.outside() },
        async vouched() {
          heard();
          await instance.vouched();
        },
        async witnessed() {
          heard();
          await instance.witnessed();
        },
      };
      const life = await world.live();
      if (reason === "asked") {
        const error = await world.refusal(life, life.transfers.withdraw(ask));
        expect(error).toMatchObject({ code: "RESTORED_STORE", context: { isUnsettled: true } });
      } else {
        life.keeper.start();
        await world.clock.advanceAsync(10_000);
      }
      expect(await world.rows(life), `${reason} ${isPast}`).toMatchObject([{ state: "created", reason: null }]);
      expect(world.signed).toEqual([]);
    }
  });

  it("to another receiver is refused where the venue allows the wallet alone", async () => {
    const { world, life } = await begun();
    const ask = { ...world.withdrawal(world.listed, AMOUNT), receiver: OTHER };
    const error = await world.refusal(life, life.transfers.withdraw(ask));
    expect([error.code, world.signed]).toEqual(["RECEIVER_MISMATCH", []]);
    const allowed = { ...world.withdrawal(world.named, AMOUNT), receiver: OTHER };
    await world.answered(life, life.transfers.withdraw(allowed));
    expect(world.named.payouts).toMatchObject([{ receiver: OTHER }]);
  });

  it("of more than there is, with the fee and the caller's margin, is refused", async () => {
    const { world, life } = await begun();
    world.listed.balance = AMOUNT + FEE;
    world.named.balance = AMOUNT;
    const above = world.withdrawal(world.listed, AMOUNT + 1n);
    const error = await world.refusal(life, life.transfers.withdraw(above));
    expect([error.code, error.message]).toEqual(["INSUFFICIENT_BALANCE", "Insufficient balance for withdrawal"]);
    expect(error.context).toMatchObject({ needed: "8.000001", available: "8", fee: "1" });
    const margin = { ...world.withdrawal(world.named, AMOUNT), amountToCheck: AMOUNT + 1n };
    expect((await world.refusal(life, life.transfers.withdraw(margin))).code).toBe("INSUFFICIENT_BALANCE");
    expect([world.signed, await world.rows(life)]).toEqual([[], []]);
    await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    expect(world.listed.balance).toBe(0n);
  });

  it("below the venue's minimum, or not more than the fee, is refused", async () => {
    const { world, life } = await begun();
    const error = await world.refusal(life, life.transfers.withdraw(world.withdrawal(world.named, FEE)));
    expect([error.code, world.signed]).toEqual(["INVALID_PARAMETERS", []]);
  });

  it("finer than the venue's texts is refused before it is signed, by a check alone as well", async () => {
    const world = new TransferWorld();
    world.listed.placesMax = 4;
    const life = await world.live();
    const ask = world.withdrawal(world.listed, AMOUNT + 10n);
    for (const call of [() => life.transfers.checkWithdrawal(ask), () => life.transfers.withdraw(ask)]) {
      const error = await world.refusal(life, call());
      expect([error.code, error.context["fields"]]).toEqual([
        ...["INVALID_PARAMETERS", [{ path: "amount", problem: "must have at most 4 decimals of USDC" }]],
      ]);
    }
    const move = await world.refusal(life, life.transfers.move(world.internal("7.00001", "a")));
    expect([move.code, await world.rows(life), world.signed]).toEqual(["INVALID_PARAMETERS", [], []]);
    await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT + 100n)));
  });

  it("without the key that the venue wants is refused", async () => {
    const { world, life } = await begun();
    world.listed.hasKey = false;
    const error = await world.refusal(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    expect([error.code, world.signed]).toEqual(["API_KEY_NOT_FOUND", []]);
  });

  it("beside another one is refused with the other's id, where the venue's list would not tell them apart", async () => {
    const { world, life } = await begun();
    const { transferId } = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    const error = await world.refusal(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT + 1n)));
    expect([error.code, error.context["transferId"], world.signed.length]).toEqual([
      "TRANSFER_IN_PROGRESS",
      transferId,
      1,
    ]);
    await world.untilQuiet(life);
    await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT + 1n)));
    for (const amount of [AMOUNT, AMOUNT + 1n])
      await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, amount)));
    expect([world.listed.payouts.length, world.named.payouts.length]).toEqual([2, 2]);
  });

  it("whose reply is lost is not one of before of the same amount, where the venue lists no numbers of ours", async () => {
    const { world, life } = await begun();
    world.listed.paysMs = 0;
    const ask = world.withdrawal(world.listed, AMOUNT);
    const before = await world.answered(life, life.transfers.withdraw(ask));
    await world.untilQuiet(life);
    expect(await life.transfers.find(before.transferId)).toMatchObject({ state: "confirmed", venueId: "w-1" });
    world.listed.weather = () => "lost";
    const row = await world.answered(life, life.transfers.withdraw(ask));
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "failed", reason: "NEVER_ARRIVED" });
    expect(world.listed.payouts).toHaveLength(1);
  });

  it("that the venue refuses has failed, and the caller hears why", async () => {
    const { world, life } = await begun();
    const call = life.transfers.withdraw(world.withdrawal(world.named, AMOUNT));
    const unlisten = life.transfers.listen(() => {
      world.named.balance = 0n;
    });
    const error = await world.refusal(life, call);
    unlisten();
    expect([error.code, error.context["venueText"]]).toEqual([
      "INSUFFICIENT_BALANCE",
      "Insufficient balance for withdrawal.",
    ]);
    expect(await world.rows(life)).toMatchObject([{ state: "failed", reason: "VENUE_BALANCE" }]);
  });

  it("whose reply is lost is answered as unknown, and looked up before anything is sent again", async () => {
    const { world, life } = await begun();
    world.named.weather = () => "unheard";
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    expect([row.state, row.reason]).toEqual(["unknown", null]);
    world.named.weather = () => "fine";
    world.named.repeats = "again";
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed" });
    expect(world.named.payouts).toHaveLength(1);
  });

  it("that never arrives is the same act again a minute later, and failed once the venue takes it no more", async () => {
    const { world, life } = await begun();
    world.listed.weather = () => "lost";
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    expect(row.state).toBe("unknown");
    let isSend = false;
    // Looks are answered; each send is lost.
    world.listed.weather = () => {
      isSend = !isSend;
      return isSend ? "fine" : "lost";
    };
    life.keeper.start();
    await world.clock.advanceAsync(55 * 60_000);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "unknown" });
    world.listed.weather = () => "fine";
    world.listed.balance = 0n;
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "failed", reason: "NEVER_ARRIVED" });
    expect([world.signed.length, world.listed.payouts.length]).toEqual([1, 0]);
  });

  it("that the venue gives back has failed, after it was accepted", async () => {
    const { world, life } = await begun();
    world.named.failsPayouts = true;
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    await world.untilQuiet(life);
    const after = { state: "failed", reason: "VENUE_FAILED", payout: "failed" };
    expect(await life.transfers.find(row.transferId)).toMatchObject(after);
  });

  it("that was accepted and is not listed is unknown, and never sent again", async () => {
    const { world, life } = await begun();
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    const [payout] = world.listed.payouts.splice(0);
    life.keeper.start();
    await world.clock.advanceAsync(2 * 3_600_000);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "unknown", reason: "NOT_LISTED" });
    expect(world.listed.payouts).toEqual([]);
    if (payout !== undefined) world.listed.payouts.push(payout);
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", reason: null });
  });
});

describe("a withdrawal that a list shows by its amount and time alone", () => {
  it("is not the one before it, of the same amount, that was paid a moment ago", async () => {
    const { world, life } = await begun();
    world.listed.paysMs = 5_000;
    life.keeper.start();
    const first = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    await world.clock.advanceAsync(10_000);
    expect(await life.transfers.find(first.transferId)).toMatchObject({ state: "confirmed", venueId: "w-1" });
    world.listed.weather = atFirst("lost");
    const second = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    await world.untilQuiet(life);
    const { transferId } = second;
    expect(await life.transfers.find(transferId)).toMatchObject({ state: "failed", reason: "NEVER_ARRIVED" });
    expect(world.listed.payouts).toHaveLength(1);
  });

  it("has not failed because another one of the same amount came back a moment before", async () => {
    const { world, life } = await begun();
    // Somebody's own, at the venue's page; it came back at once.
    world.listed.payouts.push({
      ...{ id: "w-own", nonce: 1, receiver: ACCOUNT, amount: AMOUNT, debit: 0n, paid: AMOUNT },
      ...{ atMs: world.clock.wallMs() - 3_000, fails: true },
    });
    world.listed.paysMs = 0;
    world.listed.weather = atFirst("unheard");
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", venueId: "w-1" });
  });
});

describe("a withdrawal whose reply is lost while the clock of the machine is set", () => {
  it("has not failed because the clock jumps past its time while the venue still acts on it", async () => {
    const { world, life } = await begun();
    world.named.weather = () => "late";
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    world.named.weather = () => "fine";
    life.keeper.start();
    await world.clock.advanceAsync(1_500);
    world.clock.stepWall(3 * 86_400_000);
    await world.clock.advanceAsync(60_000);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "broadcast" });
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed" });
  });
});

describe("a withdrawal whose payout has a text in place of a hash", () => {
  it("is confirmed without it, and read again after a restart", async () => {
    const { world, life } = await begun();
    world.listed.paidHash = "Internal transfer 42";
    const row = await world.answered(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    await world.untilQuiet(life);
    const next = await world.live();
    expect(await next.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", hash: null });
  });
});

describe("a transfer between accounts", () => {
  it("is sent once under its name; the same ask again is the same transfer", async () => {
    const { world, life } = await begun();
    const first = await world.answered(life, life.transfers.move(world.internal("70", "a")));
    const second = await world.answered(life, life.transfers.move(world.internal("70", "a")));
    expect([first.state, first.venueId, second.transferId]).toEqual(["confirmed", "m-1", first.transferId]);
    expect(world.listed.moves).toHaveLength(1);
    const error = await world.refusal(life, life.transfers.move(world.internal("71", "a")));
    expect([error.code, error.context["transferId"]]).toEqual(["TRANSFER_NAME_USED", first.transferId]);
  });

  it("whose reply is lost is unknown until the venue shows its name", async () => {
    const { world, life } = await begun();
    world.listed.weather = () => "unheard";
    const row = await world.answered(life, life.transfers.move(world.internal("70", "a")));
    expect(row.state).toBe("unknown");
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", venueId: "m-1" });
    expect(world.listed.moves).toHaveLength(1);
  });

  it("that was lost is sent again under its name a minute later", async () => {
    const { world, life } = await begun();
    world.listed.weather = () => "lost";
    const row = await world.answered(life, life.transfers.move(world.internal("70", "a")));
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed" });
    expect(world.listed.moves).toMatchObject([{ name: "a" }]);
  });

  it("whose reply is lost is not another one of its amount, done within the same minute", async () => {
    const { world, life } = await begun();
    await world.answered(life, life.transfers.move(world.internal("70", "a")));
    world.listed.weather = () => "lost";
    const row = await world.answered(life, life.transfers.move(world.internal("70", "b")));
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed", venueId: "m-2" });
    expect(world.listed.moves).toMatchObject([{ name: "a" }, { name: "b" }]);
  });

  it("whose reply is lost is not another one of its amount, where the list has ids that no reply has", async () => {
    const { world, life } = await begun();
    world.listed.listsOwnIds = true;
    await world.answered(life, life.transfers.move(world.internal("70", "a")));
    world.listed.weather = () => "lost";
    const row = await world.answered(life, life.transfers.move(world.internal("70", "b")));
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "confirmed" });
    expect(world.listed.moves).toMatchObject([{ name: "a" }, { name: "b" }]);
    world.listed.weather = () => "unheard";
    const third = await world.answered(life, life.transfers.move(world.internal("70", "c")));
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    expect(await life.transfers.find(third.transferId)).toMatchObject({ state: "confirmed" });
    expect(world.listed.moves).toHaveLength(3);
  });

  it("that may be one of the list is unknown, though it is refused when it is sent again", async () => {
    const { world, life } = await begun();
    world.listed.weather = () => "unheard";
    const first = await world.answered(life, life.transfers.move(world.internal("70", "a")));
    world.listed.weather = () => "lost";
    const second = await world.answered(life, life.transfers.move(world.internal("70", "b")));
    world.listed.weather = () => "fine";
    world.listed.refusesMoves = true;
    await world.untilQuiet(life);
    for (const { transferId } of [first, second])
      expect(await life.transfers.find(transferId)).toMatchObject({ state: "unknown" });
  });

  it("that is refused when it is sent again has failed, where all of the list's are of others", async () => {
    const { world, life } = await begun();
    world.listed.listsOwnIds = true;
    await world.answered(life, life.transfers.move(world.internal("70", "a")));
    world.listed.weather = () => "lost";
    const row = await world.answered(life, life.transfers.move(world.internal("70", "b")));
    world.listed.weather = () => "fine";
    world.listed.refusesMoves = true;
    await world.untilQuiet(life);
    expect(await life.transfers.find(row.transferId)).toMatchObject({ state: "failed", reason: "VENUE_REFUSED" });
  });

  it("of two of one amount, of which one arrived and neither was answered, is each found as what it came to", async () => {
    const { world, life } = await begun();
    world.listed.weather = () => "lost";
    const first = await world.answered(life, life.transfers.move(world.internal("70", "a")));
    world.listed.weather = () => "unheard";
    const second = await world.answered(life, life.transfers.move(world.internal("70", "b")));
    world.listed.weather = () => "fine";
    await world.untilQuiet(life);
    const rows = await Promise.all([first, second].map(({ transferId }) => life.transfers.find(transferId)));
    expect(rows).toMatchObject([{ state: "confirmed" }, { state: "confirmed" }]);
    expect(rows.map((row) => row?.venueId).sort()).toEqual(["m-1", "m-2"]);
    expect(world.listed.moves).toMatchObject([{ name: "b" }, { name: "a" }]);
  });

  it("of more than there is has failed, and the caller hears so", async () => {
    const { world, life } = await begun();
    const error = await world.refusal(life, life.transfers.move(world.internal("2000000", "a")));
    expect([error.code, error.message]).toEqual(["INSUFFICIENT_BALANCE", "Insufficient balance for transfer"]);
    expect(await world.refusal(life, life.transfers.move(world.internal("2000000", "a")))).toMatchObject({
      code: "INSUFFICIENT_BALANCE",
    });
    expect(await world.rows(life)).toHaveLength(1);
  });
});

describe("the list of a wallet", () => {
  it("is newest first, page by page, and the listeners and counts know each change", async () => {
    const { world, life } = await begun();
    const heard: string[] = [];
    life.transfers.listen((row) => heard.push(`${row.amount} ${row.state}`));
    for (let index = 1; index <= 9; index++) {
      await world.answered(life, life.transfers.move(world.internal(`${index}`, `name-${index}`)));
      await world.clock.advanceAsync(10);
    }
    expect((await world.rows(life)).map(({ amount }) => amount)).toEqual(["9", "8", "7", "6", "5", "4", "3", "2", "1"]);
    expect(heard.slice(0, 3)).toEqual(["1 created", "1 signed", "1 confirmed"]);
    await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    expect(life.keeper.counts()).toEqual([
      { venue: "venuetwo", kind: "internal", state: "confirmed", count: 9 },
      { venue: "venueone", kind: "withdrawal", state: "broadcast", count: 1 },
    ]);
  });
});
