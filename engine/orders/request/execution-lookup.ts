/**
 * The outcome of a trade, asked for with credentials: an order of unknown outcome is looked up at its venue and the
 * answer updates whatever remembers the trade. Without credentials for that venue it is only read.
 *
 * Invariants: the proof rule is the resolver's, found or never placed, else still unknown; credentials of another
 * account than the one that sent the order change nothing, and so do those of a caller who does not reach the trade;
 * nothing is ever sent; each session ends with its ask.
 *
 * Bounds: ASK_TIMEOUT_MS for the look-up, MAX_ASKS at once and one per close; beyond them the state is only read.
 */
import type { OrderFollows } from "../follow/order-follows.js";
import type { IdempotencyRecords } from "../durable/idempotency.js";
import type { Asker, ExecutionRegistry } from "../durable/execution-registry.js";
import type { Owners } from "../../domain/owner.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import { problemOf } from "../background.js";
import type { TradeConclusion } from "../conclude/trade-conclusion.js";
import { findAside } from "../follow/order-finder.js";
import { unknownOrderOf, type LookupParts } from "../send/unknown-order.js";
import { ownerOf, unsettledAttempt, type OrderAttempt, type TradeRun } from "../run.js";
import { sessionHash } from "../accounts.js";
import type { TradeRequest, ExecutionAnswer } from "../types.js";
import { Deadline } from "../../domain/deadline.js";
import type { OrderIntent, IntentLog } from "../durable/intent-log.js";
import type { UnknownOrder } from "../send/resolver.js";
import type { Account, FollowOwners } from "../follow/followed-run.js";

/** What answers a question for an execution. */
export interface ExecutionLookupParts extends LookupParts {
  readonly hash: KeyedHash;
  readonly intents: IntentLog;
  readonly owners: Owners;
  readonly registry: ExecutionRegistry;
  readonly idempotency: IdempotencyRecords;
  readonly follows: OrderFollows<TradeRun>;
}

export const ASK_TIMEOUT_MS = 5_000;
export const MAX_ASKS = 256;

type Credentials = TradeRequest["credentials"];

export class ExecutionLookup {
  readonly #parts: ExecutionLookupParts;
  readonly #conclusion: TradeConclusion;
  readonly #asking = new Set<string>();

  constructor(parts: ExecutionLookupParts, conclusion: TradeConclusion) {
    this.#parts = parts;
    this.#conclusion = conclusion;
  }

  /** Rejects with STORE_UNAVAILABLE when the state cannot even be read. */
  async ask(routeId: string, credentials: Credentials, asker: Asker): Promise<ExecutionAnswer> {
    const { registry, logger, owners } = this.#parts;
    this.#meet(credentials, asker);
    const shown = await registry.unsettledRunFor(routeId, asker);
    // An administrator sees what it does not own, and its credentials are none of that.
    const run = shown !== null && owners.reaches(asker.ownerId, shown.ownerId) ? shown : null;
    if (run !== null && !this.#asking.has(routeId) && this.#asking.size < MAX_ASKS) {
      this.#asking.add(routeId);
      try {
        const problem = await this.#settle(run, credentials, asker.payer);
        // What was found at rest beside another venue's order is followed with what is at hand for its own.
        this.#meet(credentials, asker);
        if (problem !== null) return problem;
      } catch (error) {
        // A look that fails, by the store or by a bug of ours, leaves what was known.
        logger.error("ask_failed", { routeId, problem: problemOf(error) });
      } finally {
        this.#asking.delete(routeId);
      }
    }
    return { ok: true, data: await registry.dataFor(routeId, asker) };
  }

  /** Orders of these accounts that wait for credentials are followed again. */
  #meet(credentials: Credentials, { ownerId, payer }: Asker): void {
    const { follows, rooms } = this.#parts;
    if (follows.count === 0) return;
    for (const [venue, room] of rooms) {
      const raw = credentials[venue] ?? null;
      const opened = raw === null ? null : room.openSession(raw, payer);
      if (opened?.ok !== true) continue;
      follows.meet(venue, { session: opened.session, credentials: raw }, ownerId);
      opened.session.close();
    }
  }

  /** Looks up order after order while each finds its end; there is more than one only after a fault of ours. */
  async #settle(
    run: TradeRun,
    credentials: Credentials,
    payer: string | null,
  ): Promise<Extract<ExecutionAnswer, { ok: false }> | null> {
    const deadline = new Deadline(this.#parts.clock, ASK_TIMEOUT_MS);
    const owners = await this.#ownersOf(run);
    for (let attempt = unsettledAttempt(run); attempt !== null && deadline.leftMs() > 0; ) {
      const raw = credentials[attempt.venue] ?? null;
      const room = this.#parts.rooms.get(attempt.venue);
      if (raw === null || room === undefined) return null;
      const opened = room.openSession(raw, payer);
      if (!opened.ok) return { ok: false, venue: attempt.venue, problem: opened.problem };
      const { session } = opened;
      try {
        const intent = await this.#parts.intents.find({
          clientIdHex: attempt.clientIdHex,
          createdAtMs: attempt.intentAtMs,
        });
        if (intent === null || intent.accountHash !== sessionHash(this.#parts.hash, session, ownerOf(run))) return null;
        const order = unknownOrderOf(this.#parts, run, attempt, room);
        if (order === null) return null;
        const account = { session, credentials: raw };
        if (!(await this.#findAside(run, attempt, order, intent, account, owners, deadline.leftMs()))) return null;
      } finally {
        session.close();
      }
      attempt = unsettledAttempt(run);
    }
    return null;
  }

  /** By venue, whose the orders of the run are, as far as their intents say. */
  async #ownersOf({ attempts }: TradeRun): Promise<FollowOwners> {
    const owners: Record<string, string> = {};
    for (const { clientIdHex, intentAtMs: createdAtMs, venue } of attempts) {
      if (owners[venue] !== undefined) continue;
      const intent = await this.#parts.intents.find({ clientIdHex, createdAtMs });
      if (intent !== null) owners[venue] = intent.accountHash;
    }
    return owners;
  }

  /** True: the attempt is settled now. */
  #findAside(
    run: TradeRun,
    attempt: OrderAttempt,
    order: UnknownOrder,
    { idempotencyRecord: recordKey }: OrderIntent,
    account: Account,
    owners: FollowOwners,
    timeoutMs: number,
  ): Promise<boolean> {
    const { registry } = this.#parts;
    return findAside<TradeRun>(this.#parts, {
      run,
      attempt,
      order,
      recordKey,
      account,
      owners,
      timeoutMs,
      isOpen: () => unsettledAttempt(run) === attempt,
      isShared: async () => (await registry.unsettledRun(run.routeId)) === run,
      publish: async () => {
        if (unsettledAttempt(run) === null) await this.#conclusion.publishLookup(run, recordKey);
      },
    });
  }
}
