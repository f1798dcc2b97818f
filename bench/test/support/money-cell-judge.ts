/**
 * What became of one cell's money, by the chain's logs and the venue's books since the cell began; then whether the ledger
 * says the same.
 */
import { formatUnits, parseUnits } from "viem";
import { expect } from "vitest";
import { worldToken } from "../../sim/chain/world-plan.js";
import { type RowFields, rowOf, rowsOf } from "./money-asks.js";
import {
  coinsOf,
  depositsOnChain,
  inVenueUnits,
  payoutsOnChain,
  sentCount,
  tokensOf,
  type VenueBooks,
  venueBooks,
  withdrawalsTaken,
} from "./money-books.js";
import type { CellMoney } from "./money-cell-money.js";
import { kindOf, planOfCell, staysUnknown } from "./money-cells.js";
import { ALLOWED, type MoneyService, type MoneyStand } from "./money-stand.js";
import { found } from "./system.js";

/** What the service offers on each chain, in tokens: one and a half times what the local venue estimates. */
const FEES: Readonly<Record<number, string>> = { 1: "1.35", 56: "0.000255", 42161: "0.03" };

/** What was there when the cell began. */
interface Before {
  readonly rows: ReadonlySet<string>;
  readonly tokens: bigint;
  readonly coins: bigint;
  readonly sent: number;
  readonly effects: number;
  readonly taken: number;
  readonly books: VenueBooks;
}

export class CellJudge {
  readonly name: string;
  readonly #stand: MoneyStand;
  readonly #service: MoneyService;
  readonly #money: CellMoney;
  #started: Before | null = null;

  constructor(stand: MoneyStand, service: MoneyService, money: CellMoney, name: string) {
    this.#stand = stand;
    this.#service = service;
    this.#money = money;
    this.name = name;
  }

  /** What was there when the cell began. */
  get before(): Before {
    if (this.#started === null) throw new Error("not begun");
    return this.#started;
  }

  async begin(): Promise<void> {
    this.#started = await this.#now();
  }

  async #now(): Promise<Before> {
    const { network } = this.#money.cell;
    const [stand, address] = [this.#stand, this.#money.address];
    const rows = await rowsOf(this.#service.caller, this.#money.wallet);
    const common = {
      rows: new Set(rows.map(({ transferId }) => transferId)),
      taken: withdrawalsTaken(stand.pair, this.#money.venue, address),
      books: this.books(),
    };
    if (network === null) return { ...common, tokens: 0n, coins: 0n, sent: 0, effects: 0 };
    return {
      ...common,
      tokens: await tokensOf(stand, network, this.#money.symbol, address),
      coins: await coinsOf(stand, network, address),
      sent: await sentCount(stand, network, address),
      effects: (await this.#effects()).length,
    };
  }

  /** Of this kind and of this wallet, since ever. */
  #effects(): Promise<readonly bigint[]> {
    const where = { chainId: this.#money.chainId, venue: this.#money.venue };
    return kindOf(this.#money.cell) === "deposit"
      ? depositsOnChain(this.#stand, { ...where, address: this.#money.address })
      : payoutsOnChain(this.#stand, this.#money.payout);
  }

  async ownRow(): Promise<RowFields | undefined> {
    return (await this.#ownRows())[0];
  }

  async #ownRows(): Promise<readonly RowFields[]> {
    const rows = await rowsOf(this.#service.caller, this.#money.wallet);
    return rows.filter(({ transferId }) => !this.before.rows.has(transferId));
  }

  /** At the venue, in both accounts together. */
  gained(): bigint {
    const { spot, perp } = this.books();
    return spot + perp - this.before.books.spot - this.before.books.perp;
  }

  books(): VenueBooks {
    return venueBooks(this.#stand.pair, this.#money.venue, this.#money.address);
  }

  async ended(transferId: unknown): Promise<RowFields> {
    const { caller } = this.#service;
    let last: RowFields | undefined;
    const look = async (): Promise<RowFields | null> => {
      last = await rowOf(caller, transferId);
      return this.#isEnd(last) ? last : null;
    };
    return found(() => `${this.name} ends: ${JSON.stringify(last)}`, look);
  }

  #isEnd({ state, venueId, payout }: RowFields): boolean {
    if (state === "failed") return true;
    if (staysUnknown(this.#money.cell)) return state === "unknown";
    if (kindOf(this.#money.cell) === "deposit") return state === "confirmed" && venueId !== null;
    if (kindOf(this.#money.cell) === "internal") return state === "confirmed";
    return state === "confirmed" && payout === "completed";
  }

  async judge(row: RowFields): Promise<void> {
    const rows = await this.#ownRows();
    expect(
      rows.map(({ transferId }) => transferId),
      this.name,
    ).toEqual([row.transferId]);
    const judges = {
      deposit: () => this.#judgeDeposit(row),
      withdrawal: () => this.#judgeWithdrawal(row),
      internal: () => this.#judgeInternal(row),
    };
    await judges[kindOf(this.#money.cell)]();
  }

  async #judgeDeposit(row: RowFields): Promise<void> {
    const { decimals } = worldToken(this.#money.chainId, this.#money.symbol);
    const plan = planOfCell(this.#money.cell);
    const gas = row.steps.reduce((sum, { gasCost }) => sum + parseUnits(gasCost ?? "0", 18), 0n);
    const [before, now] = [this.before, await this.#now()];
    const seen = {
      effects: (await this.#effects()).slice(before.effects),
      wallet: before.tokens - now.tokens,
      venue: this.gained(),
      sent: now.sent - before.sent,
      gas: before.coins - now.coins,
      row: [row.state, row.reason, row.amount, row.steps.map(({ name }) => name)],
    };
    expect(seen, this.name).toEqual({
      effects: [this.#money.units],
      wallet: this.#money.units,
      venue: inVenueUnits(this.#money.units, decimals),
      sent: plan.length,
      gas,
      row: ["confirmed", null, this.#money.amount, plan],
    });
    expect(gas > 0n, this.name).toBe(true);
  }

  async #judgeWithdrawal(row: RowFields): Promise<void> {
    const isNone = staysUnknown(this.#money.cell);
    const isOne = this.#money.venue === "venueone";
    const { decimals } = worldToken(this.#money.chainId, this.#money.symbol);
    const paid = isOne ? this.#money.net : this.#money.units;
    // The bridge takes its fee out of the amount, the other venue besides.
    const fee = inVenueUnits(parseUnits(isOne ? "1" : (FEES[this.#money.chainId] ?? ""), decimals), decimals);
    const cost = isNone ? 0n : inVenueUnits(paid, decimals) + fee;
    const isSpot = this.#money.cell.direction.endsWith("spot");
    const [before, now] = [this.before, await this.#now()];
    // Others pay to the same foreign address, each its own amount.
    const isForeign = this.#money.payout.to === ALLOWED;
    const payouts = (await this.#effects()).slice(isForeign ? 0 : before.effects);
    const seen = {
      effects: isForeign ? payouts.filter((one) => one === paid) : payouts,
      asked: now.taken - before.taken,
      books: { spot: before.books.spot - now.books.spot, perp: before.books.perp - now.books.perp },
      arrived: isForeign ? 0n : now.tokens - before.tokens,
      row: [row.state, row.reason, row.amount, row.paid],
    };
    const end = isNone ? "unknown" : "confirmed";
    expect(seen, this.name).toEqual({
      effects: isNone ? [] : [paid],
      asked: isNone ? 0 : 1,
      books: isSpot ? { spot: cost, perp: 0n } : { spot: 0n, perp: cost },
      arrived: isNone || isForeign ? 0n : paid,
      row: [end, null, this.#money.amount, isNone ? null : formatUnits(paid, decimals)],
    });
  }

  async #judgeInternal(row: RowFields): Promise<void> {
    const moved = parseUnits(this.#money.amount, 12) * (this.#money.cell.direction === "spot to perp" ? 1n : -1n);
    const { spot, perp } = this.before.books;
    const seen = { books: this.books(), row: [row.state, row.reason, row.amount] };
    expect(seen, this.name).toEqual({
      books: { spot: spot - moved, perp: perp + moved },
      row: ["confirmed", null, this.#money.amount],
    });
  }
}
