/**
 * Agents of venueone (engine/key-registrar.ts): named ones, so that a second can stand beside the first until its end. An
 * agent signs trading actions and nothing that moves money away.
 *
 * The venue takes an action once, by its nonce, which comes from the room's sequence of the wallet's address. It ends an
 * agent some time after the end that it shows (a quarter of an hour later one still traded), so `look` believes its list
 * and no clock: an agent is absent when the list has it no more.
 */
import type {
  ActOutcome,
  AgentRegistrar,
  KeyStanding,
  MadeAct,
  StoredSecret,
  VenueKey,
  WalletAct,
} from "../../../engine/key-registrar.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import type { HttpResponse } from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { DONE_ACT, notSentAct, unansweredAct, UNKNOWN_ACT, wordlessAct } from "../../shared/orders/act-outcome.js";
import type { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { decodeJson } from "../../shared/room/wire-fields.js";
import { addressOfPrivateKey } from "../../shared/sign/eip712.js";
import { secp256k1 } from "../../shared/sign/secp256k1.js";
import type { VenueoneRest } from "../account/rest.js";
import { decodeExchange } from "../account/wire.js";
import { NONCE_LIFE_MS } from "../orders/nonces.js";
import { nonceProblem } from "../rules/errors.js";
import {
  type AgentRequest,
  approvalOf,
  bodyOf,
  outcomeOfRefusal,
  readRequest,
  revocationOf,
  textToSign,
  writeRequest,
} from "./agent-act.js";

/** The venue grants three named agents. Names have 16 characters at most; the end that follows is not counted. */
const NAMES = ["unwind-1", "unwind-2", "unwind-3"] as const;
/** Its indexes were measured to lag up to 1.1 s behind an acknowledgement. */
const LIST_LAG_MS = 2_000;
const DAY_MS = 86_400_000;

export interface VenueoneAgentsDeps {
  readonly rest: VenueoneRest;
  readonly nonces: NonceSequencer;
  readonly standing: CallerStanding;
  readonly isMainnet: boolean;
  /** Life of an agent; the venue grants 180 days at most, by its own clock. */
  readonly agentDays: number;
  /** Venue wall clock minus ours, the least that it may be. */
  readonly leastOffsetMs: () => number;
  /** The venue called a nonce too far ahead: our clock, or its measured offset, is wrong. */
  readonly onClockError: () => void;
}

export class VenueoneAgents implements AgentRegistrar {
  readonly kind = "agent";
  readonly names = NAMES;
  readonly listLagMs = LIST_LAG_MS;
  /** The reply is sent after the block that has the approval. */
  readonly takeUpMs = 0;
  readonly #deps: VenueoneAgentsDeps;

  constructor(deps: VenueoneAgentsDeps) {
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

  approval(key: VenueKey): Promise<MadeAct> {
    return this.#made(key, approvalOf);
  }

  revocation(key: VenueKey): Promise<MadeAct> {
    return this.#made(key, revocationOf);
  }

  async send({ request }: Pick<WalletAct, "request">, signature: string, options: CallOptions): Promise<ActOutcome> {
    const agentRequest = readRequest(request);
    if (agentRequest === null) return notSentAct("ACT_UNREADABLE");
    const result = await this.#deps.rest.exchange(bodyOf(agentRequest, signature), agentRequest.account, 1, options);
    if (result.kind !== "response") return unansweredAct(result);
    return result.status === 200 ? this.#answer(agentRequest, result) : wordlessAct(result);
  }

  async look(key: VenueKey, _secret: Uint8Array, options: CallOptions): Promise<Read<KeyStanding>> {
    const agents = await this.#deps.rest.extraAgents(key.account, options);
    if (!agents.ok) return agents;
    // By the address alone: it is an agent once in its life, under whatever name the venue lists it.
    return { ...agents, value: agents.value.some(({ address }) => address === key.signer) ? "live" : "absent" };
  }

  block(key: VenueKey, secret: StoredSecret): unknown {
    return { privateKey: secret, walletAddress: key.account };
  }

  async #made(
    key: VenueKey,
    requestOf: (key: VenueKey, isMainnet: boolean, nonce: number) => AgentRequest,
  ): Promise<MadeAct> {
    const { isMainnet, leastOffsetMs, nonces } = this.#deps;
    const next = await nonces.next(key.account);
    if (!next.ok) return { ok: false, problem: `NONCE_${next.problem}`, retryAfterMs: next.retryAfterMs };
    const agentRequest = requestOf(key, isMainnet, next.nonce);
    return {
      ok: true,
      act: {
        toSign: textToSign(agentRequest),
        request: writeRequest(agentRequest),
        // The window as documented. It was measured to close two minutes earlier: then the venue refuses these bytes.
        validUntilMs: Math.ceil(next.nonce + NONCE_LIFE_MS - leastOffsetMs()),
      },
    };
  }

  #answer(agentRequest: AgentRequest, response: HttpResponse): ActOutcome {
    const decoded = decodeJson(response.body, decodeExchange);
    if (!decoded.ok) return UNKNOWN_ACT;
    if (decoded.value.kind === "ok") {
      if (decoded.value.type !== "default") return UNKNOWN_ACT;
      // Only the wallet itself can have signed that.
      this.#deps.standing.answeredWell(agentRequest.account);
      return DONE_ACT;
    }
    const { text } = decoded.value;
    const nonce = nonceProblem(text);
    if (nonce?.kind === "tooHigh") this.#deps.onClockError();
    else if (nonce !== null) this.#deps.nonces.raise(agentRequest.account, nonce.seenNonce);
    return outcomeOfRefusal(agentRequest, text);
  }
}
