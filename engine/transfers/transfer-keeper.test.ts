/** Rows that no request waits for go on by themselves, and cost little while they cannot. */
import { describe, expect, it } from "vitest";
import { TransferWorld } from "./test/transfer-world.js";
import { TransferBook } from "./transfer-book.js";
import type { TransferRow } from "./transfer-row.js";

const AMOUNT = 7_000_000n;
const HOUR_MS = 3_600_000;

describe("the keeper", () => {
  it("looks again after a pause that doubles up to five minutes, and soon once something moved", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    await world.outcome(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    const looks: number[] = [];
    world.named.weather = () => {
      looks.push(world.clock.wallMs());
      return "lost";
    };
    const startMs = world.clock.wallMs();
    life.keeper.start();
    await world.clock.advanceAsync(HOUR_MS);
    const pauses = looks.map((atMs, index) => atMs - (looks[index - 1] ?? startMs));
    expect(pauses.slice(1, 6)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
    expect(Math.max(...pauses)).toBe(300_000);
    expect(looks.length).toBeLessThan(25);
    await world.untilQuiet(life);
  });

  it("sets no timer while nothing is open, and finds what a request begins", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    life.keeper.start();
    await world.clock.advanceAsync(1_000);
    expect(world.clock.pendingTimerCount).toBe(0);
    world.chain.baseFee = 10n;
    const call = life.transfers.deposit(world.deposit(world.named, AMOUNT));
    await world.outcome(life, call);
    await world.clock.advanceAsync(120_000);
    expect((await world.rows(life))[0]).toMatchObject({ state: "confirmed", isCreditAwaited: false });
    expect(world.clock.pendingTimerCount).toBe(0);
  });

  it("goes on with one lane while another one's venue does not answer", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    await world.outcome(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    await world.outcome(life, life.transfers.withdraw(world.withdrawal(world.listed, AMOUNT)));
    world.named.isMute = true;
    life.keeper.start();
    await world.clock.advanceAsync(600_000);
    const states = (await world.rows(life)).map(({ venue, state }) => `${venue} ${state}`);
    expect(states.sort()).toEqual(["venueone broadcast", "venuetwo confirmed"]);
    world.named.isMute = false;
    await world.untilQuiet(life);
    expect((await world.rows(life)).map(({ state }) => state)).toEqual(["confirmed", "confirmed"]);
  });

  it("stops when what is under way has ended", async () => {
    const world = new TransferWorld();
    const life = await world.live();
    await world.outcome(life, life.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
    life.keeper.start();
    await world.clock.advanceAsync(0);
    await life.keeper.stop();
    const before = world.clock.pendingTimerCount;
    await world.clock.advanceAsync(HOUR_MS);
    expect([world.clock.pendingTimerCount <= before, (await world.rows(life))[0]?.state]).toEqual([true, "broadcast"]);
  });

  it("follows a withdrawal no further than the venue shows it, and holds none of them for ever", async () => {
    const world = new TransferWorld();
    world.named.hidesPayments = true;
    const life = await world.live();
    life.keeper.start();
    const rows: TransferRow[] = [];
    for (const amount of [AMOUNT, AMOUNT + 1n])
      rows.push(await world.answered(life, life.transfers.withdraw(world.withdrawal(world.named, amount))));
    await world.clock.advanceAsync(60_000);
    expect(world.clock.pendingTimerCount).toBe(0);
    const count = { venue: "venueone", kind: "withdrawal", state: "broadcast", count: 2 };
    expect(life.keeper.counts()).toEqual([count]);
    const next = await world.live();
    expect(next.keeper.counts()).toEqual([]);
    for (const { transferId } of rows)
      expect(await next.transfers.find(transferId)).toMatchObject({ state: "broadcast", payout: "left" });
  });

  it("comes to every row, however many stand before it and never come to an end", async () => {
    const { world, rows, life } = await crowd(3_000);
    const last = await world.answered(life, life.transfers.move(world.internal("70", "last")));
    expect([rows.length, last.state]).toEqual([3_000, "unknown"]);
    world.listed.weather = () => "fine";
    life.keeper.start();
    const state = async () => (await life.transfers.find(last.transferId))?.state;
    for (let round = 0; round < 40 && (await state()) === "unknown"; round++) await world.clock.advanceAsync(15_000);
    expect(await state()).toBe("confirmed");
  }, 60_000);
});

/** Withdrawals of as many wallets, which the venue has and never pays. */
async function crowd(count: number) {
  const world = new TransferWorld();
  const first = await world.live();
  const model = await world.answered(first, first.transfers.withdraw(world.withdrawal(world.named, AMOUNT)));
  const rows = Array.from({ length: count }, (_, index): TransferRow => {
    const account = `0x${(index + 1).toString(16).padStart(40, "0")}`;
    return { ...model, transferId: world.newId(), account } as TransferRow;
  });
  const book = new TransferBook(world.store);
  for (const row of rows) await book.create(row, []);
  world.named.paysMs = Number.POSITIVE_INFINITY;
  world.listed.weather = () => "lost";
  return { world, rows, life: await world.live() };
}
