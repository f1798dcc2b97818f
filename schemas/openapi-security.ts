/**
 * How an operation identifies its caller, in OpenAPI's terms: derived from the headers that the operation takes.
 * Credentials in a body have no scheme in OpenAPI; the schema of the body describes them.
 */
import type { Operation } from "./operation.js";
import { OWN_KEY } from "./venues.js";

interface Scheme {
  readonly type: "apiKey";
  readonly in: "header";
  readonly name: string;
  readonly description: string;
}

const header = (name: string, description: string): Scheme => ({ type: "apiKey", in: "header", name, description });

export const SECURITY_SCHEMES: Readonly<Record<SchemeName, Scheme>> = {
  walletId: header(
    "x-wallet-id",
    "UUID of a server wallet, whose stored venue credentials are used. Whoever knows it can trade with that wallet.",
  ),
  venueCredentials: header(
    "X-Venue-Credentials",
    "base64url of the JSON credentials object, used for this request only. A body with `credentials` says the same.",
  ),
  ...Object.fromEntries(OWN_KEY.headers.map(({ scheme, name, description }) => [scheme, header(name, description)])),
};

type SchemeName = string;
type Way = Readonly<Record<SchemeName, readonly string[]>>;

/** The headers of a caller's own key are valid only together. */
const OWN_KEY_SCHEMES: readonly SchemeName[] = OWN_KEY.headers.map(({ scheme }) => scheme);

/**
 * One way suffices. Empty means that no caller is identified. With `{}` among them no header is needed, because a body or a
 * query can carry credentials, or part of the answer needs none.
 */
export function securityOf({ headers }: Operation): readonly Way[] {
  const schemes = Object.entries(SECURITY_SCHEMES);
  const schemeOf = (headerName: string) =>
    schemes.find(([, { name }]) => name.toLowerCase() === headerName.toLowerCase())?.[0];
  const taken = headers.flatMap(({ name, required }) => {
    const scheme = schemeOf(name);
    return scheme === undefined ? [] : [{ scheme, required: required === true }];
  });
  const required = taken.filter((one) => one.required).map((one) => one.scheme);
  if (required.length > 0) return [way(required)];
  const others = taken.map((one) => one.scheme).filter((scheme) => !OWN_KEY_SCHEMES.includes(scheme));
  const ways = others.toSorted().map((scheme) => way([scheme]));
  if (taken.length > others.length) ways.push(way(OWN_KEY_SCHEMES));
  return ways.length === 0 ? [] : [{}, ...ways];
}

function way(schemes: readonly SchemeName[]): Way {
  return Object.fromEntries(schemes.map((scheme) => [scheme, []]));
}
