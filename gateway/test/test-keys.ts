/**
 * Keys of the tests: a fixed table and a real HMAC check, with the codes and the order of the real authenticator, which
 * is tested in gateway/auth. Here it shows what the server and the stream do with verdicts.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { type ErrorCode, ServiceError } from "../../engine/domain/errors.js";
import type { Scope } from "../../schemas/operation.js";
import type { AddressOf, Authenticator, AuthVerdict, Caller, CallerAuth, SignedRequest } from "../http/caller.js";

export interface TestKey {
  readonly keyId: string;
  readonly secret: string;
  readonly ownerId: string;
  readonly scopes: readonly Scope[];
  readonly ips?: readonly string[];
}

const key = (name: string, ownerId: string, scopes: readonly Scope[]): TestKey => ({
  keyId: `pk_${name}`,
  secret: `sk_secret_of_${name}`,
  ownerId,
  scopes,
});

export const ALICE = key("alice", "owner-a", ["read", "trade", "transfer", "sign"]);
export const ALICE_READS = key("alice_reads", "owner-a", ["read"]);
export const ALICE_TRADES = key("alice_trades", "owner-a", ["trade"]);
export const BOB = key("bob", "owner-b", ["read", "trade"]);
export const ADMIN = key("admin", "owner-o", ["read", "trade", "transfer", "sign", "admin"]);
export const ONLY_ADMIN = key("only_admin", "owner-o", ["admin"]);
export const SCOPELESS = key("scopeless", "owner-c", []);
export const REVOKED = key("revoked", "owner-r", ["read", "trade", "transfer", "sign", "admin"]);
export const LOCAL_ONLY: TestKey = { ...key("elsewhere", "owner-e", ["read", "trade"]), ips: ["203.0.113.7"] };
const KEYS = [ALICE, ALICE_READS, ALICE_TRADES, BOB, ADMIN, ONLY_ADMIN, SCOPELESS, REVOKED, LOCAL_ONLY];

const RECV_WINDOW_MS = 5_000;
const AHEAD_MS = 1_000;
const TICKET_MS = 30_000;
const SIGNATURE = /^[0-9a-f]{64}$/;

export interface TestAuth extends CallerAuth {
  /** Requests that cost a digest. */
  readonly digestCount: () => number;
  revoke(keyId: string): void;
  /** The next writes are accepted once this resolves; null: at once. */
  settleWith(settled: Promise<void> | null): void;
}

export interface TestAuthOptions {
  readonly mode?: Authenticator["mode"];
  readonly nowMs?: () => number;
  readonly addressOf?: AddressOf;
  /** Beside those of the table. */
  readonly keys?: readonly TestKey[];
}

export function createTestAuth({
  mode = "signed",
  nowMs = Date.now,
  addressOf,
  keys = [],
}: TestAuthOptions = {}): TestAuth {
  const all = [...KEYS, ...keys];
  const callers = new Map<string, Caller>(
    all.map(({ keyId, ownerId, scopes }) => [keyId, { keyId, ownerId, scopes: new Set(scopes) }]),
  );
  const revoked = new Set([REVOKED.keyId]);
  const seen = new Set<string>();
  const tickets = new Map<string, { keyId: string; address: string; untilMs: number }>();
  const listeners: ((keyId: string) => void)[] = [];
  let digests = 0;
  let settled: Promise<void> | null = null;

  const refused = (code: ErrorCode, details: Readonly<Record<string, unknown>> = {}): AuthVerdict => ({
    ok: false,
    error: new ServiceError(code, { ...details, serverTime: nowMs() }),
  });

  function judge(request: SignedRequest, once: boolean): AuthVerdict {
    const { headers } = request;
    const isShown = headers.signature !== null || (mode !== "public" && headers.apiKey !== null);
    if (mode === "public" && !isShown) return { ok: true, caller: null, deprecated: headers.secret !== null };
    // In secret mode a signature is taken too, and then verified.
    const isSigned = mode !== "secret" || (headers.signature ?? "") !== "";
    for (const [name, text] of [
      ["X-API-KEY", headers.apiKey],
      ["X-API-TIMESTAMP", isSigned ? headers.timestamp : "-"],
      ["X-API-SIGNATURE", isSigned ? headers.signature : "-"],
      ["X-API-SECRET", isSigned ? "-" : headers.secret],
    ])
      if (text === null || text === "") return refused("AUTH_MISSING_HEADER", { header: name });
    const found = all.find(({ keyId }) => keyId === headers.apiKey);
    const caller = callers.get(headers.apiKey ?? "");
    if (found === undefined || caller === undefined) {
      if (isSigned) digests++;
      return refused("AUTH_UNKNOWN_KEY");
    }
    if (revoked.has(found.keyId)) return refused("KEY_REVOKED");
    if (isSigned) {
      const problem = signatureProblem(request, found);
      if (problem !== null) return problem;
    }
    if (headers.secret !== null && headers.secret !== found.secret)
      return refused("AUTH_BAD_SIGNATURE", { header: "X-API-SECRET" });
    if (found.ips !== undefined && !found.ips.includes(request.address)) return refused("IP_NOT_ALLOWED");
    if (once && isSigned) {
      if (seen.has(headers.signature ?? "")) return refused("AUTH_REPLAY");
      seen.add(headers.signature ?? "");
    }
    const verdict = { ok: true, caller, deprecated: headers.secret !== null } as const;
    return once && settled !== null ? { ...verdict, settled } : verdict;
  }

  function signatureProblem({ headers, method, target, body }: SignedRequest, { secret }: TestKey): AuthVerdict | null {
    const timestamp = headers.timestamp ?? "";
    const windowMs = headers.recvWindow === null ? RECV_WINDOW_MS : Number(headers.recvWindow);
    const tsMs = /^[1-9][0-9]{0,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
    if (!(tsMs >= nowMs() - windowMs && tsMs <= nowMs() + AHEAD_MS) || !(windowMs >= 1000 && windowMs <= 60_000))
      return refused("AUTH_TIMESTAMP_OUT_OF_WINDOW");
    digests++;
    const prehash = Buffer.concat([Buffer.from(timestamp + (headers.recvWindow ?? "") + method + target), body]);
    const expected = createHmac("sha256", secret).update(prehash).digest();
    const signature = headers.signature ?? "";
    if (SIGNATURE.test(signature) && timingSafeEqual(Buffer.from(signature, "hex"), expected)) return null;
    return refused("AUTH_BAD_SIGNATURE", { prehashSha256: createHash("sha256").update(prehash).digest("hex") });
  }

  return {
    authenticator: {
      mode,
      namedKey({ headers, address }) {
        const found = all.find(({ keyId }) => keyId === headers.apiKey && !revoked.has(keyId));
        return found === undefined || found.ips?.includes(address) === false ? null : found.keyId;
      },
      authenticate: (request) => judge(request, request.method !== "GET" && request.method !== "HEAD"),
      authenticateOnce: (request) => judge(request, true),
    },
    tickets: {
      issue(keyId, address) {
        const ticket = `st_${keyId}_${tickets.size}`;
        const untilMs = nowMs() + TICKET_MS;
        tickets.set(ticket, { keyId, address, untilMs });
        return { ticket, expiresAt: untilMs };
      },
      redeem(ticket, address) {
        const found = tickets.get(ticket);
        tickets.delete(ticket);
        const isGood = found !== undefined && found.address === address && found.untilMs > nowMs();
        return isGood && !revoked.has(found.keyId) ? (callers.get(found.keyId) ?? null) : null;
      },
    },
    revocations: { onRevoked: (listener) => void listeners.push(listener) },
    ...(addressOf === undefined ? {} : { addressOf }),
    digestCount: () => digests,
    revoke(keyId) {
      revoked.add(keyId);
      for (const listener of listeners) listener(keyId);
    },
    settleWith(promise) {
      settled = promise;
    },
  };
}

export interface Signing {
  readonly method?: string;
  readonly target: string;
  readonly body?: string | Uint8Array;
  readonly timestamp?: number | string;
  readonly recvWindow?: string;
}

/** Headers of a request that the key signs. */
export function signed(by: Pick<TestKey, "keyId" | "secret">, request: Signing): Record<string, string> {
  const { method = "GET", target, body = "", timestamp = Date.now(), recvWindow = "" } = request;
  const prehash = Buffer.concat([Buffer.from(timestamp + recvWindow + method + target), Buffer.from(body)]);
  return {
    "x-api-key": by.keyId,
    "x-api-timestamp": String(timestamp),
    "x-api-signature": createHmac("sha256", by.secret).update(prehash).digest("hex"),
    ...(recvWindow === "" ? {} : { "x-api-recv-window": recvWindow }),
  };
}
