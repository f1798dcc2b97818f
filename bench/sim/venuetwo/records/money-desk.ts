/**
 * Money between the venue and the chains, fact sheet 9.3 and 9.4: what came in, what is going out, and the venue's rows
 * of both. Invariant: a withdrawal leaves the account when it is accepted, and comes back whole where it is not paid.
 */
import { formatUnits, type Hex } from "viem";
import type { SimExchange } from "../../core/engine/exchange.js";
import { keepBounded } from "../../core/model/state.js";
import type { ChainDeposit } from "../../chain/deposit-watcher.js";
import type { Payout } from "../../chain/payout-desk.js";
import { Treasury, type VenueChains } from "../../chain/treasury.js";
import { WORLD, type WorldChainId, worldToken } from "../../chain/world-plan.js";
import type { KeyRing } from "./keys.js";

export type AccountType = "spot" | "perp";

/** As the venue prints it, amounts in token units. */
export interface MoneyRow {
  readonly id: string;
  readonly type: "DEPOSIT" | "WITHDRAW";
  readonly asset: string;
  readonly amount: string;
  state: "PROCESSING" | "SUCCESS" | "FAILED";
  /** Empty until there is one. */
  txHash: string;
  readonly time: number;
  readonly chainId: number;
  readonly accountType: AccountType;
}

export interface WithdrawalRequest {
  readonly accountId: string;
  readonly wallet: Hex;
  readonly chainId: WorldChainId;
  readonly accountType: AccountType;
  readonly amountE12: bigint;
  readonly feeE12: bigint;
  /** As it was sent. */
  readonly amount: string;
}

/** What the control API changes. */
export interface MoneySettings {
  /** Whether a wallet's withdrawal nonce counts twice. What the venue does is not known. */
  readonly repeatedNonce: "refuse" | "accept";
  /** Where deposits land; whether the broker's number decides it is not known. */
  readonly landing: AccountType;
  /** Withdrawals stay PROCESSING. */
  readonly hold: boolean;
}

export const ASSET = "USDT";
const MONEY_DECIMALS = 12;
const FIRST_ID = 1_000_000_000_000_000_000n;

export interface MoneyDeskDeps {
  readonly exchange: SimExchange;
  readonly keys: KeyRing;
  readonly chains: VenueChains | undefined;
}

interface OpenWithdrawal {
  readonly request: WithdrawalRequest;
  readonly row: MoneyRow;
}

export class MoneyDesk {
  readonly treasury: Treasury | null;
  #settings: MoneySettings = { repeatedNonce: "refuse", landing: "spot", hold: false };
  readonly #deps: MoneyDeskDeps;
  readonly #rows = new Map<string, MoneyRow[]>();
  readonly #open = new Map<string, OpenWithdrawal>();
  /** Of deposits. */
  readonly #firstSeenMs = new Map<string, number>();
  #nextId: bigint;

  constructor(deps: MoneyDeskDeps) {
    this.#deps = deps;
    // A chain may outlive the venue, and pays once for each id.
    this.#nextId = FIRST_ID + BigInt(deps.exchange.nowMs()) * 1_000n;
    const listener = {
      onDeposit: (deposit: ChainDeposit) => this.#credit(deposit),
      onPayoutEnd: (payout: Payout) => this.#conclude(payout),
    };
    this.treasury = deps.chains === undefined ? null : new Treasury("vault", deps.chains, listener);
  }

  get settings(): MoneySettings {
    return this.#settings;
  }

  /** Throws RangeError on a value that a setting does not take. */
  change(body: Readonly<Record<string, unknown>>): void {
    const { repeatedNonce, landing, hold } = { ...this.#settings, ...body };
    if (repeatedNonce !== "refuse" && repeatedNonce !== "accept") throw new RangeError("repeatedNonce: refuse, accept");
    if (landing !== "spot" && landing !== "perp") throw new RangeError("landing: spot, perp");
    if (typeof hold !== "boolean") throw new RangeError("hold: true, false");
    this.#settings = { repeatedNonce, landing, hold };
    this.treasury?.hold(hold);
  }

  /** For the control API. */
  describe(): Readonly<Record<string, unknown>> {
    const pending = (this.treasury?.pending ?? []).map(({ hash, chainId, account }) => ({ hash, chainId, account }));
    return { ...this.#settings, pending, open: this.treasury?.open ?? [], problem: this.treasury?.problem ?? null };
  }

  /** Decimals of the asset on a chain where the venue has a vault; null elsewhere. */
  decimals(chainId: number): number | null {
    const known = this.treasury === null ? chainId in WORLD : this.treasury.serves(chainId);
    return known ? worldToken(chainId as WorldChainId, ASSET).decimals : null;
  }

  /** Takes the money and lets it be paid out. Returns the venue's id; null where the balance is too small. */
  withdraw(request: WithdrawalRequest): string | null {
    const { accountId, chainId, accountType, amountE12, feeE12, amount } = request;
    if (!this.#move(accountId, accountType, -(amountE12 + feeE12))) return null;
    const id = String(this.#nextId++);
    const time = this.#deps.exchange.nowMs();
    const row: MoneyRow = {
      ...{ id, type: "WITHDRAW", asset: ASSET, amount, time, chainId, accountType },
      ...(this.treasury === null ? { state: "SUCCESS" } : { state: "PROCESSING" }),
      txHash: "",
    };
    this.#addRow(accountId, row);
    if (this.treasury === null) return id;
    this.#open.set(id, { request, row });
    const { wallet: user } = request;
    const [value, fee] = [amountE12, feeE12].map((e12) => toUnits(e12, this.decimals(chainId) ?? MONEY_DECIMALS));
    this.treasury.pay({
      ...{ reference: id, id: BigInt(id), chainId, token: ASSET, user, destination: user },
      ...{ amount: value ?? 0n, fee: fee ?? 0n },
    });
    return id;
  }

  /** The newest first, with deposits that the venue still waits for. */
  history(accountId: string, wallet: string | null): readonly MoneyRow[] {
    const pending = (this.treasury?.pending ?? []).filter(({ account }) => account === wallet);
    for (const { id, hash } of this.treasury?.open ?? []) {
      const row = this.#open.get(id)?.row;
      if (row !== undefined) row.txHash = hash ?? "";
    }
    const settled = this.#rows.get(accountId) ?? [];
    return [...settled, ...pending.map((deposit) => this.#rowOf(deposit, "PROCESSING"))].reverse();
  }

  #credit(deposit: ChainDeposit): void {
    const { exchange, keys } = this.#deps;
    // Of the native coin there is no account here.
    if (deposit.token !== ASSET) return;
    let accountId = keys.accountOf(deposit.account);
    if (accountId === null) {
      // Who deposits has an account, whether or not the wallet was seen before.
      accountId = deposit.account;
      if (exchange.accounts.find(accountId) === null) exchange.desk.createAccount({ accountId, deposit: "0" });
      keys.register(accountId, { wallet: accountId });
    }
    const { landing } = this.#settings;
    this.#move(accountId, landing, toE12(deposit.amount, deposit.decimals));
    this.#addRow(accountId, this.#rowOf(deposit, "SUCCESS"));
  }

  #conclude({ id, state, hash }: Payout): void {
    const open = this.#open.get(id);
    if (open === undefined || state === "PROCESSING") return;
    this.#open.delete(id);
    open.row.state = state;
    open.row.txHash = hash ?? "";
    const { accountId, accountType, amountE12, feeE12 } = open.request;
    if (state === "FAILED") this.#move(accountId, accountType, amountE12 + feeE12);
  }

  #move(accountId: string, accountType: AccountType, amountE12: bigint): boolean {
    const { desk } = this.#deps.exchange;
    if (accountType === "spot") return desk.adjustSpot(accountId, amountE12).ok;
    return desk.adjustWallet(accountId, amountE12, amountE12 < 0n ? "WITHDRAW" : "DEPOSIT").ok;
  }

  #addRow(accountId: string, row: MoneyRow): void {
    const rows = this.#rows.get(accountId) ?? [];
    this.#rows.set(accountId, rows);
    keepBounded(rows, row);
  }

  #rowOf({ id, token, amount, decimals, hash, chainId }: ChainDeposit, state: MoneyRow["state"]): MoneyRow {
    const time = this.#firstSeenMs.get(id) ?? this.#deps.exchange.nowMs();
    this.#firstSeenMs.set(id, time);
    const accountType = this.#settings.landing;
    return {
      ...{ id, type: "DEPOSIT", asset: token, amount: formatUnits(amount, decimals), state },
      ...{ txHash: hash, time, chainId, accountType },
    };
  }
}

/** Down to what the venue counts in. */
function toE12(amount: bigint, decimals: number): bigint {
  return decimals >= MONEY_DECIMALS
    ? amount / 10n ** BigInt(decimals - MONEY_DECIMALS)
    : amount * 10n ** BigInt(MONEY_DECIMALS - decimals);
}

function toUnits(amountE12: bigint, decimals: number): bigint {
  return decimals >= MONEY_DECIMALS
    ? amountE12 * 10n ** BigInt(decimals - MONEY_DECIMALS)
    : amountE12 / 10n ** BigInt(MONEY_DECIMALS - decimals);
}
