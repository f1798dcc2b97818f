/**
 * The venue's own records beside the protocol-free exchange: accounts and their roles, ledger rows, agents, nonces,
 * request budgets, and what each order was in the venue's words. Invariant: every account id of the exchange is a
 * lower-case address, and every user-facing record can be rebuilt from here and the exchange alone.
 */
import { createHash } from "node:crypto";
import type { Random } from "../../../../engine/domain/random.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimAccountCause, SimOrder } from "../../core/model/types.js";
import type { SimRequestLog } from "../../core/server/request-log.js";
import type { GroupingWord, TimeInForceWord } from "../wire/order-request.js";
import { AgentRegistry } from "./agents.js";
import { NonceSet } from "./nonces.js";
import type { VenueoneCadences, VenueoneLimits } from "./options.js";
import type { Universe } from "./universe.js";

/** Ledger rows kept per account; the oldest go first. */
const LEDGER_ROWS_MAX = 5_000;
/** Signers whose nonces are remembered; overflow forgets the one unused for longest. */
const SIGNERS_MAX = 50_000;
const SUB_ACCOUNTS_MAX = 50;
export const E12_PER_USD = 1_000_000_000_000n;

/** What the room keeps with an order of the exchange (`SimOrder.tag`). */
export interface OrderTag {
  readonly tif: TimeInForceWord | null;
  readonly isTriggerMarket: boolean;
  readonly tpsl: "tp" | "sl" | null;
  readonly grouping: GroupingWord;
  readonly builder: { readonly address: string; readonly feeTenthsBps: number } | null;
  /** Size as asked, before any reduce-only clamp. */
  readonly askedLots: number;
  /** When a lookup by cloid finds it. */
  readonly indexedMs: number;
}

export interface LedgerRow {
  readonly time: number;
  readonly hash: string;
  readonly delta: Readonly<Record<string, unknown>>;
}

export type AccountRole = "user" | "subAccount";

export interface VenueAccount {
  readonly address: string;
  readonly role: AccountRole;
  readonly master: string | null;
  readonly subAccounts: string[];
  /** Cumulative traded volume. */
  volumeE12: bigint;
  requestsUsed: number;
  requestsReserved: number;
  lastOverBudgetMs: number;
  /** Approved maximum per builder, in tenths of a basis point. */
  readonly builderFees: Map<string, number>;
  abstraction: string;
  readonly ledger: LedgerRow[];
  /** Dead man's switch: venue ms, or null. */
  scheduledCancelMs: number | null;
  scheduledFirings: { day: number; count: number };
}

export type LedgerListener = (account: VenueAccount, row: LedgerRow) => void;

export interface Withdrawal {
  readonly destination: string;
  /** What is paid, without the fee. */
  readonly amountE12: bigint;
  readonly feeE12: bigint;
  /** The action's `time`; the bridge's events carry it. */
  readonly nonce: number;
}

export interface PayoutPort {
  /** Pays out what the account has given already. */
  pay(account: VenueAccount, withdrawal: Withdrawal): void;
}

export interface VenueDeps {
  readonly exchange: SimExchange;
  readonly universe: Universe;
  readonly isMainnet: boolean;
  readonly random: Random;
  readonly limits: VenueoneLimits;
  readonly cadences: VenueoneCadences;
  readonly log: SimRequestLog;
}

export class Venue {
  readonly exchange: SimExchange;
  readonly universe: Universe;
  readonly isMainnet: boolean;
  readonly random: Random;
  readonly limits: VenueoneLimits;
  readonly cadences: VenueoneCadences;
  readonly log: SimRequestLog;
  /** Null where withdrawals go to no chain. */
  payouts: PayoutPort | null = null;
  /** Charged on a bridge withdrawal, out of the amount (whether on top or inside is not documented); it may change. */
  withdrawFeeE12 = E12_PER_USD;
  readonly agents = new AgentRegistry((address) => this.account(address) !== null);
  readonly #accounts = new Map<string, VenueAccount>();
  readonly #nonceSets = new Map<string, NonceSet>();
  readonly #ledgerListeners = new Set<LedgerListener>();
  #ownCashMove = false;

  constructor(deps: VenueDeps) {
    this.exchange = deps.exchange;
    this.universe = deps.universe;
    this.isMainnet = deps.isMainnet;
    this.random = deps.random;
    this.limits = deps.limits;
    this.cadences = deps.cadences;
    this.log = deps.log;
    deps.exchange.addListener({
      onAccount: (changed, cause) => this.#onAccount(changed.accountId, cause),
      onOrder: (order, event, fill) => {
        const owner = event === "TRADE" && fill !== null ? this.account(order.accountId) : null;
        if (owner === null || fill === null) return;
        owner.volumeE12 += fillNotionalE12(this.exchange, fill.symbol, fill.priceTicks, fill.qtyLots);
      },
    });
  }

  /** The record of an account that exists on the exchange; null for a stranger. */
  account(address: string): VenueAccount | null {
    const known = this.#accounts.get(address);
    if (known !== undefined) return known;
    // Accounts made through the control API appear on the exchange first.
    return this.exchange.accounts.find(address) === null ? null : this.#record(address, "user", null);
  }

  /** An account begins with its first funds, whatever the control API has made of the address. */
  hasDeposited({ address, role }: VenueAccount): boolean {
    const known = this.exchange.accounts.find(address);
    if (known === null || role === "subAccount") return known !== null;
    return known.spotE12 > 0n || this.exchange.accounts.income(address).length > 0;
  }

  /** Creates account and record. */
  openAccount(address: string, depositUsd: string, spotUsd: string): VenueAccount {
    const account = this.#record(address, "user", null);
    // The engine books the first deposit itself; the row is written here whether or not it announces it.
    this.#ownCashMove = true;
    this.exchange.desk.createAccount({ accountId: address, deposit: depositUsd, spotDeposit: spotUsd });
    this.#ownCashMove = false;
    this.noteFirstDeposit(account);
    return account;
  }

  /** The engine announces no first deposit. */
  noteFirstDeposit(account: VenueAccount): void {
    const wallet = this.exchange.accounts.find(account.address)?.walletE12 ?? 0n;
    if (account.ledger.length === 0 && wallet > 0n)
      this.addLedgerRow(account, { type: "deposit", usdc: usdText(wallet) });
  }

  openSubAccount(master: VenueAccount): VenueAccount | null {
    if (master.subAccounts.length >= SUB_ACCOUNTS_MAX) return null;
    const address = `0x${hash64(`sub:${master.address}:${master.subAccounts.length}`).slice(2, 42)}`;
    const created = this.#record(address, "subAccount", master.address);
    this.exchange.desk.createAccount({ accountId: address, deposit: "0" });
    master.subAccounts.push(address);
    return created;
  }

  accounts(): readonly VenueAccount[] {
    for (const known of this.exchange.accounts.all()) this.account(known.accountId);
    return [...this.#accounts.values()];
  }

  nonces(signer: string): NonceSet {
    const known = this.#nonceSets.get(signer) ?? new NonceSet();
    // Re-inserting keeps the map in order of last use.
    this.#nonceSets.delete(signer);
    this.#nonceSets.set(signer, known);
    const stalest = this.#nonceSets.size > SIGNERS_MAX ? this.#nonceSets.keys().next().value : undefined;
    if (stalest !== undefined) this.#nonceSets.delete(stalest);
    return known;
  }

  addLedgerRow(to: VenueAccount, delta: Readonly<Record<string, unknown>>): void {
    const time = this.exchange.nowMs();
    const row = { time, hash: hash64(`${to.address}:${time}:${to.ledger.length}:${JSON.stringify(delta)}`), delta };
    to.ledger.push(row);
    if (to.ledger.length > LEDGER_ROWS_MAX) to.ledger.shift();
    for (const listener of this.#ledgerListeners) listener(to, row);
  }

  onLedgerRow(listener: LedgerListener): () => void {
    this.#ledgerListeners.add(listener);
    return () => this.#ledgerListeners.delete(listener);
  }

  /** Moves cash without the automatic deposit row. */
  moveCash(of: VenueAccount, amountE12: bigint, cause: SimAccountCause): boolean {
    this.#ownCashMove = true;
    const moved = this.exchange.desk.adjustWallet(of.address, amountE12, cause);
    this.#ownCashMove = false;
    return moved.ok;
  }

  #onAccount(accountId: string, cause: SimAccountCause): void {
    if (!this.#hasFunds(accountId)) this.agents.prune(accountId);
    if (this.#ownCashMove || cause !== "DEPOSIT") return;
    const moved = this.exchange.accounts.income(accountId).findLast((entry) => entry.type === "TRANSFER");
    const to = this.account(accountId);
    if (to === null || moved === undefined || moved.amountE12 <= 0n) return;
    this.addLedgerRow(to, { type: "deposit", usdc: usdText(moved.amountE12) });
  }

  #hasFunds(accountId: string): boolean {
    const account = this.exchange.accounts.find(accountId);
    if (account === null) return false;
    const holds = [...account.positions.values()].some(({ qtyLots }) => qtyLots !== 0);
    return holds || account.walletE12 + account.spotE12 > 0n;
  }

  #record(address: string, role: AccountRole, master: string | null): VenueAccount {
    const created: VenueAccount = {
      address,
      role,
      master,
      subAccounts: [],
      volumeE12: 0n,
      requestsUsed: 0,
      requestsReserved: 0,
      lastOverBudgetMs: 0,
      builderFees: new Map(),
      abstraction: "disabled",
      ledger: [],
      scheduledCancelMs: null,
      scheduledFirings: { day: 0, count: 0 },
    };
    this.#accounts.set(address, created);
    return created;
  }
}

/** 32 bytes of stable hex for a transaction-like hash. */
export function hash64(text: string): string {
  return `0x${createHash("sha256").update(text).digest("hex")}`;
}

/** The tag, when the order came through this room (the engine's own liquidation orders carry none). */
export function tagOf(order: SimOrder): OrderTag | null {
  return isOrderTag(order.tag) ? order.tag : null;
}

function isOrderTag(tag: unknown): tag is OrderTag {
  return typeof tag === "object" && tag !== null && "grouping" in tag && "indexedMs" in tag;
}

/** price × quantity in E12. */
export function fillNotionalE12(exchange: SimExchange, symbol: string, priceTicks: number, qtyLots: number): bigint {
  const instrument = exchange.instruments.get(symbol);
  if (instrument === undefined) return 0n;
  const scale = 12 - instrument.priceDecimals - instrument.qtyDecimals;
  return BigInt(priceTicks) * BigInt(qtyLots) * 10n ** BigInt(scale);
}

/** USD at the perp side's 6 decimals, truncated toward zero, reply style. */
export function usdText(amountE12: bigint): string {
  const e6 = amountE12 / 1_000_000n;
  const negative = e6 < 0n;
  const digits = (negative ? -e6 : e6).toString().padStart(7, "0");
  const fraction = digits.slice(-6).replace(/0+$/, "");
  return `${negative ? "-" : ""}${digits.slice(0, -6)}.${fraction === "" ? "0" : fraction}`;
}
