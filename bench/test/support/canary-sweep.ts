/**
 * Requests to every operation of the table, with secrets wherever a caller could put one: right, refused at each check of
 * the door, and wrong in the route. An operation that is added is in it.
 */
import { type Operation, SCOPES, type Scope } from "../../../schemas/operation.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { signed } from "../../../gateway/test/test-keys.js";

export interface SweepKey {
  readonly keyId: string;
  readonly ownerId: string;
  readonly secret: string;
  readonly scopes: readonly Scope[];
}

export interface SweepParts {
  /** Every scope. */
  readonly all: SweepKey;
  /** One scope each. */
  readonly withScope: Readonly<Record<Scope, SweepKey>>;
  readonly revoked: SweepKey;
  /** The `credentials` object of bodies. */
  readonly credentials: object;
  readonly walletAddress: string;
  /** Secrets that are put where none belongs. */
  readonly misplaced: readonly string[];
  readonly wrongSecret: string;
}

export interface SweepRequest {
  readonly what: string;
  readonly method: Operation["method"];
  readonly target: string;
  /** Signed when it is first asked for: a sweep takes longer than a signature is accepted. The same from then on. */
  headers(): Headers;
  readonly body: string | undefined;
}

type Headers = Readonly<Record<string, string>>;

const OVERSIZED_BYTES = 70_000;
const JSON_TYPE = { "content-type": "application/json" };

const PARAMETERS: Readonly<Record<string, string>> = {
  symbol: "BTC",
  exchange: "venuetwo",
  walletId: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  walletIdOrAddress: "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10",
  orderId: "12345",
  routeId: "rt_none",
  switchId: "dm_none",
};
/** Values of body fields by their names; those that an operation does not have are left out. */
const FIELDS: Readonly<Record<string, unknown>> = {
  symbol: "BTC",
  exchange: "venuetwo",
  direction: "LONG",
  side: "BUY",
  size: "0.001",
  quantity: "0.001",
  type: "MARKET",
  orderType: "market",
  leverage: 3,
  marginMode: "cross",
  timeoutMs: 60_000,
  active: false,
  reason: "",
  message: "canary",
};
const QUERY_OF: Readonly<Record<string, string>> = { side: "SELL", size: "0.001", symbol: "BTC", exchange: "venuetwo" };

let lastMs = 0;
/** Two equal requests of one millisecond would be one. */
export function freshMs(): number {
  lastMs = Math.max(lastMs + 1, Date.now());
  return lastMs;
}

export function sweepRequests(parts: SweepParts): SweepRequest[] {
  return Object.values<Operation>(OPERATIONS).flatMap((operation) => requestsOf(operation, parts));
}

function requestsOf(operation: Operation, parts: SweepParts): SweepRequest[] {
  const { all, misplaced } = parts;
  const target = targetOf(operation, { ...PARAMETERS, walletAddress: parts.walletAddress });
  const good = bodyOf(operation, parts);
  const [secret = ""] = misplaced;
  const by = (key: SweepKey, more: Readonly<Record<string, string>> = {}, body = good, at = target) =>
    requestOf(operation, at, body, () => ({ ...headersOf(operation, key, at, body), ...more }));
  const name = (what: string, request: Omit<SweepRequest, "what">) => ({
    what: `${operation.id}: ${what}`,
    ...request,
  });
  const twice = by(all, { "x-api-secret": all.secret });
  const query = new URLSearchParams(
    misplaced.map((text, index): [string, string] => [`apiSecret${index}`, text]),
  ).toString();
  const odd = targetOf(
    operation,
    Object.fromEntries(Object.keys(operation.pathParameters).map((key) => [key, secret])),
  );
  const garbled = `{"credentials":${JSON.stringify(parts.credentials)},"x":"${misplaced.join(" ")}`;
  const wrongFields = JSON.stringify(wrongFieldsOf(operation, misplaced));
  return [
    name("right", by(all, { "idempotency-key": `sweep-${operation.id}` })),
    name("right, with its secret", twice),
    name("the same again", twice),
    name("another secret shown", by(all, { "x-api-secret": parts.wrongSecret })),
    name("signed with another secret", by({ ...all, secret: parts.wrongSecret })),
    name("a secret as the key", by({ ...all, keyId: secret })),
    name("a secret as the signature", by(all, { "x-api-signature": all.secret })),
    name("a secret as the timestamp", by(all, { "x-api-timestamp": all.secret })),
    name("a secret as the window", by(all, { "x-api-recv-window": all.secret })),
    name("a secret as the request id", by(all, { "x-request-id": all.secret, "user-agent": all.secret })),
    name("a revoked key", by(parts.revoked)),
    ...SCOPES.map((scope) => name(`a key with ${scope} alone`, by(parts.withScope[scope]))),
    name(
      "no key",
      requestOf(operation, target, good, () => otherHeaders(all.secret)),
    ),
    name("a foreign page", by(all, { origin: `https://${all.secret}.example` })),
    name("secrets in the path", by(all, {}, good, odd)),
    name("secrets in the query", by(all, {}, good, `${target}${target.includes("?") ? "&" : "?"}${query}`)),
    name("half a body", by(all, {}, garbled)),
    name("secrets in wrong fields", by(all, {}, wrongFields)),
    name("another media type", by(all, { "content-type": `text/plain; x=${secret}` })),
    name("too large", by(all, {}, `${garbled}${secret.repeat(Math.ceil(OVERSIZED_BYTES / secret.length))}`)),
  ].filter(({ method, body }) => method !== "GET" || body === undefined || operation.body !== null);
}

function requestOf(
  { method, body: schema }: Operation,
  target: string,
  body: string | undefined,
  sign: () => Headers,
): Omit<SweepRequest, "what"> {
  const hasBody = body !== undefined && (schema !== null || method !== "GET");
  let signedHeaders: Headers | null = null;
  return {
    method,
    target,
    body: hasBody ? body : undefined,
    headers() {
      signedHeaders ??= hasBody ? { ...JSON_TYPE, ...sign() } : sign();
      return signedHeaders;
    },
  };
}

function headersOf({ method, body: schema }: Operation, key: SweepKey, target: string, body: string | undefined) {
  const hasBody = body !== undefined && (schema !== null || method !== "GET");
  return signed(key, { method, target, timestamp: freshMs(), ...(hasBody ? { body } : {}) });
}

function otherHeaders(secret: string): Record<string, string> {
  return { authorization: `Bearer ${secret}`, cookie: `session=${secret}`, "x-forwarded-for": secret };
}

function targetOf({ path, query }: Operation, parameters: Readonly<Record<string, string>>): string {
  const known = Object.keys((query as { properties?: object } | null)?.properties ?? {});
  const asked = known.flatMap((name) => (QUERY_OF[name] === undefined ? [] : [`${name}=${QUERY_OF[name]}`]));
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? "x"));
  return asked.length === 0 ? filled : `${filled}?${asked.join("&")}`;
}

function fieldsOf({ body }: Operation): string[] {
  return Object.keys((body as { properties?: object } | null)?.properties ?? {});
}

function bodyOf(operation: Operation, { credentials, walletAddress }: SweepParts): string | undefined {
  if (operation.body === null) return undefined;
  // Elsewhere a user id must name the wallet of the request.
  const names = operation.tag === "wallets" ? { userId: "canary-user" } : {};
  const values: Readonly<Record<string, unknown>> = { ...FIELDS, ...names, credentials, walletAddress };
  return JSON.stringify(
    Object.fromEntries(fieldsOf(operation).flatMap((name) => (name in values ? [[name, values[name]]] : []))),
  );
}

function wrongFieldsOf(operation: Operation, misplaced: readonly string[]): Record<string, unknown> {
  const secret = (index: number): string => misplaced[index % misplaced.length] ?? "";
  const fields = fieldsOf(operation).map((name, index) => [name, secret(index)] as const);
  const unknown = misplaced.map((text) => [text, { [text]: [text] }] as const);
  return Object.fromEntries([...fields, ...unknown]);
}
