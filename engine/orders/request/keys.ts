/**
 * The scope of an Idempotency-Key: the caller's API key; in public mode all accounts of the credentials together.
 *
 * Invariant: a key in use when the service was upgraded stays in use. In public mode the version before named the
 * accounts otherwise, so a key that is new under its name is looked for under that one too, as long as records of that
 * version can live.
 */
import type { KeyedHash } from "../../storage/keyed-hash.js";
import type { Clock } from "../../domain/clock.js";
import {
  RETENTION_MS,
  type IdempotencyBegin,
  type IdempotencyScope,
  type IdempotencyRecords,
} from "../durable/idempotency.js";
import type { TradeAccounts } from "../accounts.js";
import type { TradeContext, TradeRequest } from "../types.js";

/** What scopes a key. */
interface KeyParts {
  readonly clock: Clock;
  readonly hash: KeyedHash;
  readonly idempotency: IdempotencyRecords;
}

export class TradeKeys {
  readonly #parts: KeyParts;
  readonly #startNs: number;

  constructor(parts: KeyParts) {
    this.#parts = parts;
    this.#startNs = parts.clock.monoNs();
  }

  /** Null means no idempotency for this request (no key, a dry run, or no account that could scope it). */
  async begin(request: TradeRequest, context: TradeContext, accounts: TradeAccounts): Promise<IdempotencyBegin | null> {
    const { ownerId, idempotencyKey: key, rawBody } = context;
    if (key === null || request.dryRun) return null;
    const { hash, idempotency } = this.#parts;
    const accountScope = accounts.scopeHash(hash);
    if (ownerId === null && accountScope === null) return null;
    const scope = ownerId === null ? `accounts:${accountScope}` : `key:${ownerId}`;
    const begun = await idempotency.begin({ scope, key }, rawBody);
    if (ownerId !== null || begun.kind !== "fresh") return begun;
    try {
      const former = { scope: `accounts:${accounts.formerScopeHash(hash)}`, key };
      if (!(await this.#isOfVersionBefore(former))) return begun;
      idempotency.release(begun.ticket);
      return await idempotency.begin(former, rawBody);
    } catch (error) {
      idempotency.release(begun.ticket);
      throw error;
    }
  }

  async #isOfVersionBefore(former: IdempotencyScope): Promise<boolean> {
    const { clock, idempotency } = this.#parts;
    return (clock.monoNs() - this.#startNs) / 1e6 <= RETENTION_MS && (await idempotency.has(former));
  }
}
