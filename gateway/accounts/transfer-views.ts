/** Rows of the ledger of transfers as callers see them (interface spec 4.3 to 4.5). Pure. */
import { COIN_DECIMALS } from "../../engine/chain.js";
import { formatScaledBig } from "../../engine/domain/decimal.js";
import type { DepositCheck, InternalAsk, WithdrawalAsk, WithdrawalCheck } from "../../engine/transfers/openings.js";
import {
  type DepositRow,
  depositStep,
  hashOf,
  type InternalRow,
  type StoredStep,
  type TransferRow,
  type WithdrawalRow,
} from "../../engine/transfers/transfer-row.js";
import type { DepositData, InternalTransferData, TransferView, WithdrawData } from "../../schemas/transfers.js";
import { WALLET_VENUE } from "../../schemas/venues.js";

/** By chain id. */
export type ExplorerUrls = ReadonlyMap<number, string>;

export function txUrlOf(explorers: ExplorerUrls, chainId: number, hash: string | null): string {
  const base = explorers.get(chainId);
  return base === undefined || hash === null ? "" : `${base}/tx/${hash}`;
}

export function depositData(row: DepositRow, explorers: ExplorerUrls): DepositData {
  const step = depositStep(row);
  const txHash = step === null ? null : hashOf(step);
  return {
    ...{ txHash, txUrl: txUrlOf(explorers, row.chainId, txHash) },
    ...{ amount: inUnits(row.amount, row), token: row.token.symbol, network: row.network },
    ...{ decimals: row.token.decimals, blockNumber: step?.mined?.blockNumber ?? null, transferId: row.transferId },
    status: row.state === "confirmed" || row.state === "broadcast" ? row.state : "UNKNOWN",
  };
}

export function depositDryRun({ row, minimum, available, gas }: DepositCheck): DepositData {
  const { decimals, symbol } = row.token;
  const coins = (wei: bigint): string => formatScaledBig(wei, COIN_DECIMALS);
  return {
    ...{ txHash: null, txUrl: "", amount: inUnits(row.amount, row), token: symbol, network: row.network },
    ...{ decimals, blockNumber: null, transferId: null, status: "DRY_RUN" },
    check: {
      ...{ minimum: formatScaledBig(minimum, decimals), available: formatScaledBig(available, decimals) },
      gas: { needed: coins(gas.needed), available: coins(gas.available) },
      steps: [...gas.plan],
    },
  };
}

/** `nowMs`: of the reply. */
export function internalData(row: InternalRow, nowMs: number): InternalTransferData {
  const { asset, amount, kindType, clientTranId, transferId } = row;
  return {
    ...{ tranId: row.venueId ?? clientTranId, status: row.state === "confirmed" ? "SUCCESS" : "UNKNOWN" },
    ...{ asset, amount, kindType, clientTranId, timestamp: nowMs, transferId },
  };
}

export function internalDryRun(ask: InternalAsk, available: string, nowMs: number): InternalTransferData {
  const { asset, amount, kindType, clientTranId } = ask;
  return {
    ...{ tranId: clientTranId, status: "DRY_RUN", asset, amount, kindType, clientTranId },
    ...{ timestamp: nowMs, transferId: null, check: { available } },
  };
}

export function withdrawData(row: WithdrawalRow, nowMs: number): WithdrawData {
  const { network, transferId, chainId, receiver, feeIsInside, token } = row;
  return {
    ...{ withdrawalId: row.venueId ?? transferId, status: withdrawalStatus(row), network, timestamp: nowMs },
    ...{ transferId, amount: inUnits(row.amount, row), asset: token.symbol, chainId, receiver },
    ...{ fee: inUnits(row.fee, row), feeIsInside },
  };
}

export function withdrawDryRun(
  { chainId, network, receiver, amount, symbol }: WithdrawalAsk,
  { terms, token }: WithdrawalCheck,
  nowMs: number,
): WithdrawData {
  const units = (value: bigint): string => formatScaledBig(value, token.decimals);
  return {
    ...{ withdrawalId: "", status: "DRY_RUN", network, timestamp: nowMs, transferId: null, amount: units(amount) },
    ...{ asset: symbol, chainId, receiver, fee: units(terms.fee), feeIsInside: terms.feeIsInside },
    check: { minimum: units(terms.minimum), available: units(terms.available) },
  };
}

export function transferView(row: TransferRow, explorers: ExplorerUrls): TransferView {
  const { transferId, kind, walletId, state, reason, reasonText, venueId } = row;
  const common = {
    ...{ transferId, kind, exchange: row.venue, walletId, address: row.account, state, reason, reasonText },
    ...{ createdAt: row.createdAtMs, updatedAt: row.updatedAtMs, venueId },
  };
  if (row.kind === "internal") {
    const { asset, amount, kindType, clientTranId } = row;
    return { ...common, ...NO_CHAIN, ...NO_DEPOSIT, ...NO_WITHDRAWAL, asset, amount, kindType, clientTranId };
  }
  const { chainId, network, token } = row;
  const onChain = { ...common, ...NO_NAME, asset: token.symbol, amount: inUnits(row.amount, row), chainId, network };
  if (row.kind === "deposit") {
    const step = depositStep(row);
    const txHash = step === null ? null : hashOf(step);
    return {
      ...onChain,
      ...NO_WITHDRAWAL,
      ...{ txHash, txUrl: txUrlOf(explorers, chainId, txHash), isCreditAwaited: row.isCreditAwaited },
      steps: row.steps.map((one) => stepView(one, chainId, explorers)),
    };
  }
  const { receiver, accountType, fee, payout, paid, hash } = row;
  return {
    ...onChain,
    ...NO_DEPOSIT,
    ...{
      txHash: hash,
      txUrl: txUrlOf(explorers, chainId, hash),
      receiver,
      accountType,
      fee: inUnits(fee, row),
      payout: payout === "left" ? "pending" : payout,
    },
    paid: paid === null ? null : inUnits(paid, row),
  };
}

const NO_CHAIN = { chainId: null, network: null, txHash: null, txUrl: "" };
const NO_DEPOSIT = { steps: [], isCreditAwaited: false };
const NO_WITHDRAWAL = { receiver: null, accountType: null, fee: null, payout: null, paid: null };
const NO_NAME = { kindType: null, clientTranId: null };

function stepView(step: StoredStep, chainId: number, explorers: ExplorerUrls): TransferView["steps"][number] {
  const { mined, name, nonce } = step;
  const txHash = hashOf(step);
  return {
    ...{ name, txHash, txUrl: txUrlOf(explorers, chainId, txHash), nonce, versions: step.versions.length },
    ...{ blockNumber: mined?.blockNumber ?? null, confirmations: mined?.confirmations ?? 0 },
    ...{ isFinal: mined?.isFinal ?? false, succeeded: mined?.succeeded ?? null },
    gasCost: mined === null ? null : formatScaledBig(BigInt(mined.gasCost), COIN_DECIMALS),
  };
}

function withdrawalStatus({ venue, payout, isAccepted, state }: WithdrawalRow): WithdrawData["status"] {
  if (payout === "completed") return "completed";
  if (payout === "pending" || payout === "left") return "pending";
  if (!isAccepted || state === "unknown") return "UNKNOWN";
  return venue === WALLET_VENUE ? "accepted" : "submitted";
}

function inUnits(amount: string, { token }: Pick<DepositRow, "token">): string {
  return formatScaledBig(BigInt(amount), token.decimals);
}
