/**
 * Transfers as rows of the record: one for each durable change, through the outbox, in the commit of the change.
 *
 * Invariants: a row has nothing of what was signed (no signature, no act, no call data); hashes are public. With
 * recording off no row is made, and every row that would have been is counted.
 */
import { COIN_DECIMALS } from "../chain.js";
import { formatScaledBig } from "../domain/decimal.js";
import type { Logger } from "../domain/logger.js";
import { LOCAL_OWNER } from "../domain/owner.js";
import type { StateWrite } from "../storage/state-store.js";
import type { RecordedChange, TransferRecord } from "../transfers/transfer-record.js";
import {
  type DepositRow,
  depositStep,
  hashOf,
  type InternalRow,
  type TransferRow,
  type WithdrawalRow,
} from "../transfers/transfer-row.js";
import type { TableCounts } from "./counters.js";
import { DurableRows } from "./durable-rows.js";
import type { Outbox } from "./outbox.js";
import type { RowValues } from "./row-codec.js";

export interface TransferRowsOptions {
  readonly outbox: Pick<Outbox, "committed">;
  readonly counts: TableCounts;
  readonly isOff: () => boolean;
  readonly logger: Logger;
}

export class TransferRows implements TransferRecord {
  readonly #options: TransferRowsOptions;
  readonly #rows: DurableRows<"transfers">;

  constructor(options: TransferRowsOptions) {
    this.#options = options;
    this.#rows = new DurableRows(["transfers"], options.logger);
  }

  /** Number of figures that lost some of their digits. */
  cutCount(table: string): number {
    return this.#rows.cutCount(table);
  }

  changed(row: TransferRow, change: number): RecordedChange {
    const { outbox, isOff } = this.#options;
    if (isOff()) return { writes: [], committed: () => this.#drop() };
    const writes: StateWrite[] = [
      this.#rows.write("transfers", row.createdAtMs, `${row.transferId}|${change}`, transferValues(row, change)),
    ];
    return { writes, committed: () => outbox.committed(writes) };
  }

  /** With recording off, rows in the outbox would never be removed. */
  #drop(): void {
    const { counts } = this.#options;
    counts.accepted += 1;
    counts.dropped.off += 1;
  }
}

function transferValues(row: TransferRow, change: number): RowValues {
  return {
    ...{ rx: row.updatedAtMs * 1000, at: row.createdAtMs, transfer_id: row.transferId, change },
    ...{ wallet_id: row.walletId, address: row.account, venue: row.venue, kind: row.kind, state: row.state },
    ...{ reason: row.reason ?? "", reason_text: row.reasonText, request_id: row.requestId },
    ...{ venue_id: row.venueId ?? "", owner: row.ownerId ?? LOCAL_OWNER },
    ...NO_CHAIN,
    ...NO_WITHDRAWAL,
    ...NO_NAME,
    ...valuesOfKind(row),
  };
}

const NO_CHAIN: RowValues = {
  ...{ chain_id: 0, network: "", token: "", decimals: 0, destination: "", tx_hash: "", hashes: [] },
  ...{ block_number: 0, confirmations: 0, is_final: false, gas_cost: null, credit_awaited: false },
};
const NO_WITHDRAWAL: RowValues = {
  ...{ fee: null, fee_inside: false, paid: null, payout: "", account_type: "", valid_until: 0 },
};
const NO_NAME: RowValues = { kind_type: "", client_tran_id: "" };

function valuesOfKind(row: TransferRow): RowValues {
  switch (row.kind) {
    case "deposit":
      return { ...chainValues(row), ...depositValues(row) };
    case "withdrawal":
      return { ...chainValues(row), ...withdrawalValues(row), ...sentValues(row) };
    case "internal":
      return {
        ...{ asset: row.asset, amount: row.amount, amount_text: row.amount },
        ...{ kind_type: row.kindType, client_tran_id: row.clientTranId, signed_at: 0 },
        ...sentValues(row),
      };
  }
}

function chainValues({ chainId, network, token, amount }: DepositRow | WithdrawalRow): RowValues {
  const units = formatScaledBig(BigInt(amount), token.decimals);
  return {
    ...{ chain_id: chainId, network, asset: token.symbol, token: token.address, decimals: token.decimals },
    ...{ amount: units, amount_text: units },
  };
}

function depositValues(row: DepositRow): RowValues {
  const step = depositStep(row);
  const mined = row.steps.flatMap((one) => one.mined ?? []);
  const signed = row.steps.flatMap(({ versions }) => versions).filter(({ hash }) => hash !== null);
  const cost = mined.reduce((sum, { gasCost }) => sum + BigInt(gasCost), 0n);
  const times = signed.map(({ signedAtMs }) => signedAtMs ?? 0);
  return {
    ...{ destination: row.to, tx_hash: step === null ? "" : (hashOf(step) ?? "") },
    hashes: signed.map(({ hash }) => hash),
    ...{ block_number: step?.mined?.blockNumber ?? 0, confirmations: step?.mined?.confirmations ?? 0 },
    ...{ is_final: step?.mined?.isFinal ?? false, credit_awaited: row.isCreditAwaited },
    gas_cost: mined.length === 0 ? null : formatScaledBig(cost, COIN_DECIMALS),
    // What is signed is handed out at once; when an endpoint took it is not known apart from that.
    ...{ signed_at: times[0] ?? 0, sent_at: times[0] ?? 0, last_sent_at: times.at(-1) ?? 0 },
  };
}

function withdrawalValues(row: WithdrawalRow): RowValues {
  const { token } = row;
  const units = (value: string): string => formatScaledBig(BigInt(value), token.decimals);
  return {
    ...{ destination: row.receiver, account_type: row.accountType ?? "", payout: row.payout ?? "" },
    ...{ fee: units(row.fee), fee_inside: row.feeIsInside, paid: row.paid === null ? null : units(row.paid) },
    ...{ tx_hash: row.hash ?? "", hashes: row.hash === null ? [] : [row.hash] },
    // The act is signed and stored in one change, right before its first send.
    ...{ valid_until: row.act.validUntilMs, signed_at: row.sentAtMs ?? 0 },
  };
}

function sentValues({ sentAtMs, lastSentAtMs }: WithdrawalRow | InternalRow): RowValues {
  return { sent_at: sentAtMs ?? 0, last_sent_at: lastSentAtMs ?? 0 };
}
