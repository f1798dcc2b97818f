/**
 * Money of server wallets for the routes: one transfer for each Idempotency-Key, rows in the audit log, and replies of what
 * the ledger has.
 *
 * Invariants: a transfer's id follows from the first request of its key, so that the same key finds the same transfer after
 * a crash too. The audit row of an act that begins is in the commit of its row in the ledger. What may have been sent is
 * answered as far as it has come, never as an error.
 */
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import { compareDecimals } from "../../engine/domain/decimal.js";
import { type ErrorCode, ServiceError } from "../../engine/domain/errors.js";
import type { Clock } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import type { StateWrite } from "../../engine/storage/state-store.js";
import type { DepositAsk, InternalAsk, WithdrawalAsk } from "../../engine/transfers/openings.js";
import type { TransferPage } from "../../engine/transfers/transfer-book.js";
import type { TransferRow } from "../../engine/transfers/transfer-row.js";
import type { Transfers } from "../../engine/transfers/transfers.js";
import type { DepositData, InternalTransferData, WalletBalancesData, WithdrawData } from "../../schemas/transfers.js";
import { ActRows, type AppendAct, type WalletAct, whoOf } from "./act-rows.js";
import type { KeyedRequests } from "./keyed-requests.js";
import {
  depositData,
  depositDryRun,
  type ExplorerUrls,
  internalData,
  internalDryRun,
  withdrawData,
  withdrawDryRun,
} from "./transfer-views.js";
import type { WalletBalances } from "./wallet-balances.js";
import type { WalletCall } from "./wallet-desk.js";

export interface TransferDeskParts {
  readonly transfers: Transfers;
  readonly balances: WalletBalances;
  readonly keyed: KeyedRequests;
  readonly hash: KeyedHash;
  readonly explorers: ExplorerUrls;
  readonly appendAct: AppendAct;
  /** Into the commit of a new row of the ledger. */
  readonly actWrites: (act: WalletAct) => readonly StateWrite[];
  readonly clock: Clock;
  readonly logger: Logger;
}

type OfDesk = "transferId" | "ownerId" | "walletId" | "account" | "requestId" | "alongside";
export type DepositOrder = Omit<DepositAsk, OfDesk>;
export type WithdrawalOrder = Omit<WithdrawalAsk, OfDesk>;
/** `clientTranId` null: the desk makes one up. */
export type InternalOrder = Omit<InternalAsk, OfDesk | "clientTranId"> & { readonly clientTranId: string | null };

export interface MoneyAnswer<T> {
  readonly data: T;
  /** Of an earlier request with the same key. */
  readonly replayed: boolean;
}

type What = Extract<WalletAct["what"], `transfer.${string}`>;

/** What one kind of transfer does with a new row, and shows of it. */
interface Work<Row extends TransferRow, T> {
  readonly what: What;
  readonly otherwise: ErrorCode;
  readonly details: WalletAct["details"];
  act(asker: Pick<DepositAsk, OfDesk>): Promise<Row>;
  shown(row: Row): T;
}

const KEY_PURPOSE = "transfer-id";

export class TransferDesk {
  readonly #parts: TransferDeskParts;
  readonly #rows: ActRows;

  constructor(parts: TransferDeskParts) {
    this.#parts = parts;
    this.#rows = new ActRows(parts);
  }

  /** Rejects as `Transfers.deposit` does, and with the refusals of an Idempotency-Key. */
  deposit(wallet: Wallet, order: DepositOrder, call: WalletCall): Promise<MoneyAnswer<DepositData>> {
    return this.#perform(wallet, call, {
      ...{ what: "transfer.deposit", otherwise: "FAILED_TO_DEPOSIT", details: chainDetails(order) },
      act: (asker) => this.#parts.transfers.deposit({ ...order, ...asker }),
      shown: (row) => depositData(row, this.#parts.explorers),
    });
  }

  async tryDeposit(wallet: Wallet, order: DepositOrder, call: WalletCall): Promise<DepositData> {
    return depositDryRun(await this.#parts.transfers.checkDeposit({ ...order, ...dryAsker(wallet, call) }));
  }

  withdraw(wallet: Wallet, order: WithdrawalOrder, call: WalletCall): Promise<MoneyAnswer<WithdrawData>> {
    return this.#perform(wallet, call, {
      ...{ what: "transfer.withdraw", otherwise: "FAILED_TO_WITHDRAW" },
      details: { ...chainDetails(order), receiver: order.receiver },
      act: (asker) => this.#parts.transfers.withdraw({ ...order, ...asker }),
      shown: (row) => withdrawData(row, this.#parts.clock.wallMs()),
    });
  }

  async tryWithdraw(wallet: Wallet, order: WithdrawalOrder, call: WalletCall): Promise<WithdrawData> {
    const ask = { ...order, ...dryAsker(wallet, call) };
    return withdrawDryRun(ask, await this.#parts.transfers.checkWithdrawal(ask), this.#parts.clock.wallMs());
  }

  move(wallet: Wallet, order: InternalOrder, call: WalletCall): Promise<MoneyAnswer<InternalTransferData>> {
    const { venue, asset, amount, kindType } = order;
    return this.#perform(wallet, call, {
      ...{ what: "transfer.internal", otherwise: "FAILED_TO_TRANSFER" },
      details: { exchange: venue, asset, amount, kindType },
      act: (asker) =>
        this.#parts.transfers.move({
          ...order,
          ...asker,
          clientTranId: order.clientTranId ?? (asker.transferId ?? "").replaceAll("-", ""),
        }),
      shown: (row) => internalData(row, this.#parts.clock.wallMs()),
    });
  }

  /** Rejects with INVALID_PARAMETERS, INSUFFICIENT_BALANCE, API_KEY_NOT_FOUND, VENUE_UNAVAILABLE. */
  async tryMove(wallet: Wallet, order: InternalOrder, call: WalletCall): Promise<InternalTransferData> {
    const { balances, clock, transfers } = this.#parts;
    const { venue, asset, amount, kindType } = order;
    transfers.checkMove(order);
    const accountType = kindType === "SPOT_FUTURE" ? "spot" : "perp";
    const free = await balances.free(wallet, { venue, accountType, asset });
    if (compareDecimals(free, amount) < 0)
      throw new ServiceError("INSUFFICIENT_BALANCE", {
        ...{ reason: "TRANSFER", exchange: venue, token: asset, amount, available: free },
      });
    const ask = { ...order, clientTranId: order.clientTranId ?? "", ...dryAsker(wallet, call) };
    return internalDryRun(ask, free, clock.wallMs());
  }

  /** Null: there is none. The caller decides whose it is. */
  find(transferId: string): Promise<TransferRow | null> {
    return this.#parts.transfers.find(transferId);
  }

  list(walletId: string, after: string | null, limit: number): Promise<TransferPage> {
    return this.#parts.transfers.list(walletId, after, limit);
  }

  get explorers(): ExplorerUrls {
    return this.#parts.explorers;
  }

  readBalances(wallet: Wallet): Promise<WalletBalancesData> {
    return this.#parts.balances.read(wallet);
  }

  async #perform<Row extends TransferRow, T>(
    wallet: Wallet,
    call: WalletCall,
    work: Work<Row, T>,
  ): Promise<MoneyAnswer<T>> {
    const act = (requestId: string): Promise<T> => this.#acted(wallet, call, requestId, work);
    const { value, replayed } = await this.#parts.keyed.perform(call, {
      check: () => {},
      act: () => act(call.requestId),
      recover: act,
      isOpen: isUndecided,
    });
    return { data: value, replayed };
  }

  async #acted<Row extends TransferRow, T>(
    wallet: Wallet,
    call: WalletCall,
    requestId: string,
    work: Work<Row, T>,
  ): Promise<T> {
    const transferId = this.#idOf(requestId);
    const { what } = work;
    const begun = { who: whoOf(call.keyId), what, subject: wallet.walletId, details: { ...work.details, transferId } };
    const alongside = () => this.#parts.actWrites({ ...begun, outcome: "pending" });
    const asker = { ...askerOf(wallet, call), transferId, requestId, alongside };
    let row: Row;
    try {
      row = await work.act(asker);
    } catch (error) {
      const found = (await this.find(transferId).catch(() => null)) as Row | null;
      if (found === null || found.state === "created" || found.state === "failed")
        throw await this.#refused(error, found, begun, work.otherwise);
      // A fault of ours, or the store's, behind a send: the row goes on by itself.
      const code = error instanceof ServiceError ? error.code : "INTERNAL";
      this.#parts.logger.error("transfers.reply_cut_short", { name: transferId, code });
      row = found;
    }
    const details = { ...begun.details, transferId: row.transferId, state: row.state };
    await this.#rows.appendOrLog({ ...begun, outcome: "done", details });
    return work.shown(row);
  }

  async #refused(
    error: unknown,
    row: TransferRow | null,
    begun: Pick<WalletAct, "who" | "what" | "subject" | "details">,
    otherwise: ErrorCode,
  ): Promise<ServiceError> {
    const known = error instanceof ServiceError && error.code !== "INTERNAL" ? error : null;
    // Of a check before a row: nothing was begun.
    if (row === null && known !== null && known.status < 500 && known.status !== 202) return known;
    const said = known ?? new ServiceError(otherwise, { reason: "INTERNAL" }, { cause: error });
    const refusal = await this.#rows.refused(row?.state === "created" ? unsettled(said) : said, otherwise, begun);
    if (row === null || refusal.context["transferId"] !== undefined) return refusal;
    return new ServiceError(
      refusal.code,
      { ...refusal.context, transferId: row.transferId },
      { cause: refusal.cause ?? refusal },
    );
  }

  /** A UUID that nobody can guess. */
  #idOf(requestId: string): string {
    const hex = this.#parts.hash.hmacHex(KEY_PURPOSE, [requestId]);
    const variant = (Number.parseInt(hex[16] ?? "0", 16) & 3) | 8;
    const parts = [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `${variant.toString(16)}${hex.slice(17, 20)}`,
    ];
    return [...parts, hex.slice(20, 32)].join("-");
  }
}

/** What routes use of it. */
export type TransferDeskPort = Pick<
  TransferDesk,
  | "deposit"
  | "tryDeposit"
  | "withdraw"
  | "tryWithdraw"
  | "move"
  | "tryMove"
  | "find"
  | "list"
  | "explorers"
  | "readBalances"
>;

/** The row goes on by itself, or did in what a restored store lost: its key has to find it again. */
function unsettled(error: ServiceError): ServiceError {
  if (isUndecided(error)) return error;
  return new ServiceError(error.code, { ...error.context, isUnsettled: true }, { cause: error });
}

function isUndecided(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  const { code, context, status } = error;
  if (code === "STORE_UNAVAILABLE") return context["transferId"] !== undefined;
  return status === 202 || context["isUnsettled"] === true;
}

function askerOf({ walletId, address }: Wallet, { ownerId }: WalletCall) {
  return { ownerId, walletId, account: address.toLowerCase() };
}

function dryAsker(wallet: Wallet, call: WalletCall) {
  return { ...askerOf(wallet, call), transferId: null, requestId: call.requestId, alongside: () => [] };
}

function chainDetails({
  venue,
  chainId,
  symbol,
  amount,
}: Pick<DepositOrder, "venue" | "chainId" | "symbol" | "amount">) {
  return { exchange: venue, chainId: String(chainId), asset: symbol, amount: amount.toString() };
}
