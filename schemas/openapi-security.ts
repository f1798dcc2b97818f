/**
 * How an operation identifies its caller, in OpenAPI's terms: the API key by its scope, the accounts by the headers that
 * the operation takes. Credentials in a body have no scheme in OpenAPI; the schema of the body describes them.
 */
import type { Operation, OperationAccess } from "./operation.js";
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
  apiKey: header("X-API-KEY", "Id of an API key (`pk_…`). Its role in `security` is the scope that the key needs."),
  apiTimestamp: header(
    "X-API-TIMESTAMP",
    "Unix ms of the signature; accepted for `X-API-RECV-WINDOW` ms (default 5000, 1000 to 60000) and 1 s ahead.",
  ),
  apiSignature: header(
    "X-API-SIGNATURE",
    "HMAC-SHA256 with the key's secret over timestamp, `X-API-RECV-WINDOW` where it is sent, method, request target and body, each exactly as sent; lower-case hex.",
  ),
  apiSecret: header(
    "X-API-SECRET",
    "Deprecated: a secret on the wire makes the signature pointless. Where it is sent it must match; it replaces the signature in AUTH_MODE=secret only.",
  ),
};

type SchemeName = string;
type Way = Readonly<Record<SchemeName, readonly string[]>>;

/** The headers of a caller's own key are valid only together. */
const OWN_KEY_SCHEMES: readonly SchemeName[] = OWN_KEY.headers.map(({ scheme }) => scheme);

/**
 * One way suffices. With `{}` among them no header is needed, because a body or a query can carry credentials, part of
 * the answer needs none, or the service runs in public mode. A way with a key names its scope as a role.
 */
export function securityOf(operation: Operation): readonly Way[] {
  const ways = accountWays(operation);
  const bare = ways.length === 0 ? [{}] : ways;
  return [bare, ...keyWays(operation.access).map((key) => bare.map((one) => ({ ...key, ...one })))].flat();
}

/** Scope of an operation in words; part of its description. */
export function scopeText({ access: { scope, owner } }: Operation): string {
  if (scope === "open") return owner === "nothing" ? "Needs no key." : "Needs no key; a key shows more.";
  return `Needs a key with the scope \`${scope}\`, outside public mode.`;
}

/** By signature, and by the secret itself where the service runs in secret mode. */
function keyWays({ scope }: OperationAccess): readonly Way[] {
  const apiKey = scope === "open" ? [] : [scope];
  return [
    { apiKey, apiTimestamp: [], apiSignature: [] },
    { apiKey, apiSecret: [] },
  ];
}

/** The headers that name accounts. Empty: the operation takes none. */
function accountWays({ headers }: Operation): readonly Way[] {
  const schemes = Object.entries(SECURITY_SCHEMES).filter(([scheme]) => !scheme.startsWith("api"));
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
