/**
 * Callers' dead-man's switches: what can refuse one is checked first, for all switches of a request, then all are armed
 * (dead-man.ts). A session is the switch's own from its check on, and closed where it is refused.
 */
import type { Clock } from "../../domain/clock.js";
import type { CallOptions } from "../../ports.js";
import type { KeyedHash } from "../../storage/keyed-hash.js";
import type { Rooms } from "../accounts.js";
import { accountBehind } from "../decide/account-behind.js";
import { MAX_TIMEOUT_MS, MIN_TIMEOUT_MS, type DeadManSwitches, type PreparedSwitch } from "./dead-man.js";
import { KeptSession } from "./kept-session.js";
import { roomOf } from "./open-account.js";
import { invalid, refusal } from "./order-check.js";
import type { OrderRefusal } from "./order-desk.js";
import type { ArmRequest, SwitchAnswer, SwitchesAnswer } from "./switch-desk.js";

/** What arms a switch. */
interface SwitchParts {
  readonly clock: Clock;
  readonly hash: KeyedHash;
  readonly rooms: Rooms;
}

/** The look-up of the account that a switch is for. */
const WHOSE_SWITCH: CallOptions = { timeoutMs: 5_000, lane: "exit" };

export class SwitchRequests {
  readonly #parts: SwitchParts;
  readonly #switches: DeadManSwitches;

  constructor(parts: SwitchParts, switches: DeadManSwitches) {
    this.#parts = parts;
    this.#switches = switches;
  }

  /** Everything that can be refused is, before any of them is armed. Rejects on a fault of ours, which arms none either. */
  async arm(requests: readonly ArmRequest[], ownerId: string | null): Promise<SwitchesAnswer> {
    const settled = await Promise.allSettled(requests.map((request) => this.#prepare(request, ownerId)));
    const all = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const prepared = all.flatMap((one) => ("arm" in one ? [one] : []));
    if (prepared.length === requests.length)
      return { ok: true, armed: await Promise.all(prepared.map(({ arm }) => arm())) };
    for (const { drop } of prepared) drop();
    for (const one of settled) if (one.status === "rejected") throw one.reason;
    const refused = all.findIndex((one) => !("arm" in one));
    return { ...(all[refused] as OrderRefusal), venue: requests[refused]?.venue ?? null };
  }

  async heartbeat(switchId: string, ownerId: string | null): Promise<SwitchAnswer> {
    const armed = await this.#switches.heartbeat(switchId, ownerId);
    return armed === null ? refusal("SWITCH_NOT_FOUND") : { ok: true, armed };
  }

  async disarm(switchId: string, ownerId: string | null): Promise<SwitchAnswer> {
    const armed = await this.#switches.disarm(switchId, ownerId);
    return armed === null ? refusal("SWITCH_NOT_FOUND") : { ok: true, armed };
  }

  async #prepare(request: ArmRequest, ownerId: string | null): Promise<PreparedSwitch | OrderRefusal> {
    const { timeoutMs, venue, credentials, payer } = request;
    if (!Number.isInteger(timeoutMs) || timeoutMs < MIN_TIMEOUT_MS || timeoutMs > MAX_TIMEOUT_MS) {
      return invalid("timeoutMs", `must be a whole number from ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}`);
    }
    const room = roomOf(this.#parts.rooms, request);
    if (!("orders" in room)) return room;
    const opened = room.openSession(credentials, payer);
    if (!opened.ok) return refusal("MISSING_CREDENTIALS", { exchange: venue, problem: opened.problem });
    const { session } = opened;
    let prepared: PreparedSwitch | null = null;
    try {
      // One switch of the owner for each account, whichever of the account's keys armed it: a guess would leave two armed, or take another's away.
      const behind = await accountBehind(this.#parts, room, session, WHOSE_SWITCH);
      if (!behind.ok) return refusal(behind.error.code, behind.error.context);
      const kept = new KeptSession(room, session, credentials);
      prepared = this.#switches.prepare(room, kept, { accountHash: behind.accountHash, ownerId }, timeoutMs);
      return prepared ?? refusal("OVERLOADED", { reason: "SWITCHES" });
    } finally {
      if (prepared === null) session.close();
    }
  }
}
