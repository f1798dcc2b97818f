/**
 * The scope of an Idempotency-Key: the caller's owner; in public mode all accounts of the credentials together.
 *
 * Invariant: a key in use stays in use. In public mode the version before named the accounts otherwise, so a key that is
 * new under its name is looked for under that one too, as long as records of that version can live. A key of the owner
 * that adopted the rows of public mode is looked for among those: the retry of a request from before the adoption finds
 * its order, and is carried on as what it was.
 */
import type { Clock } from "../../domain/clock.js";
import type { Owners } from "../../domain/owner.js";
import type { TradeAccounts } from "../accounts.js";
import { RETENTION_MS, type IdempotencyBegin, type IdempotencyRecords } from "../durable/idempotency.js";
import { beginInScopes } from "../durable/owned-key.js";
import type { TradeContext, TradeRequest } from "../types.js";

/** What scopes a key. */
interface KeyParts {
  readonly clock: Clock;
  readonly idempotency: IdempotencyRecords;
  readonly owners: Owners;
}

export interface BegunRequest {
  /** Null means no idempotency for this request (no key, a dry run, or no account that could scope it). */
  readonly begun: IdempotencyBegin | null;
  /** Whose request it is: the caller's, or nobody's where the caller adopted what it retries. */
  readonly ownerId: string | null;
}

export class TradeKeys {
  readonly #parts: KeyParts;
  readonly #startNs: number;

  constructor(parts: KeyParts) {
    this.#parts = parts;
    this.#startNs = parts.clock.monoNs();
  }

  async begin(request: TradeRequest, context: TradeContext, accounts: TradeAccounts): Promise<BegunRequest> {
    const { ownerId, idempotencyKey: key, rawBody } = context;
    if (key === null || request.dryRun) return { begun: null, ownerId };
    const { idempotency } = this.#parts;
    const accountScope = accounts.scopeHash();
    if (ownerId === null && accountScope === null) return { begun: null, ownerId };
    const scope = ownerId === null ? `accounts:${accountScope}` : `owner:${ownerId}`;
    const earlierScopes = () => this.#earlierScopes(ownerId, accounts, accountScope);
    const { begun, isEarlier } = await beginInScopes(idempotency, { key, rawBody, scope, earlierScopes });
    if (isEarlier) return { begun, ownerId: null };
    return { begun: begun.kind === "fresh" ? begun : sameAccounts(idempotency, begun, accounts, ownerId), ownerId };
  }

  /** Under which the same request may have been executed before. */
  *#earlierScopes(ownerId: string | null, accounts: TradeAccounts, accountScope: string | null): Generator<string> {
    const { clock, owners } = this.#parts;
    if (!owners.reaches(ownerId, null)) return;
    if (ownerId !== null && accountScope !== null) yield `accounts:${accountScope}`;
    const former = accounts.formerScopeHash();
    if (former !== null && (clock.monoNs() - this.#startNs) / 1e6 <= RETENTION_MS) yield `accounts:${former}`;
  }
}

/** The same key and body for other accounts of the owner is another request; without an owner the scope names them. */
function sameAccounts(
  idempotency: IdempotencyRecords,
  begun: Exclude<IdempotencyBegin, { readonly kind: "fresh" }>,
  accounts: TradeAccounts,
  ownerId: string | null,
): IdempotencyBegin {
  if (begun.kind === "refused" || ownerId === null) return begun;
  const known = new Set(accounts.hashes());
  if (begun.run.attempts.every(({ accountHash }) => accountHash === undefined || known.has(accountHash))) return begun;
  if (begun.ticket !== null) idempotency.release(begun.ticket);
  return { kind: "refused", code: "IDEMPOTENCY_MISMATCH" };
}
