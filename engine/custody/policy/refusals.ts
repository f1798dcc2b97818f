/**
 * The rules by number. A number goes over the wire in `Abort` (code `POLICY`, detail), so it never changes its meaning.
 * The page of operators (docs/custody.md) lists them.
 */

export const POLICY_RULES = {
  /** The intent cannot be read. */
  INTENT: 1,
  RAW_DIGEST: 2,
  MESSAGE_KIND: 3,
  VENUE_TEXT: 4,
  /** Reads like the text or the typed data of a venue, and is not exactly one that is known. */
  VENUE_LIKENESS: 5,
  DOMAIN: 6,
  TYPED_DATA: 7,
  PERMIT: 8,
  /** Looks like a permit, and is none whose amounts are known. */
  PERMIT_LIKENESS: 9,
  VENUE_ACT: 10,
  VENUE_ACT_FIELDS: 11,
  CHAIN: 12,
  CONTRACT: 13,
  METHOD: 14,
  CALLDATA: 15,
  VALUE: 16,
  GAS: 17,
  DESTINATION: 18,
  /** Names an account that is not the wallet. */
  ACCOUNT: 19,
  AMOUNT_EACH: 20,
  AMOUNT_DAY: 21,
  /** The store was put back: what was spent today is unknown. */
  DAY_UNKNOWN: 22,
  DAY_FULL: 23,
} as const;

export type PolicyRule = keyof typeof POLICY_RULES;

export interface PolicyRefusal {
  readonly ok: false;
  readonly rule: PolicyRule;
  /** For the operator's log and the details of a reply: no byte of what was to be signed. */
  readonly reason: string;
}

export function refusal(rule: PolicyRule, reason: string): PolicyRefusal {
  return { ok: false, rule, reason };
}

/** What the caller of S gets for the number in an `Abort`: code of the 403, and `rule` for its details. */
export function refusalReply(detail: number): {
  readonly code: ReturnType<typeof policyErrorCode>;
  readonly rule: string;
} {
  return { code: policyErrorCode(detail), rule: policyRuleName(detail) ?? `RULE_${detail}` };
}

/** Code of the reply for the number in an `Abort`. A number that this program does not know is refused policy too. */
export function policyErrorCode(detail: number): "DESTINATION_NOT_ALLOWED" | "POLICY_REFUSED" {
  return detail === POLICY_RULES.DESTINATION ? "DESTINATION_NOT_ALLOWED" : "POLICY_REFUSED";
}

/** Null for a number of another version. */
export function policyRuleName(detail: number): PolicyRule | null {
  const names = Object.keys(POLICY_RULES) as PolicyRule[];
  return names.find((name) => POLICY_RULES[name] === detail) ?? null;
}
