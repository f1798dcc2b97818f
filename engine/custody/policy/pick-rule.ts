/** Which of several rules for one thing takes a destination and an amount. */
import type { Destinations, Limits } from "./policy.js";
import { type PolicyRefusal, refusal } from "./refusals.js";

export function isAllowed(destinations: Destinations, destination: string, wallet: string): boolean {
  return destinations.addresses.has(destination) || (destinations.self && destination === wallet);
}

/** Of those that take both, the one that allows most in a day. */
export function pickRule<Rule extends Limits & { readonly destinations: Destinations }>(
  rules: readonly Rule[],
  destination: string,
  amount: bigint,
  wallet: string,
): { readonly ok: true; readonly rule: Rule } | PolicyRefusal {
  const reachable = rules.filter((rule) => isAllowed(rule.destinations, destination, wallet));
  if (reachable.length === 0) return refusal("DESTINATION", "this destination is not allowed");
  const wide = reachable.filter((rule) => amount <= rule.perIntent);
  const [first, ...others] = wide;
  if (first === undefined) return refusal("AMOUNT_EACH", "more than one intent may spend");
  return { ok: true, rule: others.reduce((most, rule) => (rule.perDay > most.perDay ? rule : most), first) };
}
