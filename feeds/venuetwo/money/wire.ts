/** Answers of venuetwo about money that comes and goes (sheet sections 9.2, 9.3 and 9.5): JSON → checked values. */
import { isPlainDecimal } from "../../../engine/domain/decimal.js";
import {
  amountField,
  asFields,
  asList,
  type Fields,
  idField,
  integerField,
  textField,
  textOrNull,
  WireFault,
} from "../../shared/room/wire-fields.js";

/** Row of deposit-withdraw-history. */
export interface VenuetwoWireMove {
  readonly id: string;
  /** DEPOSIT, WITHDRAW. */
  readonly type: string;
  readonly asset: string;
  /** Token units. */
  readonly amount: string;
  /** PROCESSING, SUCCESS or COMPLETED, FAILED. */
  readonly state: string;
  /** Lower case; null until there is one. */
  readonly txHash: string | null;
  /** Unix epoch, ms. */
  readonly time: number;
  readonly chainId: number;
  /** spot, perp; null where the row has none. */
  readonly accountType: string | null;
}

/** What one chain of user-withdraw-info grants for one asset, token units. */
export interface VenuetwoWireWithdrawable {
  readonly spotMaxWithdrawAmount: string;
  readonly perpMaxWithdrawAmount: string;
  /** What the chain can pay out; null where it is not said. */
  readonly chainLimit: string | null;
}

export interface VenuetwoWireAgent {
  readonly agentAddress: string;
  readonly canWithdraw: boolean;
}

export interface VenuetwoWireAsset {
  readonly asset: string;
  readonly free: string;
}

export interface VenuetwoWireIncome {
  readonly asset: string;
  /** Signed. */
  readonly income: string;
  readonly time: number;
  readonly tranId: string;
}

export function decodeMoves(value: unknown): readonly VenuetwoWireMove[] {
  return asList(value, "history").map((item) => {
    const row = asFields(item, "move");
    return {
      id: rowId(row),
      type: textField(row, "type"),
      asset: textField(row, "asset"),
      amount: amountField(row, "amount"),
      state: textField(row, "state"),
      txHash: textOrNull(row, "txHash")?.toLowerCase() ?? null,
      time: integerField(row, "time"),
      chainId: integerField(row, "chainId"),
      accountType: textOrNull(row, "accountType")?.toLowerCase() ?? null,
    };
  });
}

/** Null where the venue grants nothing of the asset on the chain. */
export function decodeWithdrawable(value: unknown, asset: string, chainId: number): VenuetwoWireWithdrawable | null {
  const ofAsset = asFields(asFields(value, "info")["balances"], "balances")[asset];
  if (ofAsset === undefined || ofAsset === null) return null;
  const ofChain = asFields(asFields(ofAsset, "balance")["chainBalances"], "chainBalances")[String(chainId)];
  if (ofChain === undefined || ofChain === null) return null;
  const grant = asFields(ofChain, "chainBalance");
  return {
    spotMaxWithdrawAmount: amountField(grant, "spotMaxWithdrawAmount"),
    perpMaxWithdrawAmount: amountField(grant, "perpMaxWithdrawAmount"),
    chainLimit: isAbsent(grant, "chainLimit") ? null : amountField(grant, "chainLimit"),
  };
}

export function decodeAgents(value: unknown): readonly VenuetwoWireAgent[] {
  return asList(value, "agents").map((item) => {
    const row = asFields(item, "agent");
    const right = row["canWithdraw"];
    // Text truth values occur at this venue.
    return {
      agentAddress: textField(row, "agentAddress").toLowerCase(),
      canWithdraw: right === true || right === "true",
    };
  });
}

/** Of the spot account. */
export function decodeSpotAccount(value: unknown): readonly VenuetwoWireAsset[] {
  return asList(asFields(value, "account")["balances"], "balances").map((item) => {
    const row = asFields(item, "balance");
    return { asset: textField(row, "asset"), free: amountField(row, "free") };
  });
}

/** Of the perp account: what may leave it where the row says so. */
export function decodePerpAssets(value: unknown): readonly VenuetwoWireAsset[] {
  return asList(value, "balance").map((item) => {
    const row = asFields(item, "balance");
    const name = isAbsent(row, "maxWithdrawAmount") ? "availableBalance" : "maxWithdrawAmount";
    return { asset: textField(row, "asset"), free: amountField(row, name) };
  });
}

export function decodeTransferIncome(value: unknown): readonly VenuetwoWireIncome[] {
  return asList(value, "income")
    .map((item) => asFields(item, "income"))
    .filter((row) => row["incomeType"] === "TRANSFER")
    .map((row) => ({
      asset: textField(row, "asset"),
      income: amountField(row, "income"),
      time: integerField(row, "time"),
      // 19 digits occur.
      tranId: idField(row, "tranId"),
    }));
}

/** `gasCost` of an estimate as plain text, from the digits that were printed: small ones have an exponent. */
export function decodeGasCost(value: unknown): string {
  const answer = asFields(value, "estimate");
  if (String(answer["code"]) !== "000000" || answer["success"] === false) throw new WireFault("code", "is a refusal");
  const gasCost = amountField(asFields(answer["data"], "data"), "gasCost");
  if (!isPlainDecimal(gasCost) || gasCost.startsWith("-")) throw new WireFault("gasCost", "is not a fee");
  return gasCost;
}

/** Digits where it is a number; of a text no form is stated. */
function rowId(row: Fields): string {
  const { id } = row;
  return typeof id === "string" && /^[\x21-\x7e]{1,128}$/.test(id) ? id : idField(row, "id");
}

function isAbsent(row: Fields, name: string): boolean {
  return row[name] === undefined || row[name] === null || row[name] === "";
}
