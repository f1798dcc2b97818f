// hot path
/**
 * Proves the key of a request, as docs/api-keys.md describes it. The order of the checks is fixed: headers, key,
 * timestamp, signature, secret, address, replay. Before the signature is right, nothing is answered but what the caller
 * could know itself.
 *
 * Time: digests are compared with timingSafeEqual, and both live secrets of a key are tried, whichever matches. An
 * unknown or revoked key costs the same digests as a wrong signature of a known one: its signature is checked with a
 * secret that nobody has. (Its code says that it is unknown; the digests keep the time from saying more.)
 *
 * Nothing is allocated for an accepted read but the digests' texts and the verdict.
 */
import { hash } from "node:crypto";
import type { Clock } from "../../engine/domain/clock.js";
import { type ErrorCode, ServiceError } from "../../engine/domain/errors.js";
import type { Authenticator, AuthVerdict, Caller, SignedRequest } from "../http/caller.js";
import type { HighWaterMark } from "./high-water-mark.js";
import type { KeyTable, LiveKey } from "./key-table.js";
import { Prehash, splitProblem } from "./prehash.js";
import type { ReplayWindow } from "./replay-window.js";
import {
  AHEAD_MAX_MS,
  isShown,
  isSignatureForm,
  isWrite,
  RECV_WINDOW_MAX_MS,
  RECV_WINDOW_MIN_MS,
  recvWindowMs,
  showsKey,
  timestampMs,
} from "./request-form.js";
import { mintSecret, type FillRandom } from "./secret-text.js";
import { SigningSecret } from "./signing-secret.js";

/** A key that was refused for its address is reported once in this time. */
const ADDRESS_REPORT_MS = 60_000;

export interface RequestAuthParts {
  readonly mode: Authenticator["mode"];
  readonly keys: KeyTable;
  readonly clock: Clock;
  readonly replays: ReplayWindow;
  readonly mark: HighWaterMark;
  readonly fillRandom: FillRandom;
  /** A key was shown with the right signature from an address that it does not allow. Once a minute for each key. */
  readonly onAddressRefused: (keyId: string, address: string) => void;
}

/** What a proven request is accepted by; null: a wrong signature. */
type Proof = "present" | "former" | null;

export class RequestAuth implements Authenticator {
  readonly mode: Authenticator["mode"];
  readonly #parts: RequestAuthParts;
  readonly #prehash = new Prehash();
  /** Stands in for the secret of a key that does not exist. */
  readonly #nobody: SigningSecret;
  /** Wall ms of the last report, by key; one entry for each key that was refused so. */
  readonly #addressReports = new Map<string, number>();
  /** Refusals so far, by code. */
  readonly refusedCounts = new Map<ErrorCode, number>();
  #acceptedCount = 0;

  constructor(parts: RequestAuthParts) {
    this.#parts = parts;
    this.mode = parts.mode;
    const secret = mintSecret(parts.fillRandom);
    this.#nobody = new SigningSecret(secret);
    secret.fill(0);
    parts.keys.onRevoked((keyId) => {
      parts.replays.forget(keyId);
      this.#addressReports.delete(keyId);
    });
  }

  get acceptedCount(): number {
    return this.#acceptedCount;
  }

  namedKey({ headers, address }: Pick<SignedRequest, "headers" | "address">): string | null {
    const key = this.#parts.keys.get(headers.apiKey ?? "");
    if (key === undefined || key.present === null) return null;
    return key.ips.isEmpty || key.ips.has(address) ? key.caller.keyId : null;
  }

  authenticate(request: SignedRequest): AuthVerdict {
    return this.#answer(request, isWrite(request.method));
  }

  /** For the `auth` frame of the stream, signed like a GET of its address: a signature is accepted once. */
  authenticateOnce(request: SignedRequest): AuthVerdict {
    return this.#answer(request, true);
  }

  #answer(request: SignedRequest, once: boolean): AuthVerdict {
    const nowMs = this.#parts.clock.wallMs();
    let verdict: AuthVerdict;
    try {
      verdict = this.#judge(request, once, nowMs);
    } catch (cause) {
      // Nothing here throws for any input; a bug must not let a request through, nor end the process.
      verdict = { ok: false, error: new ServiceError("INTERNAL", {}, { cause }) };
    } finally {
      this.#prehash.wipe();
    }
    if (verdict.ok) this.#acceptedCount++;
    else this.refusedCounts.set(verdict.error.code, (this.refusedCounts.get(verdict.error.code) ?? 0) + 1);
    return verdict;
  }

  #judge(request: SignedRequest, once: boolean, nowMs: number): AuthVerdict {
    const { headers } = request;
    if (this.mode === "public" && !showsKey(headers)) return { ok: true, caller: null, deprecated: false };
    const isSigned = this.mode !== "secret" || isShown(headers.signature);
    const missing = missingHeader(request, isSigned);
    if (missing !== null) return refused("AUTH_MISSING_HEADER", nowMs, { header: missing });
    const key = this.#parts.keys.get(headers.apiKey ?? "");
    if (key === undefined || key.present === null) {
      if (isSigned) this.#proveNobody(request);
      return refused(key?.isRevoked === true ? "KEY_REVOKED" : "AUTH_UNKNOWN_KEY", nowMs, {});
    }
    const proof = isSigned ? this.#proveSignature(request, key, nowMs) : null;
    if (proof !== null && typeof proof !== "string") return { ok: false, error: proof };
    if (isShown(headers.secret) && !hasSecret(key, this.#formerOf(key, nowMs), headers.secret))
      return refused("AUTH_BAD_SIGNATURE", nowMs, { header: "X-API-SECRET" });
    if (!key.ips.isEmpty && !key.ips.has(request.address)) return this.#refuseAddress(key.caller, request, nowMs);
    const settled = once && isSigned ? this.#admitOnce(request, key, proof, nowMs) : null;
    if (settled instanceof ServiceError) return { ok: false, error: settled };
    key.lastUsedAtMs = nowMs;
    key.isUseUnsaved = true;
    const accepted = { ok: true, caller: key.caller, deprecated: isShown(headers.secret) } as const;
    return settled === null ? accepted : { ...accepted, settled };
  }

  /** The secret that signed the request, or why none did. */
  #proveSignature(request: SignedRequest, key: LiveKey, nowMs: number): Exclude<Proof, null> | ServiceError {
    const { headers, method, target, body } = request;
    const outside = timeProblem(headers.timestamp ?? "", headers.recvWindow, nowMs);
    if (outside !== null) return unauthorized("AUTH_TIMESTAMP_OUT_OF_WINDOW", nowMs, outside);
    const problem = splitProblem(target, body);
    if (problem !== null) return new ServiceError("AMBIGUOUS_REQUEST", { problem });
    this.#prehash.write(headers.timestamp ?? "", headers.recvWindow ?? "", method, target, body);
    const proof = this.#signerOf(key, headers.signature ?? "", nowMs);
    if (proof !== null) return proof;
    return unauthorized("AUTH_BAD_SIGNATURE", nowMs, { prehashSha256: hash("sha256", this.#prehash.bytes(), "hex") });
  }

  /** Both secrets are tried, so that the time does not say which of them is right. */
  #signerOf(key: LiveKey, signature: string, nowMs: number): Proof {
    if (!isSignatureForm(signature)) return null;
    const { frame, end } = this.#prehash;
    const isPresent = key.present?.isSignature(frame, end, signature) === true;
    const isFormer = this.#formerOf(key, nowMs)?.isSignature(frame, end, signature) === true;
    return isPresent ? "present" : isFormer ? "former" : null;
  }

  #formerOf(key: LiveKey, nowMs: number): SigningSecret | null {
    return key.former === null ? null : key.formerAt(nowMs, this.#parts.clock.monoNs());
  }

  #proveNobody({ headers, method, target, body }: SignedRequest): void {
    this.#prehash.write(headers.timestamp ?? "", headers.recvWindow ?? "", method, target, body);
    const { frame, end } = this.#prehash;
    if (isSignatureForm(headers.signature ?? "")) this.#nobody.isSignature(frame, end, headers.signature ?? "");
    hash("sha256", this.#prehash.bytes(), "hex");
  }

  /** A promise: accepted once it resolves. Null: accepted. */
  #admitOnce(request: SignedRequest, key: LiveKey, proof: Proof, nowMs: number): Promise<void> | ServiceError | null {
    const { mark, replays } = this.#parts;
    const { headers } = request;
    const tsMs = timestampMs(headers.timestamp ?? "");
    const isSecretNew = proof === "present" && key.isPresentNew;
    if (tsMs <= mark.floorMs && !isSecretNew) return stale(nowMs, mark.floorMs);
    const keyId = key.caller.keyId ?? "";
    const sight = replays.admit(keyId, headers.signature ?? "", tsMs, recvWindowMs(headers.recvWindow), nowMs);
    if (sight === "seen") return unauthorized("AUTH_REPLAY", nowMs, {});
    if (sight === "stale") return stale(nowMs, null);
    return mark.cover(tsMs);
  }

  #refuseAddress({ keyId }: Caller, { address }: SignedRequest, nowMs: number): AuthVerdict {
    const id = keyId ?? "";
    const lastMs = this.#addressReports.get(id) ?? Number.NEGATIVE_INFINITY;
    if (Math.abs(nowMs - lastMs) >= ADDRESS_REPORT_MS) {
      this.#addressReports.set(id, nowMs);
      this.#parts.onAddressRefused(id, address);
    }
    return { ok: false, error: new ServiceError("IP_NOT_ALLOWED", { address }) };
  }
}

/** The first header that is needed and not there. */
function missingHeader({ headers }: SignedRequest, isSigned: boolean): string | null {
  if (!isShown(headers.apiKey)) return "X-API-KEY";
  if (!isSigned) return isShown(headers.secret) ? null : "X-API-SECRET";
  if (!isShown(headers.timestamp)) return "X-API-TIMESTAMP";
  return isShown(headers.signature) ? null : "X-API-SIGNATURE";
}

/** Null within the window; otherwise the details of the refusal. */
function timeProblem(timestamp: string, recvWindow: string | null, nowMs: number): Record<string, unknown> | null {
  const windowMs = recvWindowMs(recvWindow);
  if (Number.isNaN(windowMs)) {
    const bounds = `${RECV_WINDOW_MIN_MS} to ${RECV_WINDOW_MAX_MS}`;
    return { problem: `X-API-RECV-WINDOW is ${bounds} milliseconds in digits` };
  }
  const tsMs = timestampMs(timestamp);
  if (Number.isNaN(tsMs)) return { problem: "X-API-TIMESTAMP is Unix time in milliseconds, in digits" };
  if (tsMs >= nowMs - windowMs && tsMs <= nowMs + AHEAD_MAX_MS) return null;
  return { recvWindowMs: windowMs, aheadMaxMs: AHEAD_MAX_MS };
}

function hasSecret({ present }: LiveKey, former: SigningSecret | null, secret: string): boolean {
  const digest = hash("sha256", secret, "hex");
  const isPresent = present?.hasDigest(digest) === true;
  const isFormer = former?.hasDigest(digest) === true;
  return isPresent || isFormer;
}

/** `floorMs`: writes up to it may have been accepted before the service started. */
function stale(nowMs: number, floorMs: number | null): ServiceError {
  if (floorMs === null) return unauthorized("AUTH_TIMESTAMP_OUT_OF_WINDOW", nowMs, { reason: "WINDOW_SHORTENED" });
  const retryAfterMs = Math.max(1, floorMs - nowMs + 1);
  return unauthorized("AUTH_TIMESTAMP_OUT_OF_WINDOW", nowMs, {
    ...{ reason: "BEFORE_START", acceptedAfter: floorMs, retryAfterMs },
  });
}

function unauthorized(code: ErrorCode, serverTime: number, details: Readonly<Record<string, unknown>>): ServiceError {
  return new ServiceError(code, { ...details, serverTime });
}

function refused(code: ErrorCode, serverTime: number, details: Readonly<Record<string, unknown>>): AuthVerdict {
  return { ok: false, error: unauthorized(code, serverTime, details) };
}
