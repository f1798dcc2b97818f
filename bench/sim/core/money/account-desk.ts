/** Accounts as their owners change them: deposits, transfers, leverage, modes, isolated margin. Refusals change nothing. */
import { parseScaled } from "../model/fixed.js";
import type { Ledger } from "./ledger.js";
import type { Margins } from "./margins.js";
import type { Listeners } from "../model/listeners.js";
import { type AccountState, createAccountState, positionKey } from "../model/state.js";
import type {
  SimAccount,
  SimAccountCause,
  SimAccountOptions,
  SimInstrument,
  SimMarginMode,
  SimPolicies,
  SimPosition,
  SimPositionSide,
  SimRefusal,
  SimResult,
} from "../model/types.js";

export interface AccountDeskDeps {
  readonly ledger: Ledger;
  readonly margins: Margins;
  readonly listeners: Listeners;
  readonly instruments: ReadonlyMap<string, SimInstrument>;
  readonly policies: SimPolicies;
  nowMs(): number;
}

export class AccountDesk {
  readonly #deps: AccountDeskDeps;

  constructor(deps: AccountDeskDeps) {
    this.#deps = deps;
  }

  createAccount(options: SimAccountOptions): SimAccount {
    if (this.#deps.ledger.accounts.has(options.accountId)) throw new RangeError(`account ${options.accountId} exists`);
    const account = createAccountState(options, {
      taker: this.#deps.policies.takerFeeMilliBps,
      maker: this.#deps.policies.makerFeeMilliBps,
    });
    this.#deps.ledger.accounts.set(account.accountId, account);
    const deposit = parseScaled(options.deposit, 12);
    const spot = parseScaled(options.spotDeposit ?? "0", 12);
    if (deposit === null || deposit < 0n || spot === null || spot < 0n)
      throw new RangeError("deposits are non-negative decimal texts");
    account.spotE12 = spot;
    if (deposit > 0n) this.#deps.ledger.addCash(account, deposit);
    return account;
  }

  /** Positive adds cash (DEPOSIT or ADJUSTMENT), negative takes it (refused below available). */
  adjustWallet(accountId: string, amountE12: bigint, cause: SimAccountCause): SimResult<bigint> {
    const account = this.#deps.ledger.account(accountId);
    if (amountE12 < 0n && -amountE12 > this.#deps.margins.margin(account).availableE12)
      return refuse("INSUFFICIENT_BALANCE");
    this.#deps.ledger.addCash(account, amountE12);
    this.#deps.listeners.account(account, cause, []);
    return { ok: true, value: account.walletE12 };
  }

  /** Changes the spot account as adjustWallet does the other; no perp account changes, so no stream reports it. */
  adjustSpot(accountId: string, amountE12: bigint): SimResult<bigint> {
    const account = this.#deps.ledger.account(accountId);
    if (account.spotE12 + amountE12 < 0n) return refuse("INSUFFICIENT_BALANCE");
    account.spotE12 += amountE12;
    return { ok: true, value: account.spotE12 };
  }

  transferSpot(accountId: string, amountE12: bigint, direction: "toPerp" | "toSpot"): SimResult<bigint> {
    const account = this.#deps.ledger.account(accountId);
    const available = direction === "toPerp" ? account.spotE12 : this.#deps.margins.margin(account).availableE12;
    if (amountE12 <= 0n || amountE12 > available) return refuse("INSUFFICIENT_BALANCE");
    const signed = direction === "toPerp" ? amountE12 : -amountE12;
    account.spotE12 -= signed;
    this.#deps.ledger.addCash(account, signed);
    this.#deps.listeners.account(account, "ASSET_TRANSFER", []);
    return { ok: true, value: account.walletE12 };
  }

  /** Sets a starting position (tests, demo): signed lots at an entry price; replaces what was there. The house takes the other side. */
  setPosition(
    accountId: string,
    symbol: string,
    side: SimPositionSide,
    qtyLots: number,
    entryTicks: number,
  ): SimPosition {
    const account = this.#deps.ledger.account(accountId);
    if (account.hedgeMode !== (side !== "BOTH")) throw new RangeError("position side does not fit the account's mode");
    const position = this.#deps.ledger.setPosition(account, symbol, side, qtyLots, entryTicks);
    this.#deps.listeners.account(account, "ADJUSTMENT", [position]);
    return position;
  }

  setLeverage(accountId: string, symbol: string, leverage: number): SimResult<number> {
    const account = this.#deps.ledger.account(accountId);
    const instrument = this.#deps.instruments.get(symbol);
    if (instrument === undefined) return refuse("UNKNOWN_SYMBOL");
    if (!Number.isInteger(leverage) || leverage < 1 || leverage > instrument.maxLeverage) return refuse("LEVERAGE");
    const before = this.#deps.margins.leverage(account, symbol);
    const open = this.#positionsOf(account, symbol).some((position) => position.qtyLots !== 0);
    if (leverage < before && open && this.#deps.margins.marginMode(account, symbol) === "isolated")
      return refuse("HAS_POSITION");
    account.leverages.set(symbol, leverage);
    const margin = this.#deps.margins.margin(account);
    const free = margin.crossWalletE12 + margin.crossUnrealizedE12 - margin.positionInitialE12 - margin.orderInitialE12;
    if (leverage < before && open && free < 0n) {
      account.leverages.set(symbol, before);
      return refuse("MARGIN");
    }
    this.#deps.listeners.config(account, { kind: "leverage", symbol, leverage });
    return { ok: true, value: leverage };
  }

  setMarginMode(accountId: string, symbol: string, mode: SimMarginMode): SimResult<SimMarginMode> {
    const account = this.#deps.ledger.account(accountId);
    if (!this.#deps.instruments.has(symbol)) return refuse("UNKNOWN_SYMBOL");
    if (this.#deps.margins.marginMode(account, symbol) === mode) return refuse("NO_CHANGE");
    if ([...account.openOrders.values()].some((order) => order.symbol === symbol)) return refuse("HAS_ORDERS");
    if (this.#positionsOf(account, symbol).some((position) => position.qtyLots !== 0)) return refuse("HAS_POSITION");
    account.marginModes.set(symbol, mode);
    this.#deps.listeners.config(account, { kind: "marginMode", symbol, mode });
    return { ok: true, value: mode };
  }

  setHedgeMode(accountId: string, hedgeMode: boolean): SimResult<boolean> {
    const account = this.#deps.ledger.account(accountId);
    if (account.hedgeMode === hedgeMode) return refuse("NO_CHANGE");
    if (account.openOrders.size > 0) return refuse("HAS_ORDERS");
    if ([...account.positions.values()].some((position) => position.qtyLots !== 0)) return refuse("HAS_POSITION");
    account.hedgeMode = hedgeMode;
    this.#deps.listeners.config(account, { kind: "hedgeMode", hedgeMode });
    return { ok: true, value: hedgeMode };
  }

  moveIsolatedMargin(accountId: string, symbol: string, side: SimPositionSide, amountE12: bigint): SimResult<bigint> {
    const account = this.#deps.ledger.account(accountId);
    const position = account.positions.get(positionKey(symbol, side));
    if (
      position === undefined ||
      position.qtyLots === 0 ||
      this.#deps.margins.marginMode(account, symbol) !== "isolated"
    )
      return refuse("HAS_POSITION");
    const figures = this.#deps.margins.figures(account, position);
    const left = position.isolatedE12 + amountE12;
    if (amountE12 > 0n && amountE12 > this.#deps.margins.margin(account).availableE12)
      return refuse("INSUFFICIENT_BALANCE");
    if (amountE12 < 0n && left + figures.unrealizedE12 < figures.initialE12) return refuse("INSUFFICIENT_BALANCE");
    position.isolatedE12 = left;
    position.updatedMs = this.#deps.nowMs();
    this.#deps.listeners.account(account, "MARGIN_TRANSFER", [position]);
    return { ok: true, value: left };
  }

  #positionsOf(account: AccountState, symbol: string): SimPosition[] {
    return [...account.positions.values()].filter((position) => position.symbol === symbol);
  }
}

function refuse(reason: SimRefusal): { readonly ok: false; readonly reason: SimRefusal } {
  return { ok: false, reason };
}
