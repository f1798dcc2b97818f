/**
 * Deposits, withdrawals and transfers of server wallets (interface spec 4.3 to 4.5): checked, made durable, carried out,
 * and answered as far as they have come. What a reply does not wait for, the keeper follows (transfer-keeper.ts).
 *
 * Invariants: a rejection means that nothing of the transfer can move money any more, but for APPROVAL_PENDING,
 * STORE_UNAVAILABLE and a context `isUnsettled`. What may have been sent is answered as a row, never as an error.
 */
import { Deadline } from "../domain/deadline.js";
import { ServiceError } from "../domain/errors.js";
import { failed } from "./deposit-steps.js";
import { failedAct } from "./act-steps.js";
import {
  type DepositAsk,
  type DepositCheck,
  type InternalAsk,
  Openings,
  type WithdrawalAsk,
  type WithdrawalCheck,
} from "./openings.js";
import type { Rounds } from "./rounds.js";
import type { HearTransfer, TransferPage } from "./transfer-book.js";
import { laneOf, type TransferParts, waitWithin } from "./transfer-parts.js";
import { refusalOf } from "./refusals.js";
import {
  type DepositRow,
  depositStep,
  type InternalRow,
  isEnded,
  type TransferKind,
  type TransferRow,
  type WithdrawalRow,
} from "./transfer-row.js";

export interface TransferOptions {
  /** A deposit's reply waits so long for its first confirmation. */
  readonly depositWaitMs: number;
  /** Between two looks of a waiting reply. */
  readonly lookMs: number;
}

export const DEFAULT_TRANSFER_OPTIONS: TransferOptions = { depositWaitMs: 20_000, lookMs: 500 };

/** Nothing was signed, and the caller hears what was in the way. */
type Unbegun = "LANE_BUSY" | "CHAIN_UNAVAILABLE" | "VENUE_UNREACHED";

export class Transfers {
  readonly #parts: TransferParts;
  readonly #rounds: Rounds;
  readonly #openings: Openings;
  readonly #options: TransferOptions;

  constructor(parts: TransferParts, rounds: Rounds, options: TransferOptions = DEFAULT_TRANSFER_OPTIONS) {
    this.#parts = parts;
    this.#rounds = rounds;
    this.#openings = new Openings(parts);
    this.#options = options;
  }

  /**
   * Returns at the first confirmation, at the end of the row, or when the wait is over. Rejects as `Openings.deposit`, as
   * the signer does, with TRANSFER_IN_PROGRESS where another deposit of the wallet on this chain did not get out of the
   * way, CHAIN_UNAVAILABLE, and FAILED_TO_DEPOSIT with its `reason`.
   */
  async deposit(ask: DepositAsk): Promise<DepositRow> {
    const row = await this.#begun(ask, laneOf({ ...ask, kind: "deposit" }), () => this.#openings.deposit(ask));
    const time = new Deadline(this.#parts.clock, this.#options.depositWaitMs);
    for (;;) {
      const now = await this.#round(row);
      if (isEnded(now) || depositStep(now)?.mined?.succeeded === true) return now;
      if (!(await waitWithin(this.#parts, time, this.#options.lookMs))) return this.#answered(now);
    }
  }

  /**
   * Returns after the first send. Rejects as `Openings.withdrawal`, as the signer does, and with what the venue refuses:
   * INSUFFICIENT_BALANCE, VENUE_RATE_LIMITED, VENUE_UNAVAILABLE, FAILED_TO_WITHDRAW.
   */
  async withdraw(ask: WithdrawalAsk): Promise<WithdrawalRow> {
    const row = await this.#begun(ask, laneOf({ ...ask, kind: "withdrawal" }), () => this.#openings.withdrawal(ask));
    return this.#answered(row.state === "created" ? await this.#round(row) : row);
  }

  /** Returns after the first send, or with the row that has this name. TRANSFER_NAME_USED: it is of another transfer. */
  async move(ask: InternalAsk): Promise<InternalRow> {
    const row = await this.#begun(ask, laneOf({ ...ask, kind: "internal" }), async () => this.#openings.internal(ask));
    return this.#answered(row.state === "created" ? await this.#round(row) : row);
  }

  /** Signs nothing, and makes no row. Rejects as `Openings.depositCheck`. */
  checkDeposit(ask: DepositAsk): Promise<DepositCheck> {
    return this.#rounds.turns.run(laneOf({ ...ask, kind: "deposit" }), () => this.#openings.depositCheck(ask));
  }

  /** Likewise, as `Openings.withdrawalCheck`. */
  checkWithdrawal(ask: WithdrawalAsk): Promise<WithdrawalCheck> {
    return this.#rounds.turns.run(laneOf({ ...ask, kind: "withdrawal" }), () => this.#openings.withdrawalCheck(ask));
  }

  /** Throws as `move` rejects before anything is sent. */
  checkMove(ask: Pick<InternalAsk, "venue" | "amount" | "asset">): void {
    this.#openings.checkInternal(ask);
  }

  /** Null: there is none. The caller decides whose it is. */
  find(transferId: string): Promise<TransferRow | null> {
    return this.#parts.book.find(transferId);
  }

  list(walletId: string, after: string | null, limit: number): Promise<TransferPage> {
    return this.#parts.book.page(walletId, after, limit);
  }

  /** `hear`: called after each change is durable. Call the result to end it. */
  listen(hear: HearTransfer): () => void {
    return this.#parts.book.listen((row, before) => {
      try {
        hear(row, before);
      } catch (error) {
        // What was made durable is done, whatever a listener makes of it.
        const errorName = error instanceof Error ? error.name : "unknown";
        this.#parts.logger.error("transfers.listener_failed", { errorName });
      }
    });
  }

  /** The row of the ask: a new one, or that of the same ask before. */
  #begun<Row extends TransferRow, Ask extends DepositAsk | WithdrawalAsk | InternalAsk>(
    ask: Ask,
    lane: string,
    open: () => Promise<Row>,
  ): Promise<Row> {
    const { book, blocks, instance } = this.#parts;
    return this.#rounds.turns.run(lane, async () => {
      instance?.assertNotRestored();
      const before = await this.#before(ask);
      if (before !== null) return before as Row;
      blocks.assertFree(kindOf(ask), ask);
      const row = await open();
      // A venue may list what left with its fee or without.
      if (row.kind === "withdrawal" && "symbol" in ask) blocks.assertFree(row.kind, { ...ask, fee: BigInt(row.fee) });
      if (await book.create(row, ask.alongside())) return row;
      throw new ServiceError("TRANSFER_NAME_USED", { transferId: row.transferId });
    });
  }

  async #before(ask: DepositAsk | WithdrawalAsk | InternalAsk): Promise<TransferRow | null> {
    const { book } = this.#parts;
    const { transferId } = ask;
    const byId = transferId === null ? null : await book.find(transferId);
    const before = byId ?? ("clientTranId" in ask ? await book.named(ask) : null);
    if (before === null) return null;
    if (!isSameAsk(before, ask)) throw new ServiceError("TRANSFER_NAME_USED", { transferId: before.transferId });
    if (before.state === "failed") throw refusalOf(before);
    return before;
  }

  /** Rejects where the row has failed, or nothing of it is signed and the signer says why. */
  async #round<Row extends TransferRow>(row: Row): Promise<Row> {
    let problem: unknown = null;
    try {
      await this.#rounds.run(row, "asked");
    } catch (error) {
      problem = error;
    }
    const now = await this.#now(row);
    if (now.state === "failed") throw refusalOf(now, problem);
    if (now.state === "created" && problem !== null) throw problem;
    return now;
  }

  /** Nobody is left alone with a row of which nothing is signed: it ends here. */
  async #answered<Row extends TransferRow>(row: Row): Promise<Row> {
    if (row.state !== "created") return row;
    await this.#rounds.inTurn(row, async () => {
      const now = this.#parts.book.current(row.transferId);
      if (now?.state !== "created") return;
      await this.#parts.book.update(now, (one) => unbegun(one, this.#why(one), this.#parts.clock.wallMs()));
    });
    const now = await this.#now(row);
    if (now.state !== "failed" || now.kind !== "deposit" || now.reason !== "LANE_BUSY") return orRefused(now);
    const blocker = this.#rounds.deposits.blocker(now);
    throw new ServiceError("TRANSFER_IN_PROGRESS", {
      ...{ exchange: now.venue, transferId: blocker?.transferId ?? now.transferId },
    });
  }

  #why(row: TransferRow): Unbegun {
    if (row.kind !== "deposit") return "VENUE_UNREACHED";
    return this.#rounds.deposits.blocker(row) === null ? "CHAIN_UNAVAILABLE" : "LANE_BUSY";
  }

  async #now<Row extends TransferRow>(row: Row): Promise<Row> {
    return ((await this.#parts.book.find(row.transferId)) ?? row) as Row;
  }
}

function kindOf(ask: DepositAsk | WithdrawalAsk | InternalAsk): TransferKind {
  if ("asset" in ask) return "internal";
  return "receiver" in ask ? "withdrawal" : "deposit";
}

function orRefused<Row extends TransferRow>(row: Row): Row {
  if (row.state === "failed") throw refusalOf(row);
  return row;
}

function unbegun<Row extends TransferRow>(row: Row, reason: Unbegun, nowMs: number): Row {
  return (row.kind === "deposit" ? failed(row, reason, "", nowMs) : failedAct(row, reason, "", nowMs)) as Row;
}

function isSameAsk(row: TransferRow, ask: DepositAsk | WithdrawalAsk | InternalAsk): boolean {
  if (row.walletId !== ask.walletId || row.venue !== ask.venue || row.account !== ask.account) return false;
  if (row.amount !== ask.amount.toString()) return false;
  if (row.kind === "internal")
    return (
      "kindType" in ask &&
      row.asset === ask.asset &&
      row.kindType === ask.kindType &&
      row.clientTranId === ask.clientTranId
    );
  if (!("symbol" in ask) || row.chainId !== ask.chainId || row.token.symbol !== ask.symbol) return false;
  if (row.kind === "withdrawal")
    return "receiver" in ask && row.receiver === ask.receiver && row.accountType === ask.accountType;
  return "broker" in ask && row.broker === ask.broker;
}
