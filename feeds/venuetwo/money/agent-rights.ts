/** Which agents may withdraw, as the venue lists them: known for a minute, so that nothing is signed for one that may not. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { TimedCache } from "../../shared/account/timed-cache.js";
import { agentsCall } from "../account/calls.js";
import type { VenuetwoRest } from "../account/rest.js";
import type { VenuetwoSession } from "../account/session.js";
import { decodeAgents } from "./wire.js";

const BELIEVED_MS = 60_000;
const AGENTS_MAX = 1_000;

export class AgentRights {
  readonly #rest: VenuetwoRest;
  readonly #mayWithdraw: TimedCache<string, boolean>;

  constructor(rest: VenuetwoRest, clock: Clock) {
    this.#rest = rest;
    this.#mayWithdraw = new TimedCache(clock, AGENTS_MAX);
  }

  /** Null: not asked lately, or a key that is no agent, of whose rights the venue says nothing. */
  known({ identity }: VenuetwoSession): boolean | null {
    return identity.kind === "v3" ? this.#mayWithdraw.get(identity.signer.toLowerCase()) : null;
  }

  /** Asks the venue. Null: it does not say. */
  async read(session: VenuetwoSession, options: CallOptions): Promise<Read<boolean | null>> {
    const { identity } = session;
    if (identity.kind === "v1") return { ok: true, value: null, asOfMs: 0, source: "venue" };
    const agents = await this.#rest.read(session, agentsCall(), decodeAgents, options);
    if (!agents.ok) return agents;
    const signer = identity.signer.toLowerCase();
    const agent = agents.value.find(({ agentAddress }) => agentAddress === signer);
    if (agent !== undefined) this.#mayWithdraw.set(signer, agent.canWithdraw, BELIEVED_MS);
    return { ...agents, value: agent?.canWithdraw ?? null };
  }
}
