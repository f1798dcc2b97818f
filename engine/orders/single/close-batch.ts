/**
 * Carries out closes of single venues whose legs are decided. Every leg is an order of its own (close-leg.ts), and each
 * venue answers for itself.
 *
 * With an idempotency key the legs are written down before the first order leaves, and each leg has a key derived from
 * it: a retry, also after a crash, goes through the same legs and sends none of them twice.
 *
 * Bounds: MAX_LEGS a venue (the rest is reported as FAILED), LEGS_AT_ONCE under way.
 */
import type { Clock } from "../../domain/clock.js";
import { type Deadline, within } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import type { Logger } from "../../domain/logger.js";
import type { VenuePosition } from "../../domain/position.js";
import type { VenueRoom } from "../../ports.js";
import type { RandomIds } from "../../storage/keyed-hash.js";
import { storeUnavailable, type StateStore } from "../../storage/state-store.js";
import { sessionHash } from "../accounts.js";
import { problemOf, type Background } from "../background.js";
import type { IdempotencyRecords, IdempotencyTicket } from "../durable/idempotency.js";
import { beginOwned, scopeOf } from "../durable/owned-key.js";
import { STORE_TIMEOUT_MS } from "../limits.js";
import { mintRouteId } from "../route-ids.js";
import { closeLeg, simulateLeg, unsentLeg, type LegPlan, type LegTerms } from "./close-leg.js";
import type { AccountParts } from "./open-account.js";
import { refusal } from "./order-check.js";
import type {
  CloseAllAnswer,
  CloseAllVenue,
  CloseLeg,
  OrderAccount,
  OrderRequestContext,
  OrderRefusal,
} from "./order-desk.js";
import type { SinglePlacements } from "./single-place.js";

/** What closes positions of an account. */
export interface CloseParts extends AccountParts {
  readonly background: Background;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly randomIds: RandomIds;
  readonly store: StateStore;
}

const MAX_LEGS = 200;
const LEGS_AT_ONCE = 8;

/** What a retry needs: the legs as they were decided on, by venue. */
export interface CloseBatch {
  readonly routeId: string;
  /** Keyed hash over the accounts: the same key and body for others is another request. */
  readonly accountsHash: string;
  /** The legs' orders have records of their own. */
  readonly attempts: readonly [];
  readonly venues: readonly BatchVenue[];
}

interface BatchVenue extends Pick<CloseAllVenue, "venue" | "error" | "cancel"> {
  readonly legs: readonly LegPlan[];
  /** Holdings that no order can be sent for; absent: none. They follow the legs in the answer. */
  readonly uncounted?: readonly CloseLeg[];
}

export type BatchRecords = IdempotencyRecords<CloseBatch, CloseAllAnswer>;
type BatchTicket = IdempotencyTicket<CloseBatch, CloseAllAnswer>;
/** How its legs are closed, whatever the key and the caller. */
export type BatchTerms = Omit<LegTerms, "clientOrderId" | "idempotencyKey" | "context" | "deadline">;

/** One request: to close one symbol, or everything. */
export interface BatchJob {
  readonly accounts: readonly OrderAccount[];
  readonly clientOrderId: string | null;
  readonly context: OrderRequestContext;
  readonly deadline: Deadline;
  readonly terms: BatchTerms;
  /** Reads and decides, for one venue. A refusal refuses the whole request. */
  readonly decide: (account: OrderAccount) => Promise<DecidedVenue | OrderRefusal>;
}

/** What one venue is asked for. */
export interface DecidedVenue {
  readonly batch: BatchVenue;
  /** The positions as read, in the order of the legs. */
  readonly read: readonly VenuePosition[];
}

export class CloseBatches {
  readonly #parts: CloseParts;
  readonly #placements: SinglePlacements;
  readonly #records: BatchRecords;

  constructor(parts: CloseParts, placements: SinglePlacements, records: BatchRecords) {
    this.#parts = parts;
    this.#placements = placements;
    this.#records = records;
  }

  /** What the legs would come to now. Nothing is sent, and nothing is kept. */
  async simulate(job: BatchJob): Promise<CloseAllAnswer> {
    const venues: CloseAllVenue[] = [];
    for (const decided of await Promise.all(job.accounts.map(job.decide))) {
      if ("ok" in decided) return decided;
      const { venue, error, cancel, legs, uncounted = [] } = decided.batch;
      const room = this.#parts.rooms.get(venue);
      const simulated = legs.map((leg, index) => {
        if (room === undefined) return null;
        if (index >= MAX_LEGS) return beyondBound(room, leg);
        return simulateLeg(this.#parts, room, leg, job.terms, decided.read[index] ?? null);
      });
      venues.push({ venue, error, cancel, legs: [...simulated.filter((leg) => leg !== null), ...uncounted] });
    }
    return { ok: true, venues, replayed: false };
  }

  /** Never rejects for what a venue, the store or an earlier use of the key does: that is a refusal, or a leg's answer. */
  async perform(asked: BatchJob): Promise<CloseAllAnswer> {
    const { idempotencyKey: key, ownerId: callerId, rawBody } = asked.context;
    const accountsHash = key === null ? null : this.#accountsHash(asked);
    if (key === null || accountsHash === null) return this.#closeFresh(asked, null, "");
    const publicScope = scopeOf(null, accountsHash);
    let ticket: BatchTicket | null = null;
    try {
      const own = { ownerId: callerId, key, rawBody, publicScope };
      const { begun, ownerId } = await beginOwned(this.#records, this.#parts.owners, own);
      if (begun.kind === "refused") return refusal(begun.code);
      const job = ownerId === callerId ? asked : { ...asked, context: { ...asked.context, ownerId } };
      ticket = begun.ticket;
      if (begun.kind === "fresh") return await this.#closeFresh(job, begun.ticket, accountsHash);
      if (begun.run.accountsHash !== accountsHash) return refusal("IDEMPOTENCY_MISMATCH");
      if (begun.kind === "replay" && (begun.ticket === null || !isOpenAnswer(begun.result))) {
        return { ...begun.result, replayed: true };
      }
      // After a crash each leg goes on where that stopped it; of a reply that was given, only unknown ones are asked again.
      const stored = begun.kind === "replay" ? begun.result : null;
      const answer = await this.#runLegs(job, begun.run.venues, null, stored);
      if (begun.ticket !== null) this.#conclude(begun.ticket, begun.run, answer);
      return { ...answer, replayed: true };
    } catch (error) {
      if (error instanceof ServiceError && error.code !== "INTERNAL") return refusal(error.code, error.context);
      this.#parts.logger.error("close_batch_failed", { problem: problemOf(error) });
      return refusal("INTERNAL");
    } finally {
      if (ticket !== null && !ticket.isEnding) this.#records.release(ticket);
    }
  }

  async #closeFresh(job: BatchJob, ticket: BatchTicket | null, accountsHash: string): Promise<CloseAllAnswer> {
    const decided = await Promise.all(job.accounts.map(job.decide));
    const venues: DecidedVenue[] = [];
    for (const one of decided) {
      if ("ok" in one) return one;
      venues.push(one);
    }
    const batch: CloseBatch = {
      routeId: mintRouteId("or", this.#parts.clock.wallMs(), this.#parts.randomIds),
      accountsHash,
      attempts: [],
      venues: venues.map((venue) => venue.batch),
    };
    if (ticket !== null) {
      const refused = await this.#writeDown(ticket, batch);
      if (refused !== null) return refused;
    }
    const answer = await this.#runLegs(job, batch.venues, venues, null);
    if (ticket !== null) this.#conclude(ticket, batch, answer);
    return answer;
  }

  /** Null when the legs are durable. */
  async #writeDown(ticket: BatchTicket, batch: CloseBatch): Promise<OrderRefusal | null> {
    const { background, clock, store } = this.#parts;
    const running = this.#records.runningRows(ticket, batch);
    try {
      const committed = await within(clock, store.commit(running.batch), STORE_TIMEOUT_MS);
      if (!committed.done) throw storeUnavailable("TIMEOUT");
      if (!committed.value) return refusal("IDEMPOTENCY_IN_PROGRESS");
      this.#records.committed(ticket, running.row);
      return null;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "STORE_UNAVAILABLE") throw error;
      // It may land late: taken back behind it.
      background.run("close_batch_take_back", this.#records.abandon(ticket, []));
      return refusal(error.code, error.context);
    }
  }

  #conclude(ticket: BatchTicket, batch: CloseBatch, answer: CloseAllAnswer): void {
    const { background, store } = this.#parts;
    background.run(
      "close_batch",
      this.#records.complete(ticket, batch, answer, async (writes) => {
        const rows = writes();
        if (rows.length > 0) await store.commit({ writes: rows });
      }),
    );
  }

  /** `decided`: with what was read in this request; null: a retry, whose legs read again. `stored`: the reply that was given. */
  async #runLegs(
    job: BatchJob,
    venues: readonly BatchVenue[],
    decided: readonly DecidedVenue[] | null,
    stored: CloseAllAnswer | null,
  ): Promise<Extract<CloseAllAnswer, { ok: true }>> {
    const answers = await Promise.all(
      venues.map((batch, index) => {
        const known = stored?.ok === true ? (stored.venues[index]?.legs ?? []) : [];
        return this.#runVenue(job, batch, decided?.[index]?.read ?? [], known);
      }),
    );
    return { ok: true, venues: answers, replayed: false };
  }

  /** The legs of one venue, LEGS_AT_ONCE at a time. `read`, `known`: the positions and the reply's legs, in their order. */
  async #runVenue(
    job: BatchJob,
    { venue, error, cancel, legs, uncounted = [] }: BatchVenue,
    read: readonly VenuePosition[],
    known: readonly CloseLeg[],
  ): Promise<CloseAllVenue> {
    const account = job.accounts.find((one) => one.venue === venue);
    const room = this.#parts.rooms.get(venue);
    if (account === undefined || room === undefined || error !== null) return { venue, error, cancel, legs: [] };
    const closed: CloseLeg[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      for (let index = next++; index < legs.length; index = next++) {
        const leg = legs[index] as LegPlan;
        const before = known[index];
        if (before !== undefined && before.status !== "UNKNOWN") closed[index] = before;
        else if (index >= MAX_LEGS) closed[index] = beyondBound(room, leg);
        else {
          const terms = legTerms(job, index);
          const held = read[index] ?? null;
          closed[index] = await closeLeg(this.#parts, this.#placements, account, room, leg, terms, held);
        }
      }
    };
    await Promise.all(Array.from({ length: LEGS_AT_ONCE }, work));
    return { venue, error, cancel, legs: [...closed, ...uncounted] };
  }

  /** Null when none of the credentials opens, so nothing can be closed, and there is nothing to remember. */
  #accountsHash({ accounts, context }: BatchJob): string | null {
    const hashes: string[] = [];
    for (const { venue, credentials } of accounts) {
      const opened = this.#parts.rooms.get(venue)?.openSession(credentials, context.payer);
      if (opened?.ok !== true) continue;
      hashes.push(sessionHash(this.#parts.hash, opened.session, null));
      opened.session.close();
    }
    return hashes.length === 0 ? null : this.#parts.hash.hmacHex("close-accounts", hashes.sort());
  }
}

function legTerms({ clientOrderId, context, deadline, terms }: BatchJob, index: number): LegTerms {
  const { idempotencyKey } = context;
  // One name, one order.
  return { ...terms, clientOrderId: index === 0 ? clientOrderId : null, idempotencyKey, context, deadline };
}

function beyondBound(room: VenueRoom, leg: LegPlan): CloseLeg {
  return unsentLeg(room, leg, refusal("OVERLOADED", { reason: "LEGS", maximum: MAX_LEGS }));
}

/** Does it hold a leg of unknown outcome? */
function isOpenAnswer(answer: CloseAllAnswer): boolean {
  return answer.ok && answer.venues.some(({ legs }) => legs.some(({ status }) => status === "UNKNOWN"));
}
