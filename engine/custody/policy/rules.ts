/**
 * May this intent be signed, and what does it spend? Pure: the policy, the intent and the wallet come in. Whatever no
 * rule names is refused, and so is what cannot be read to the last byte.
 */
import type { SignIntent } from "../digest/intent.js";
import type { TypedData } from "../digest/typed-data-types.js";
import { type SpentAmount, tokenAsset, venueAsset } from "./amounts.js";
import { messageKind } from "./message-kind.js";
import { type PermitGrant, type PermitReading, readPermit } from "./permits.js";
import type { Destinations, Limits, OriginRules, Rulebook, TypedDataRule } from "./policy.js";
import { type PolicyRefusal, refusal } from "./refusals.js";
import { pickRule } from "./pick-rule.js";
import { judgeTransaction } from "./transaction-rules.js";
import { type VenueAct, type VenueActs, venueOf } from "./venue-acts.js";

export type PolicyVerdict = { readonly ok: true; readonly amounts: readonly SpentAmount[] } | PolicyRefusal;

const FREE: PolicyVerdict = { ok: true, amounts: [] };

/** `wallet` is the address that signs, lower case. */
export function judgeIntent({ policy, acts }: Rulebook, intent: SignIntent, wallet: string): PolicyVerdict {
  const rules = policy[intent.origin];
  switch (intent.kind) {
    case "digest":
      return rules.digests ? FREE : refusal("RAW_DIGEST", "raw digests are not signed");
    case "message":
      return judgeMessage(rules, acts, intent.message, wallet);
    case "transaction":
      return judgeTransaction(rules, intent.transaction, wallet);
    case "typedData":
      return judgeTypedData(rules, acts, intent.typed, wallet);
  }
}

/** A venue's text first: a rule that allows all texts does not allow it. */
function judgeMessage(rules: OriginRules, acts: VenueActs, message: Uint8Array, wallet: string): PolicyVerdict {
  const text = acts.readText(message);
  if (text.kind === "likeness") return refusal("VENUE_LIKENESS", "the message reads like a venue's text");
  if (text.kind === "act")
    return judgeVenueAct(rules, { act: text.act, account: null, destination: null, spent: null }, wallet, "VENUE_TEXT");
  const kind = messageKind(message);
  return rules.messages.includes(kind) ? FREE : refusal("MESSAGE_KIND", `messages of the kind ${kind} are not signed`);
}

/**
 * The order decides: exact permits, then venues, then what only looks like a permit, then what the operator allows by
 * domain and type. So a rule of the last sort never allows one of the former.
 */
function judgeTypedData(rules: OriginRules, acts: VenueActs, typed: TypedData, wallet: string): PolicyVerdict {
  const { chainId, verifyingContract } = typed.domain;
  if (chainId === undefined || chainId === 0n) return refusal("DOMAIN", "the domain names no chain");
  const permit = readPermit(typed, verifyingContract ?? "");
  if (permit.kind === "permit") {
    if (verifyingContract === undefined) return refusal("DOMAIN", "the domain of a permit names no contract");
    return judgePermit(rules, { chainId, contract: verifyingContract }, permit, wallet);
  }
  const venue = acts.readTypedData(typed);
  if (venue.kind === "act") return judgeVenueAct(rules, venue.act, wallet, "VENUE_ACT");
  if (venue.kind === "likeness") return refusal("VENUE_LIKENESS", "the typed data reads like a venue's");
  if (venue.kind === "unreadable") return refusal("VENUE_ACT_FIELDS", "the values of a venue's typed data are unclear");
  if (permit.kind === "likeness") return refusal("PERMIT_LIKENESS", "the typed data reads like an unknown permit");
  return rules.typedData.some((rule) => isAllowedDomain(rule, typed))
    ? FREE
    : refusal("TYPED_DATA", "this domain and primary type are not allowed");
}

function isAllowedDomain(rule: TypedDataRule, typed: TypedData): boolean {
  const { name, version, chainId, verifyingContract, salt } = typed.domain;
  return (
    salt === undefined &&
    name === rule.name &&
    (version ?? null) === rule.version &&
    chainId === rule.chainId &&
    (verifyingContract ?? null) === rule.verifyingContract &&
    typed.primaryType === rule.primaryType
  );
}

function judgePermit(
  rules: OriginRules,
  domain: { readonly chainId: bigint; readonly contract: string },
  permit: Extract<PermitReading, { kind: "permit" }>,
  wallet: string,
): PolicyVerdict {
  const known = rules.permits.filter(
    (rule) => rule.chainId === domain.chainId && rule.contract === domain.contract && rule.kind === permit.permit,
  );
  if (known.length === 0) return refusal("PERMIT", "permits of this kind and contract are not allowed");
  if (permit.owner !== null && permit.owner !== wallet)
    return refusal("ACCOUNT", "the permit names another owner than the wallet");
  const amounts: SpentAmount[] = [];
  for (const [token, grants] of groupByToken(permit.grants)) {
    const ofToken = known.filter((rule) => rule.token === token);
    if (ofToken.length === 0) return refusal("PERMIT", "permits of this token are not allowed");
    const amount = grants.reduce((sum, grant) => sum + grant.amount, 0n);
    const picked = pickRule(ofToken, grants[0]?.destination ?? "", amount, wallet);
    if (!picked.ok) return picked;
    amounts.push({ asset: tokenAsset(domain.chainId, token), amount, perDay: picked.rule.perDay });
  }
  return { ok: true, amounts };
}

/** All grants of one permit empower one spender. */
function groupByToken(grants: readonly PermitGrant[]): ReadonlyMap<string, readonly PermitGrant[]> {
  const groups = new Map<string, PermitGrant[]>();
  for (const grant of grants) groups.set(grant.token, [...(groups.get(grant.token) ?? []), grant]);
  return groups;
}

function judgeVenueAct(
  rules: OriginRules,
  act: VenueAct,
  wallet: string,
  missing: "VENUE_ACT" | "VENUE_TEXT",
): PolicyVerdict {
  const known = rules.venues.filter((rule) => rule.act === act.act);
  if (known.length === 0) return refusal(missing, `${act.act} is not allowed`);
  if (act.account !== null && act.account !== wallet)
    return refusal("ACCOUNT", `${act.act} names another account than the wallet`);
  const { destination, spent } = act;
  const ofToken = known.flatMap((rule) => {
    if (spent === null) return [{ destinations: rule.destinations, perIntent: 0n, perDay: 0n }];
    return rule.spends?.token === spent.token ? [{ destinations: rule.destinations, ...rule.spends }] : [];
  });
  if (spent !== null && ofToken.length === 0) return refusal(missing, `${act.act} of this token is not allowed`);
  if (destination === null) return FREE;
  const picked = pickRule<{ destinations: Destinations } & Limits>(ofToken, destination, spent?.amount ?? 0n, wallet);
  if (!picked.ok) return picked;
  if (spent === null) return FREE;
  return {
    ok: true,
    amounts: [{ asset: venueAsset(venueOf(act.act), spent.token), amount: spent.amount, perDay: picked.rule.perDay }],
  };
}
