/**
 * How the caller of an operation is known, as OpenAPI says it: read off the headers that the operation takes. Credentials
 * in a body have no scheme there; the schema of the body says what they are.
 */
import type { Operation } from "./operation.js";

interface Scheme {
  readonly type: "apiKey";
  readonly in: "header";
  readonly name: string;
  readonly description: string;
}

const header = (name: string, description: string): Scheme => ({ type: "apiKey", in: "header", name, description });

export const SECURITY_SCHEMES = {
  walletId: header(
    "x-wallet-id",
    "UUID of a server wallet, whose stored venue credentials are used. Whoever knows it can trade with that wallet.",
  ),
  venueCredentials: header(
    "X-Venue-Credentials",
    "base64url of the JSON credentials object, used for this request only. A body with `credentials` says the same.",
  ),
  venuethreeKey: header("X-Venuethree-Api-Key-Private-Key", "Private API key of venuethree, 80 hex digits."),
  venuethreeKeyIndex: header("X-Venuethree-Api-Key-Index", "Index of that key within its account."),
  venuethreeAccount: header("X-Venuethree-Account-Index", "Index of the account that the key belongs to."),
} as const satisfies Record<string, Scheme>;

type SchemeName = keyof typeof SECURITY_SCHEMES;
type Way = Readonly<Partial<Record<SchemeName, readonly string[]>>>;

/** The three headers of venuethree say one thing together. */
const VENUETHREE: readonly SchemeName[] = ["venuethreeKey", "venuethreeKeyIndex", "venuethreeAccount"];

/**
 * One way suffices. Empty: nobody is asked who they are. With `{}` among them: no header is needed, because a body or a
 * query can carry credentials, or part of the answer needs none.
 */
export function securityOf({ headers }: Operation): readonly Way[] {
  const names = Object.keys(SECURITY_SCHEMES) as SchemeName[];
  const schemeOf = (headerName: string) =>
    names.find((name) => SECURITY_SCHEMES[name].name.toLowerCase() === headerName.toLowerCase());
  const taken = headers.flatMap(({ name, required }) => {
    const scheme = schemeOf(name);
    return scheme === undefined ? [] : [{ scheme, required: required === true }];
  });
  const required = taken.filter((one) => one.required).map((one) => one.scheme);
  if (required.length > 0) return [way(required)];
  const others = taken.map((one) => one.scheme).filter((scheme) => !VENUETHREE.includes(scheme));
  const ways = others.toSorted().map((scheme) => way([scheme]));
  if (taken.length > others.length) ways.push(way(VENUETHREE));
  return ways.length === 0 ? [] : [{}, ...ways];
}

function way(schemes: readonly SchemeName[]): Way {
  return Object.fromEntries(schemes.map((scheme) => [scheme, []]));
}
