/**
 * Agents of venuetwo (engine/key-registrar.ts), which trade on both markets. They may withdraw only where the operator
 * names the addresses from which; the co-signer's policy has that as an act of its own.
 *
 * The venue takes an act once, by its nonce, which comes from the room's sequence of the wallet's address; for how long
 * is documented in three ways, so an act counts as one that it may still take for the longest of them.
 */
import { heldCopy } from "../../shared/account/key-session.js";
import type {
  ActOutcome,
  AgentRegistrar,
  KeyStanding,
  MadeAct,
  StoredSecret,
  VenueKey,
  WalletAct,
} from "../../../engine/key-registrar.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead, isRateLimitStatus, venueText } from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { VenueHttp } from "../../shared/net/http.js";
import { notSentAct, unansweredAct } from "../../shared/orders/act-outcome.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { parseJsonExact } from "../../shared/room/wire-fields.js";
import { addressOfPrivateKey } from "../../shared/sign/eip712.js";
import { secp256k1 } from "../../shared/sign/secp256k1.js";
import { agentsCall } from "../account/calls.js";
import { limitRetryAfterMs, type VenuetwoRest } from "../account/rest.js";
import { VenuetwoSession } from "../account/session.js";
import { isUnknownAgent } from "../rules/errors.js";
import { MICROS_PER_MS, NONCE_WINDOW_MS } from "../sign/nonces.js";
import {
  type AgentAct,
  type AgentTerms,
  approval,
  callOf,
  type EndingKey,
  isClockRefusal,
  outcomeOf,
  readRequest,
  registration,
  removal,
} from "./agent-act.js";

const FIRST_NAME = "unwind-1";
const NAMES = [FIRST_NAME, "unwind-2", "unwind-3"] as const;
/** Its endpoints need one to two seconds to agree about an approval. */
const LIST_LAG_MS = 3_000;
const DAY_MS = 86_400_000;
const FORM_TYPE = "application/x-www-form-urlencoded";

export interface VenuetwoAgentsDeps extends AgentTerms {
  readonly http: VenueHttp;
  readonly rest: VenuetwoRest;
  readonly nonces: NonceSequencer;
  readonly standing: CallerStanding;
  readonly clock: Clock;
  /** Life of an agent. */
  readonly agentDays: number;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
  /** The least that it may be. */
  readonly leastOffsetMs: () => number;
}

export class VenuetwoAgents implements AgentRegistrar {
  readonly kind = "agent";
  readonly names = NAMES;
  readonly listLagMs = LIST_LAG_MS;
  readonly takeUpMs = LIST_LAG_MS;
  readonly #deps: VenuetwoAgentsDeps;

  constructor(deps: VenuetwoAgentsDeps) {
    this.#deps = deps;
  }

  draft(
    { account, name, nowMs }: { readonly account: string; readonly name: string; readonly nowMs: number },
    secret: Uint8Array,
  ): VenueKey | null {
    if (!secp256k1.isPrivateKey(secret)) return null;
    const expiresAtMs = nowMs + this.#deps.agentDays * DAY_MS;
    return { account, signer: addressOfPrivateKey(secret), name, expiresAtMs };
  }

  async approval(key: VenueKey): Promise<MadeAct> {
    const { expiresAtMs } = key;
    // Every key of `draft` has an end, and the venue knows none without.
    if (expiresAtMs === null) return { ok: false, problem: "NO_END", retryAfterMs: null };
    const ending: EndingKey = { ...key, expiresAtMs };
    return this.#made(key, (nonce) => (key.name === FIRST_NAME ? registration : approval)(ending, this.#deps, nonce));
  }

  revocation(key: VenueKey): Promise<MadeAct> {
    return this.#made(key, (nonce) => removal(key, this.#deps, nonce));
  }

  async send({ request }: Pick<WalletAct, "request">, signature: string, options: CallOptions): Promise<ActOutcome> {
    const { clock, clockOffsetMs, http, rest, standing } = this.#deps;
    const agentRequest = readRequest(request);
    if (agentRequest === null) return notSentAct("ACT_UNREADABLE");
    const { account } = agentRequest;
    const { form, method, path, weight } = callOf(agentRequest, signature);
    const deadline = new Deadline(clock, options);
    // Requests with keys go by other names: nobody takes this one who cannot have the wallet sign.
    const caller = `wallet ${account}`;
    const isInBody = method === "POST";
    const result = await http.request({
      ...{ method, weight, account, caller, accountWeight: 0 },
      ...{ timeoutMs: options.timeoutMs, lane: options.lane, payer: options.payer ?? null },
      path: isInBody ? path : `${path}?${form}`,
      headers: isInBody ? { "content-type": FORM_TYPE } : {},
      body: isInBody ? form : null,
    });
    if (result.kind !== "response") return unansweredAct(result);
    // The next act must not fail for the same clock.
    if (isClockRefusal(result)) await rest.remeasureClock(deadline.leftMs());
    const outcome = outcomeOf(result, clock.wallMs() + clockOffsetMs());
    if (outcome.kind === "done") standing.answeredWell(caller);
    return outcome;
  }

  /** Asks with the key itself: who is no agent cannot ask, whatever the list of the account says a moment later. */
  async look(key: VenueKey, secret: Uint8Array, options: CallOptions): Promise<Read<KeyStanding>> {
    const identity = { kind: "v3", user: key.account, signer: key.signer } as const;
    const session = new VenuetwoSession(identity, heldCopy(secret));
    try {
      return this.#standing(await this.#deps.rest.readRaw(session, agentsCall(), options));
    } finally {
      session.close();
    }
  }

  block(key: VenueKey, secret: StoredSecret): unknown {
    return { apiKey: key.signer, apiSecret: secret, walletAddress: key.account };
  }

  #standing(answer: Awaited<ReturnType<VenuetwoRest["readRaw"]>>): Read<KeyStanding> {
    if (!answer.ok) return answer;
    const { error, response } = answer.value;
    const read = { ok: true, asOfMs: answer.asOfMs, source: answer.source } as const;
    if (error !== null && isUnknownAgent(error.msg)) return { ...read, value: "absent" };
    if (error === null)
      return Array.isArray(parseJsonExact(response.body))
        ? { ...read, value: "live" }
        : failedRead("BAD_RESPONSE", "agents: not a list");
    const venueNowMs = this.#deps.clock.wallMs() + this.#deps.clockOffsetMs();
    const message = `${error.code} ${venueText(error.msg)}`;
    return isRateLimitStatus(response.status)
      ? failedRead("RATE_LIMITED", message, limitRetryAfterMs(response, error, venueNowMs))
      : failedRead("VENUE_ERROR", message);
  }

  async #made(key: VenueKey, actOf: (nonce: number) => AgentAct): Promise<MadeAct> {
    const { leastOffsetMs, nonces } = this.#deps;
    const next = await nonces.next(key.account);
    if (!next.ok) return { ok: false, problem: `NONCE_${next.problem}`, retryAfterMs: next.retryAfterMs };
    const { request, toSign } = actOf(next.nonce);
    const validUntilMs = Math.ceil(next.nonce / MICROS_PER_MS + NONCE_WINDOW_MS - leastOffsetMs());
    return { ok: true, act: { toSign, request: JSON.stringify(request), validUntilMs } };
  }
}
