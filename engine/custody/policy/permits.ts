/**
 * Signed permissions over tokens: EIP-2612, the older form with a truth value, EIP-3009, and Permit2 in all its types.
 * Whoever holds such a signature moves the tokens without a transaction of the wallet, so each counts as an amount
 * towards the one it empowers.
 *
 * A permit is known by its whole type string, which is what contracts hash. What has the name or the fields of a permit
 * under another type string is a likeness: its amounts are unknown, and no rule allows it.
 */
import { structsOf, typeString } from "../digest/typed-data-hash.js";
import { isTypedList, isTypedStruct, type TypedData, type TypedStruct } from "../digest/typed-data-types.js";
import { MAX_AMOUNT } from "./amounts.js";

export const PERMIT_KINDS = [
  "eip2612",
  "allowed",
  "eip3009",
  "permit2Allowance",
  "permit2Transfer",
  "permit2Witness",
] as const;
export type PermitKind = (typeof PERMIT_KINDS)[number];

export interface PermitGrant {
  /** Lower case. */
  readonly token: string;
  /** Who may take the tokens, or gets them. */
  readonly destination: string;
  readonly amount: bigint;
}

export type PermitReading =
  | { readonly kind: "none" }
  | { readonly kind: "likeness" }
  | {
      readonly kind: "permit";
      readonly permit: PermitKind;
      /** The account that the permit names as the tokens' owner. Permit2 names none: it is the signer. */
      readonly owner: string | null;
      readonly grants: readonly PermitGrant[];
    };

type Decode = (message: TypedStruct, contract: string) => { owner: string | null; grants: readonly PermitGrant[] };

const AUTHORIZATION = "(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)";
const DETAILS = "PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)";
const PERMISSIONS = "TokenPermissions(address token,uint256 amount)";

const eip2612: Decode = (message, contract) => ({
  owner: text(message, "owner"),
  grants: [{ token: contract, destination: text(message, "spender"), amount: integer(message, "value") }],
});

/** All or nothing: allowed means every token that the holder will ever have. */
const allowed: Decode = (message, contract) => ({
  owner: text(message, "holder"),
  grants: [
    {
      token: contract,
      destination: text(message, "spender"),
      amount: message.get("allowed") === true ? MAX_AMOUNT : 0n,
    },
  ],
});

const eip3009: Decode = (message, contract) => ({
  owner: text(message, "from"),
  grants: [{ token: contract, destination: text(message, "to"), amount: integer(message, "value") }],
});

const cancelled: Decode = (message) => ({ owner: text(message, "authorizer"), grants: [] });

function permit2(member: "details" | "permitted"): Decode {
  return (message) => {
    const value = message.get(member);
    const items = isTypedList(value) ? value : [value];
    const destination = text(message, "spender");
    const grants = items.map((item) => {
      if (!isTypedStruct(item)) throw new TypeError(`${member} is no struct`);
      return { token: text(item, "token"), destination, amount: integer(item, "amount") };
    });
    return { owner: null, grants };
  };
}

const KNOWN: ReadonlyMap<string, { readonly kind: PermitKind; readonly decode: Decode }> = new Map([
  [
    "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)",
    { kind: "eip2612", decode: eip2612 },
  ],
  [
    "Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)",
    { kind: "allowed", decode: allowed },
  ],
  [`TransferWithAuthorization${AUTHORIZATION}`, { kind: "eip3009", decode: eip3009 }],
  [`ReceiveWithAuthorization${AUTHORIZATION}`, { kind: "eip3009", decode: eip3009 }],
  ["CancelAuthorization(address authorizer,bytes32 nonce)", { kind: "eip3009", decode: cancelled }],
  [
    `PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)${DETAILS}`,
    { kind: "permit2Allowance", decode: permit2("details") },
  ],
  [
    `PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)${DETAILS}`,
    { kind: "permit2Allowance", decode: permit2("details") },
  ],
  [
    `PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)${PERMISSIONS}`,
    { kind: "permit2Transfer", decode: permit2("permitted") },
  ],
  [
    `PermitBatchTransferFrom(TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline)${PERMISSIONS}`,
    { kind: "permit2Transfer", decode: permit2("permitted") },
  ],
]);

/** Behind these the contract puts a type string of the spender's choice: the witness. */
const WITNESSED = [
  "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,",
  "PermitBatchWitnessTransferFrom(TokenPermissions[] permitted,address spender,uint256 nonce,uint256 deadline,",
];

/** `contract` is the domain's, which is the token itself for all but Permit2. */
export function readPermit(typed: TypedData, contract: string): PermitReading {
  const whole = typeString(typed.types, typed.primaryType);
  const known = KNOWN.get(whole);
  if (known !== undefined) return { kind: "permit", permit: known.kind, ...known.decode(typed.message, contract) };
  if (WITNESSED.some((stub) => whole.startsWith(stub)) && typeString(typed.types, "TokenPermissions") === PERMISSIONS)
    return { kind: "permit", permit: "permit2Witness", ...permit2("permitted")(typed.message, contract) };
  return looksLikePermit(typed) ? { kind: "likeness" } : { kind: "none" };
}

const LIKE_NAME = /permit|withauthorization|cancelauthorization|approv|allowance/;
const LIKE_FIELD = /^(?:spender|operator|approved|allowed|delegate|delegatee|allowance)$/;

/** By the names that were read, in any case: in any struct of the message, not in the outer one alone. */
function looksLikePermit(typed: TypedData): boolean {
  return structsOf(typed.types, typed.primaryType).some(
    (name) =>
      LIKE_NAME.test(lettersOf(name)) ||
      (typed.types.get(name) ?? []).some((field) => LIKE_FIELD.test(lettersOf(field.name))),
  );
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** The type string fixes the kinds of the members: another kind is a fault of ours. */
function text(struct: TypedStruct, member: string): string {
  const value = struct.get(member);
  if (typeof value !== "string") throw new TypeError(`${member} is no text`);
  return value;
}

function integer(struct: TypedStruct, member: string): bigint {
  const value = struct.get(member);
  if (typeof value !== "bigint") throw new TypeError(`${member} is no integer`);
  return value;
}
