/**
 * Transactions: the chain, the most that gas may cost, and what the call moves. A call is understood to its last byte
 * or refused; the value is money too, and goes only where native money may go.
 */
import { highestGasCost, type Transaction } from "../digest/transaction.js";
import { gasAsset, nativeAsset, type SpentAmount, tokenAsset } from "./amounts.js";
import { type CallArgument, decodeCall, selectorOf, TOKEN_METHODS } from "./calldata.js";
import { isAllowed, pickRule } from "./pick-rule.js";
import type { MethodRule, NativeRule, OriginRules } from "./policy.js";
import { type PolicyRefusal, refusal } from "./refusals.js";

type Verdict = { readonly ok: true; readonly amounts: readonly SpentAmount[] } | PolicyRefusal;

export function judgeTransaction(rules: OriginRules, transaction: Transaction, wallet: string): Verdict {
  const chain = rules.chains.find((rule) => rule.chainId === transaction.chainId);
  if (chain === undefined) return refusal("CHAIN", "transactions on this chain are not allowed");
  const gas = highestGasCost(transaction);
  if (gas > chain.perIntent) return refusal("GAS", "the gas can cost more than one transaction may");
  const call = judgeCall(rules, transaction, wallet);
  if (!call.ok) return call;
  const spentGas = { asset: gasAsset(chain.chainId), amount: gas, perDay: chain.perDay };
  return { ok: true, amounts: [spentGas, ...call.amounts] };
}

function judgeCall(rules: OriginRules, transaction: Transaction, wallet: string): Verdict {
  const { chainId, to, value, data } = transaction;
  if (data.length === 0) {
    const native = rules.native.filter((rule) => rule.chainId === chainId);
    const picked = pickRule(native, to, value, wallet);
    return picked.ok ? { ok: true, amounts: [nativeAmount(picked.rule, value)] } : picked;
  }
  const selector = selectorOf(data);
  if (selector === null) return refusal("CALLDATA", "the data is too short to name a method");
  const tokens = rules.tokens.filter((rule) => rule.chainId === chainId && rule.token === to);
  const contract = rules.contracts.find((rule) => rule.chainId === chainId && rule.contract === to);
  const methods = contract?.methods.filter((method) => method.signature.selector === selector) ?? [];
  if (methods.length > 0) return judgeMethods(rules, transaction, methods, wallet);
  if (tokens.length > 0) return judgeTokenCall(rules, transaction, selector, wallet);
  return contract === undefined
    ? refusal("CONTRACT", "calls of this contract are not allowed")
    : refusal("METHOD", "this method of the contract is not allowed");
}

function judgeTokenCall(rules: OriginRules, transaction: Transaction, selector: string, wallet: string): Verdict {
  const { chainId, to, value, data } = transaction;
  const allowed = rules.tokens.filter(
    (rule) =>
      rule.chainId === chainId &&
      rule.token === to &&
      rule.methods.some((name) => TOKEN_METHODS[name].signature.selector === selector),
  );
  const method = Object.values(TOKEN_METHODS).find((known) => known.signature.selector === selector);
  if (method === undefined || allowed.length === 0) return refusal("METHOD", "this method of the token is not allowed");
  const call = decodeCall(method.signature, data);
  if (call === null) return refusal("CALLDATA", "the data is not exactly the method's arguments");
  if (value !== 0n) return refusal("VALUE", "a token's method takes no native money");
  const amount = integerAt(call, method.amount);
  const picked = pickRule(allowed, textAt(call, method.destination), amount, wallet);
  if (!picked.ok) return picked;
  return { ok: true, amounts: [{ asset: tokenAsset(chainId, to), amount, perDay: picked.rule.perDay }] };
}

/** One signature may be listed several times, with other fixed arguments: the first that takes the call decides. */
function judgeMethods(
  rules: OriginRules,
  transaction: Transaction,
  methods: readonly MethodRule[],
  wallet: string,
): Verdict {
  let refused: PolicyRefusal = refusal("METHOD", "this method of the contract is not allowed");
  for (const method of methods) {
    const verdict = judgeMethod(rules, transaction, method, wallet);
    if (verdict.ok) return verdict;
    refused = verdict;
  }
  return refused;
}

function judgeMethod(rules: OriginRules, transaction: Transaction, method: MethodRule, wallet: string): Verdict {
  const { chainId, value, data } = transaction;
  const call = decodeCall(method.signature, data);
  if (call === null) return refusal("CALLDATA", "the data is not exactly the method's arguments");
  for (const fixed of method.fixed)
    if (call[fixed.argument] !== (fixed.value === "self" ? wallet : fixed.value))
      return refusal(
        fixed.value === "self" ? "ACCOUNT" : "METHOD",
        `argument ${fixed.argument} is another than the fixed one`,
      );
  const { destination, amount } = method;
  if (destination !== null && !isAllowed(destination.allowed, textAt(call, destination.argument), wallet))
    return refusal("DESTINATION", "this destination is not allowed");
  const amounts: SpentAmount[] = [];
  if (amount !== null) {
    const spent = integerAt(call, amount.argument);
    if (spent > amount.perIntent) return refusal("AMOUNT_EACH", "more than one intent may spend");
    amounts.push({ asset: tokenAsset(chainId, amount.token), amount: spent, perDay: amount.perDay });
  }
  if (value === 0n) return { ok: true, amounts };
  const native = rules.native.find((rule) => rule.chainId === chainId);
  if (!method.payable || native === undefined) return refusal("VALUE", "this method takes no native money");
  if (value > native.perIntent) return refusal("AMOUNT_EACH", "more than one intent may spend");
  return { ok: true, amounts: [...amounts, nativeAmount(native, value)] };
}

function nativeAmount(rule: NativeRule, amount: bigint): SpentAmount {
  return { asset: nativeAsset(rule.chainId), amount, perDay: rule.perDay };
}

/** The signature was checked when the policy was read: another kind of argument is a fault of ours. */
function textAt(call: readonly CallArgument[], index: number): string {
  const argument = call[index];
  if (typeof argument !== "string") throw new TypeError(`argument ${index} is no address`);
  return argument;
}

function integerAt(call: readonly CallArgument[], index: number): bigint {
  const argument = call[index];
  if (typeof argument !== "bigint") throw new TypeError(`argument ${index} is no integer`);
  return argument;
}
