/** Reads the request budgets of the accounts that trade here, beside their orders: no order waits for a reading. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { AccountResolver } from "../account/resolver.js";
import type { AddressBudget } from "./address-budget.js";
import type { VenueoneRest } from "../account/rest.js";
import { callerOf, type VenueoneSession } from "../account/session.js";

const READING: CallOptions = { timeoutMs: 5_000, lane: "reconcile" };

export interface BudgetReadingsDeps {
  readonly budget: AddressBudget;
  readonly rest: Pick<VenueoneRest, "userRateLimit">;
  readonly accounts: AccountResolver;
  readonly standing: CallerStanding;
  readonly clock: Clock;
}

export class BudgetReadings {
  readonly #deps: BudgetReadingsDeps;

  constructor(deps: BudgetReadingsDeps) {
    this.#deps = deps;
  }

  /** Reads the account's budget where a reading is due. None for strangers: made-up keys would take all readings. */
  freshen(session: VenueoneSession): void {
    const { accounts, budget, standing } = this.#deps;
    if (!session.canSign) return;
    const address = accounts.peek(session);
    if (!standing.isProven(callerOf(session, address))) return;
    if (budget.beginRead(address)) void this.#read(session, address);
  }

  /** Never rejects: every failure keeps the last reading. */
  async #read(session: VenueoneSession, address: string): Promise<void> {
    const { accounts, budget, clock, rest } = this.#deps;
    try {
      const deadline = new Deadline(clock, READING, session.payer);
      const account = accounts.resolveKnown(session) ?? (await accounts.resolve(session, READING));
      // An agent's own address has no budget: its principal's is read by the next call, which knows it.
      const left = account.ok && account.value === address ? deadline.left() : null;
      const limit = left === null ? null : await rest.userRateLimit(address, left);
      if (limit?.ok === true) budget.noteReading(address, limit.value.nRequestsUsed, limit.value.nRequestsCap);
      else budget.noteUnread(address);
    } catch {
      // A fault of ours: the same as no answer.
      budget.noteUnread(address);
    }
  }
}
