/** Checks what the replies of one key say of the ends of its orders against what the venues did. */
import { NEUTRAL, scaled } from "../close-judge.js";
import { isEnd, type TradeAnswer, tradeOutcome, type TradeTrial } from "../trade-trial.js";
import { type Evidence, isWorking, type Sent, type TradeCheck } from "./evidence.js";

/** A refusal, or `success: false`, means that nothing executed. An internal error counts as one. */
export const replyStatuses: TradeCheck = (evidence) =>
  evidence.trials.flatMap((trial) => statusProblems(evidence, trial));

function statusProblems(evidence: Evidence, trial: TradeTrial): string[] {
  const found: string[] = [];
  const executed = evidence.executed(trial);
  for (const [index, answer] of trial.answers.entries()) {
    const which = `${trial.key} answer ${index + 1} (${tradeOutcome(answer)})`;
    if (answer.status >= 500 && answer.status !== 503) found.push(`${which}: a fault of our own`);
    if (answer.status === 401) found.push(`${which}: good credentials refused`);
    const before = executed.filter(
      ({ venue, record }) => record.index < answer.logLengths[venue] && scaled(record.filledQty ?? "0") > 0n,
    );
    if (before.length === 0) continue;
    if (answer.data === null && !NEUTRAL.has(answer.code ?? "")) found.push(`${which}: refused after an execution`);
    if (answer.data !== null && !answer.success) found.push(`${which}: success false after an execution`);
  }
  return found;
}

/** Invariant 4: a final answer is repeated, with the same text for all money fields. */
export const replays: TradeCheck = ({ trials }) => {
  const found: string[] = [];
  for (const trial of trials) {
    if (trial.terms.orderType !== "MARKET") continue;
    let finalText: string | null = null;
    for (const [index, { data }] of trial.answers.entries()) {
      if (data?.execution.final !== true) continue;
      const { state, filledSize, averagePrice } = data.execution;
      const same = JSON.stringify([state, filledSize, averagePrice]);
      if (finalText !== null && finalText !== same)
        found.push(`${trial.key} answer ${index + 1} (${state}): a final answer changed from ${finalText}`);
      finalText = same;
    }
  }
  return found;
};

/** A final answer names every order that an answer to the same trade named before it was asked for. */
export const namedOrders: TradeCheck = ({ trials }) => trials.flatMap(forgottenOrders);

function forgottenOrders({ answers, key }: TradeTrial): string[] {
  return answers.flatMap(({ askedAtMs, data }, index) => {
    if (data?.execution.final !== true) return [];
    const { routeId } = data.routing;
    const named = namesIn(data);
    const before = answers
      .slice(0, index)
      .filter((earlier) => earlier.data?.routing.routeId === routeId && earlier.answeredAtMs <= askedAtMs);
    const missing = new Set(before.flatMap((earlier) => namesIn(earlier.data)).filter((name) => !named.includes(name)));
    return [...missing].map((name) => `${key} answer ${index + 1}: final without ${name}, which was named before`);
  });
}

function namesIn(data: TradeAnswer["data"]): string[] {
  if (data === null) return [];
  const { legs, protectionOrders = [] } = data.execution;
  return [...legs, ...protectionOrders].map(({ exchange, venueClientOrderId }) => `${exchange} ${venueClientOrderId}`);
}

/** The venue agrees with a reply that calls an order refused, unsent, over or present. */
export const endsOfOrders: TradeCheck = (evidence) => evidence.trials.flatMap((trial) => endProblems(evidence, trial));

function endProblems(evidence: Evidence, trial: TradeTrial): string[] {
  const found: string[] = [];
  const own = evidence.of(trial);
  for (const [index, { data }] of trial.answers.entries()) {
    if (data === null || !isEnd(data)) continue;
    const { legs, protectionOrders = [] } = data.execution;
    for (const leg of [...legs, ...protectionOrders]) {
      const at = `${trial.key} answer ${index + 1} (${data.execution.state}): leg ${leg.venueClientOrderId}`;
      const matches = own.filter(
        ({ venue, record }) => venue === leg.exchange && record.clientId === leg.venueClientOrderId,
      );
      const made = matches.find(({ order }) => order !== null);
      if (made === undefined) {
        // One venue shows orders that its margin check refused as ended orders; without a fill that is the truth.
        const isShown = matches.length > 0 && scaled(leg.filledSize) === 0n;
        if (leg.outcome === "CONFIRMED" && !isShown) found.push(`${at} confirmed, but there is no such order`);
        continue;
      }
      const filled = scaled(made.record.filledQty ?? "0") > 0n;
      if (leg.outcome === "REJECTED" || leg.outcome === "NOT_SENT") {
        if (filled) found.push(`${at} ${leg.outcome}, but filled`);
        if (isWorking(made.order)) found.push(`${at} ${leg.outcome}, but works at ${leg.exchange}`);
      } else if (leg.status === "CANCELED" && isWorking(made.order))
        found.push(`${at} reported as CANCELED, but works at ${leg.exchange}`);
    }
  }
  return found;
}

/** Invariant 3: unknown is neither final nor failed. */
export const unknownOrders: TradeCheck = ({ trials }) => {
  const found: string[] = [];
  for (const trial of trials) {
    for (const [index, answer] of trial.answers.entries()) {
      if (answer.data === null) continue;
      const { execution } = answer.data;
      const which = `${trial.key} answer ${index + 1} (${tradeOutcome(answer)})`;
      const isUnknown = execution.legs.some(({ outcome }) => outcome === "UNKNOWN");
      if (isUnknown !== (execution.state === "UNKNOWN")) found.push(`${which}: legs and state disagree about UNKNOWN`);
      if (isUnknown && (execution.final || !answer.success))
        found.push(`${which}: unknown reported as final or failed`);
    }
  }
  return found;
};

/**
 * Invariant 3: an order reported as unknown was not sent or routed again, unless its end left something to do. A
 * following order is allowed beside one that filled less than its size.
 */
export const afterUnknown: TradeCheck = (evidence) => [
  ...evidence.trials.flatMap((trial) => anewProblems(trial, evidence.executed(trial))),
  ...evidence.trials.flatMap((trial) => twiceProblems(evidence, trial)),
];

function anewProblems(trial: TradeTrial, executed: readonly Sent[]): string[] {
  const found: string[] = [];
  for (const answer of trial.answers) {
    for (const leg of answer.data?.execution.legs ?? []) {
      if (leg.outcome !== "UNKNOWN") continue;
      const itself = executed.find(({ record }) => record.clientId === leg.venueClientOrderId);
      const isWhole = itself !== undefined && itself.record.filledQty === itself.record.qty;
      const after = executed.filter(
        ({ venue, record }) => record.index >= answer.logLengths[venue] && record !== itself?.record,
      );
      if (isWhole && after.length > 0)
        found.push(`${trial.key}: sent again after ${leg.venueClientOrderId} of unknown outcome, which had filled`);
    }
  }
  return found;
}

/** One key never fills more than its size, whatever its replies claim. */
function twiceProblems(evidence: Evidence, trial: TradeTrial): string[] {
  if (trial.size === null) return [];
  const filled = evidence.executed(trial).reduce((sum, { record }) => sum + scaled(record.filledQty ?? "0"), 0n);
  return filled > scaled(trial.size) ? [`${trial.key}: ${String(filled)}e-12 filled of ${trial.size} asked for`] : [];
}
