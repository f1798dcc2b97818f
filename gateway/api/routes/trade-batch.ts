/**
 * Decides and answers trade requests. Those that arrive together are decided together and then answered together: the
 * code of a step is fetched once for all of them, which is worth a fifth of a decision's cost under load. One that is
 * alone waits only for the end of the poll it came in.
 *
 * Invariants: a trade that began continues when its caller disconnects. Each has a place among those in flight from its
 * arrival to its end; one for which there is none does not come here.
 */
import { ServiceError } from "../../../engine/domain/errors.js";
import { scrub } from "../../../engine/domain/scrub.js";
import type { TradeRequest, TradeResult } from "../../../engine/orders/types.js";
import { type closeReplySchema, tradeRefusedReplySchema } from "../../../schemas/close.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { asServiceError } from "../../http/error-reply.js";
import { replyText } from "../../http/json-route.js";
import type { PendingReply } from "../../http/pending-reply.js";
import { leverageWarning } from "../leverage-warning.js";
import type { RouteContext } from "./context.js";

/** One request that has passed every check and has its place among those in flight. */
export interface Arrived {
  readonly request: TradeRequest;
  /** The body, to which the idempotency key is bound; empty without a key. */
  readonly boundBytes: Buffer;
  /** Null when the header is absent. */
  readonly idempotencyKey: string | null;
  readonly receivedAtMs: number;
  readonly reply: PendingReply;
  /** Header that names the ignored fields; "" without any. */
  readonly ignored: string;
  /** Null until it is decided, and for one that is answered later. */
  result: TradeResult | null;
}

const OWN_DECIMALS = ["data.routing", "data.quote"];
/** Supplies its text. */
const REFUSED = new ServiceError("VENUE_REJECTED");

export class TradeBatch {
  readonly #context: RouteContext;
  readonly #exits: boolean;
  readonly #serialise: ReturnType<typeof compileSerialiser<typeof closeReplySchema>>;
  readonly #serialiseRefused = compileSerialiser(tradeRefusedReplySchema, OWN_DECIMALS);
  /** Requests of this turn of the event loop: at most as many as one poll of the sockets brings. */
  #arrived: Arrived[] = [];
  readonly #takeArrived = () => this.#decideAll();

  /** `exits`: what its requests are, among those in flight. */
  constructor(context: RouteContext, replySchema: typeof closeReplySchema, exits: boolean) {
    this.#context = context;
    this.#exits = exits;
    this.#serialise = compileSerialiser(replySchema, OWN_DECIMALS);
  }

  add(one: Arrived): void {
    if (this.#arrived.length === 0) setImmediate(this.#takeArrived);
    this.#arrived.push(one);
  }

  #decideAll(): void {
    const batch = this.#arrived;
    this.#arrived = [];
    for (const one of batch) this.#decide(one);
    for (const { request, result, ignored, reply } of batch) {
      try {
        if (result !== null) this.#answer(request, result, ignored, reply);
      } catch (error) {
        reply.fail(asServiceError(error), ignored);
      }
    }
  }

  /** Leaves the result in `one` where there is nothing to wait for. */
  #decide(one: Arrived): void {
    const { clock, inFlight, metrics } = this.#context;
    const { request, reply, ignored } = one;
    const { keyId, ownerId } = reply.caller;
    const startedNs = clock.monoNs();
    const settled = () => {
      inFlight.leave(keyId, this.#exits);
      metrics.observeClose(clock.monoNs() - startedNs);
    };
    const fault = (error: unknown) => reply.fail(asServiceError(error), ignored);
    try {
      const result = this.#context.desk.trade(request, {
        requestId: reply.requestId,
        idempotencyKey: one.idempotencyKey,
        ownerId,
        payer: keyId,
        rawBody: one.boundBytes,
        receivedAtMs: one.receivedAtMs,
      });
      if (!(result instanceof Promise)) {
        settled();
        one.result = result;
        return;
      }
      result
        .finally(settled)
        .then((late) => this.#answer(request, late, ignored, reply))
        .catch(fault);
    } catch (error) {
      settled();
      fault(error);
    }
  }

  #answer({ open }: TradeRequest, result: TradeResult, ignored: string, reply: PendingReply): void {
    const { edge, clock } = this.#context;
    const headers = result.replayed ? `${ignored}\r\nIdempotent-Replayed: true` : ignored;
    if (!result.ok) {
      reply.fail(new ServiceError(result.code, result.details), headers);
      return;
    }
    const { warning } = leverageWarning(open?.leverage ?? null);
    const data = warning === undefined ? result.data : { ...result.data, warning };
    const timestamp = clock.wallMs();
    const body = result.success
      ? replyText(edge, this.#serialise, { success: true, data, timestamp })
      : replyText(edge, this.#serialiseRefused, {
          success: false,
          error: REFUSED.message,
          code: "VENUE_REJECTED",
          requestId: reply.requestId,
          data,
          timestamp,
        });
    // Only text of a venue can carry what we did not write.
    const { legs, protectionOrders } = result.data.execution;
    const foreign = [...legs, ...(protectionOrders ?? [])].some(({ venueText }) => venueText !== null);
    reply.json(foreign ? scrub(body) : body, headers);
  }
}
