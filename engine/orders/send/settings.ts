/**
 * Leverage and margin mode of an entry: set at the venue before anything is ordered there, and only where they differ.
 *
 * Invariants: an entry whose settings were not taken for certain is not sent, and for one that the guards refuse nothing is
 * set. Setting them twice does no harm, so after a crash they are simply set again.
 */
import type { Clock } from "../../domain/clock.js";
import { ServiceError } from "../../domain/errors.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { Guards } from "../../guards/guards.js";
import type { CallOptions, SettingOutcome } from "../../ports.js";
import { problemOf } from "../background.js";
import type { AccountReading } from "../decide/readings.js";
import { redactVenueText } from "../redact.js";
import type { Logger } from "../../domain/logger.js";
import type { TradeExecution } from "./execution.js";
import type { SendPlan } from "../decide/plan.js";
import type { TradeRun } from "../run.js";
import { addAdjustment } from "../run-writes.js";
import type { ExecutionAdjustment } from "../types.js";

/** One setting is answered within this, or it counts as not set. */
const SETTING_TIMEOUT_MS = 3_000;
const UNKNOWN_SETTING = "unknown";

interface SettingsParts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly guards: Pick<Guards, "checkOrder">;
  readonly logger: Logger;
}

/** Returns null when all are as wanted. What was changed is in the run's adjustments. */
export async function applySettings(
  parts: SettingsParts,
  execution: TradeExecution,
  run: TradeRun,
  plans: readonly SendPlan[],
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
): Promise<ServiceError | null> {
  const terms = execution.request.open;
  if (terms === null || (terms.leverage === null && terms.marginMode === null)) return null;
  for (const plan of plans) {
    const refused = refusedEntry(parts, execution, run, plan);
    if (refused !== null) return refused;
  }
  const problems = await Promise.all(
    plans.map((plan) => applyOn(parts, execution, run, plan, readings.get(plan.venue))),
  );
  return problems.find((problem) => problem !== null) ?? null;
}

/** Without a share of the day, which is taken when the order is sent: what is refused then as well is refused before. */
function refusedEntry(
  { clock, guards }: SettingsParts,
  { accounts, ownerId }: TradeExecution,
  { symbol }: TradeRun,
  { venue, reduceOnly, qtyLots, qtyDecimals, priceDecimals, priceTicks, doubleMidTicks }: SendPlan,
): ServiceError | null {
  const verdict = guards.checkOrder({
    ...{ clientIdHex: "", atMs: clock.wallMs(), ownerId, accountHash: accounts.get(venue)?.accountHash ?? "" },
    ...{ venue, symbol, opens: !reduceOnly, qtyLots, qtyDecimals, priceDecimals, priceTicks, doubleMidTicks },
  });
  return verdict.ok ? null : new ServiceError(verdict.code, verdict.details);
}

async function applyOn(
  parts: { readonly logger: Logger },
  execution: TradeExecution,
  run: TradeRun,
  plan: SendPlan,
  reading: AccountReading | undefined,
): Promise<ServiceError | null> {
  const { leverage, marginMode } = execution.request.open ?? { leverage: null, marginMode: null };
  const account = execution.accounts.get(plan.venue);
  const settings = account?.room.settings;
  if (account === null || settings === undefined) return null;
  const { session } = account;
  const { instrument } = plan;
  const known = reading?.settings ?? null;
  const options: CallOptions = {
    timeoutMs: Math.min(SETTING_TIMEOUT_MS, Math.max(1, execution.deadline.leftMs())),
    lane: "trade",
  };
  const change = async (
    field: "leverage" | "marginMode",
    from: string | null,
    to: string,
    set: () => Promise<SettingOutcome>,
  ): Promise<ServiceError | null> => {
    if (from === to) return null;
    const outcome = await set().catch((error: unknown): SettingOutcome => {
      parts.logger.error("setting_threw", { venue: plan.venue, routeId: run.routeId, problem: problemOf(error) });
      return { outcome: "unknown", cause: "INTERNAL" };
    });
    if (outcome.outcome !== "accepted") return notSet(execution, run, plan.venue, field, to, outcome);
    const adjustment: ExecutionAdjustment = { field, from: from ?? UNKNOWN_SETTING, to, rule: "REQUESTED" };
    addAdjustment(run, adjustment);
    return null;
  };
  // The mode first: a venue may tie the allowed leverage to it.
  const modeProblem =
    marginMode === null
      ? null
      : await change("marginMode", known?.marginMode ?? null, marginMode, () =>
          settings.setMarginMode(session, instrument, marginMode, options),
        );
  if (modeProblem !== null || leverage === null) return modeProblem;
  const before = known?.leverage ?? null;
  return change("leverage", before === null ? null : String(before), String(leverage), () =>
    settings.setLeverage(session, instrument, leverage, options),
  );
}

function notSet(
  execution: TradeExecution,
  run: TradeRun,
  exchange: RoutableVenue,
  field: "leverage" | "marginMode",
  wanted: string,
  outcome: Exclude<SettingOutcome, { outcome: "accepted" }>,
): ServiceError {
  const rejected = outcome.outcome === "rejected";
  return new ServiceError("LEVERAGE_NOT_SET", {
    exchange,
    reasonCode: "LEVERAGE_NOT_SET",
    field,
    wanted,
    outcome: rejected ? "REJECTED" : "UNKNOWN",
    reason: rejected ? outcome.reason : outcome.cause.slice(0, 100),
    venueText: rejected ? redactVenueText(outcome.venueText, execution.secrets) : null,
    ...(rejected && outcome.retryAfterMs !== undefined ? { retryAfterMs: outcome.retryAfterMs } : {}),
    candidates: run.routing.candidates.map((candidate) =>
      candidate.exchange === exchange ? { ...candidate, eligible: false, reasonCode: "LEVERAGE_NOT_SET" } : candidate,
    ),
  });
}
