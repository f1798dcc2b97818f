/**
 * What rooms have in common that tell the co-signer of their venues' typed data and texts (engine/custody/policy/
 * venue-acts.ts). An act is known by its whole type string and its whole domain.
 */
import { typeString } from "../../../engine/custody/digest/typed-data-hash.js";
import type { TypedData, TypedDomain, TypedStruct } from "../../../engine/custody/digest/typed-data-types.js";
import { readVenueAmount } from "../../../engine/custody/policy/amounts.js";
import {
  type ActNeeds,
  type ActReading,
  lettersOf,
  type TextReading,
  type VenueAct,
} from "../../../engine/custody/policy/venue-acts.js";
import { ZERO_ADDRESS } from "./eip712.js";

export const PLAIN: ActNeeds = { destinations: "none", amounts: false };
export const MONEY: ActNeeds = { destinations: "required", amounts: true };

export const NOTHING = { account: null, destination: null, spent: null } as const;

/** Returns null when the values leave open what the act does. */
export type DecodeAct = (message: TypedStruct, domain: TypedDomain) => Omit<VenueAct, "act"> | null;

export interface KnownAct<Name extends string> {
  readonly act: Name;
  /** As EIP-712 encodes it, whole. */
  readonly type: string;
  readonly domainName: string;
  /** Null: any chain id. */
  readonly chainId: bigint | null;
  readonly decode: DecodeAct;
}

/** What makes typed data read like a venue's, by names of which `lettersOf` left the letters. */
export interface Likeness {
  readonly domain: RegExp;
  readonly type?: RegExp;
  /** Chain ids that are the venue's own and no chain. */
  readonly chainIds?: readonly bigint[];
}

/** The typed data is exactly one of the table, or looks like the venue's, or neither. */
export function readKnownAct<Name extends string>(
  table: readonly KnownAct<Name>[],
  likeness: Likeness,
  typed: TypedData,
): ActReading<Name> {
  const type = typeString(typed.types, typed.primaryType);
  const { domain } = typed;
  const known = table.find(
    (row) =>
      row.type === type &&
      isPlainDomain(domain, row.domainName) &&
      (row.chainId === null || row.chainId === domain.chainId),
  );
  if (known === undefined) return { kind: isLike(likeness, typed) ? "likeness" : "none" };
  const decoded = known.decode(typed.message, domain);
  return decoded === null ? { kind: "unreadable" } : { kind: "act", act: { act: known.act, ...decoded } };
}

/** All of the venues' domains are of this form: version 1, the zero address, no salt. */
export function isPlainDomain(domain: TypedDomain, name: string): boolean {
  const { version, chainId, verifyingContract, salt } = domain;
  const isPlain = version === "1" && verifyingContract === ZERO_ADDRESS && salt === undefined;
  return domain.name === name && isPlain && chainId !== undefined && chainId > 0n;
}

function isLike({ domain, type, chainIds = [] }: Likeness, typed: TypedData): boolean {
  return (
    domain.test(lettersOf(typed.domain.name ?? "")) ||
    (typed.domain.chainId !== undefined && chainIds.includes(typed.domain.chainId)) ||
    (type !== undefined && [...typed.types.keys()].some((name) => type.test(lettersOf(name))))
  );
}

/** Venues read addresses in texts in lower case; another case would be another hash to them. */
export function addressText(value: unknown): string | null {
  return typeof value === "string" && /^0x[0-9a-f]{40}$/.test(value) ? value : null;
}

export function amountText(value: unknown): bigint | null {
  return typeof value === "string" ? readVenueAmount(value) : null;
}

/**
 * A venue compares bytes, so what is allowed is compared as bytes too. What only reads like one of its texts is a
 * likeness, in whatever case, spacing or script it is written, and wherever in the message it is. A byte that is no
 * UTF-8 became a replacement character, which no pattern takes.
 */
export function readKnownText<Name extends string>(
  known: { readonly act: Name; readonly pattern: RegExp } | null,
  likenesses: readonly string[],
  { text, letters }: { readonly text: string; readonly letters: string },
): TextReading<Name> {
  if (known?.pattern.test(text) === true) return { kind: "act", act: known.act };
  return { kind: likenesses.some((likeness) => letters.includes(likeness)) ? "likeness" : "none" };
}
