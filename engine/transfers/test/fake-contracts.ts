/**
 * The contracts of the chain on virtual time, as functions of its state: two tokens (one of the old kind, which wants an
 * allowance set to zero first), a vault that takes by allowance and a bridge that is sent to.
 */
import type { ChainLog, GasEstimate } from "../../chain.js";
import { addressOf } from "./fake-signer.js";

export const TOKEN = `0x${"11".repeat(20)}`;
/** Refuses to change an allowance that is not zero. */
export const OLD_TOKEN = `0x${"22".repeat(20)}`;
export const VAULT = `0x${"33".repeat(20)}`;
export const BRIDGE = `0x${"44".repeat(20)}`;
const APPROVE_GAS = 50_000n;
const DEPOSIT_GAS = 120_000n;
const WORD = 64;

export interface State {
  readonly nonces: ReadonlyMap<string, number>;
  readonly natives: ReadonlyMap<string, bigint>;
  readonly tokens: ReadonlyMap<string, bigint>;
  readonly allowances: ReadonlyMap<string, bigint>;
}

export interface Transaction {
  readonly hash: string;
  readonly from: string;
  readonly nonce: number;
  readonly to: string;
  readonly data: string;
  readonly gasLimit: bigint;
  readonly maxFee: bigint;
  readonly tip: bigint;
}

export interface Receipt {
  readonly succeeded: boolean;
  readonly gasCost: bigint;
  readonly logs: readonly ChainLog[];
}

export function estimate(state: State, from: string, to: string, data: string): GasEstimate {
  const done = called(state, from, to, data);
  return typeof done === "string" ? { kind: "reverted", reason: done } : { kind: "gas", gas: done.gas };
}

export function executed(state: State, transaction: Transaction, baseFee: bigint): { state: State; receipt: Receipt } {
  const { from, to, data, maxFee, tip, nonce } = transaction;
  const done = called(state, from, to, data);
  const price = baseFee + tip < maxFee ? baseFee + tip : maxFee;
  const gasCost = (typeof done === "string" ? APPROVE_GAS : done.gas) * price;
  const after = typeof done === "string" ? state : done.state;
  const natives = new Map(after.natives).set(from, (after.natives.get(from) ?? 0n) - gasCost);
  return {
    state: { ...after, natives, nonces: new Map(after.nonces).set(from, nonce + 1) },
    receipt: { succeeded: typeof done !== "string", gasCost, logs: typeof done === "string" ? [] : done.logs },
  };
}

/** A text: it reverts for that. */
function called(
  state: State,
  from: string,
  to: string,
  data: string,
): { state: State; gas: bigint; logs: ChainLog[] } | string {
  const selector = data.slice(2, 10);
  const word = (index: number) => BigInt(`0x${data.slice(10 + index * WORD, 10 + (index + 1) * WORD)}`);
  const asAddress = (index: number) => addressOf(word(index));
  if (selector === "095ea7b3") {
    const key = `${to}/${from}/${asAddress(0)}`;
    if (to === OLD_TOKEN && word(1) > 0n && (state.allowances.get(key) ?? 0n) > 0n) return "allowance is not zero";
    return { state: { ...state, allowances: new Map(state.allowances).set(key, word(1)) }, gas: APPROVE_GAS, logs: [] };
  }
  if (selector === "a9059cbb") {
    const moved = paid(state, to, from, asAddress(0), word(1));
    if (moved === null) return "transfer amount exceeds balance";
    return { state: moved, gas: DEPOSIT_GAS, logs: [log(to, from, asAddress(0), word(1))] };
  }
  if (selector === "0efe6a8b" && to === VAULT) {
    const token = asAddress(0);
    const key = `${token}/${from}/${VAULT}`;
    const left = (state.allowances.get(key) ?? 0n) - word(1);
    const moved = paid(state, token, from, VAULT, word(1));
    if (left < 0n || moved === null) return left < 0n ? "insufficient allowance" : "transfer amount exceeds balance";
    const allowances = new Map(moved.allowances).set(key, left);
    return { state: { ...moved, allowances }, gas: DEPOSIT_GAS, logs: [log(token, from, VAULT, word(1))] };
  }
  return "no such function";
}

export function paid(state: State, token: string, from: string, to: string, amount: bigint): State | null {
  const left = (state.tokens.get(`${token}/${from}`) ?? 0n) - amount;
  if (left < 0n) return null;
  const tokens = new Map(state.tokens).set(`${token}/${from}`, left);
  return { ...state, tokens: tokens.set(`${token}/${to}`, (tokens.get(`${token}/${to}`) ?? 0n) + amount) };
}

function log(token: string, from: string, to: string, amount: bigint): ChainLog {
  const data = new Uint8Array(Buffer.from(amount.toString(16).padStart(WORD, "0"), "hex"));
  return { address: token, topics: ["transfer", from, to], data };
}

/** Null: the log is none of money for the venue. */
export function takenIn({
  address,
  topics,
  data,
}: ChainLog): { account: string; token: string; amount: bigint } | null {
  const [, account, to] = topics;
  if (account === undefined || (to !== VAULT && to !== BRIDGE)) return null;
  return { account, token: address, amount: BigInt(toHex(data)) };
}

export function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString("hex")}`;
}
