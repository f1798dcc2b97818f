/**
 * What is waited for after a workload's last request: armed switches, orders of unknown outcome, protection that comes
 * late, and the record's rows. Each wait has an end of its own, and what has not come by then is the judge's to name.
 */
import { READ_GAP_MS } from "../../../engine/orders/follow/follow-reads.js";
import type { FourVenues } from "./four-venues.js";
import { unrecordedCount } from "./judge/later.js";
import type { RecordedState } from "./recorded-orders.js";
import { SWITCH_MS } from "./scenes/accounts.js";
import { pause, waitUntil } from "./system.js";
import type { Ask } from "./trade-ask.js";
import type { TradeSystem } from "./trade-system.js";
import { askExecution, hasEnd, sendTrade, type TradeSender, type TradeTrial, untilFinal } from "./trade-trial.js";

/** Longer than the time of a switch, its longest pause between two tries with a call, and the venue's own later firing. */
const SWITCH_END_MS = 75_000;

/**
 * Waits until armed switches have cancelled their orders, and notes those that remain. An order that came to the venue
 * after the switch's time does not count: on a slow machine the scene's second one may.
 */
export async function switchesEnd(
  four: FourVenues,
  asks: readonly Ask[],
  withinMs: number = SWITCH_END_MS,
): Promise<void> {
  const armed = asks.filter(({ kind, status }) => kind === "ARM" && status === 200);
  const working = ({ askedAtMs, terms, trader }: Ask): number =>
    terms.venues.reduce((sum, venue) => {
      const open = four.venues[venue].exchange.orders.open(trader.accountIds[venue]);
      return sum + open.filter(({ createdMs }) => createdMs <= askedAtMs + SWITCH_MS).length;
    }, 0);
  await waitUntil("switches to fire", withinMs, () => armed.every((ask) => working(ask) === 0)).catch(() => null);
  for (const ask of armed) ask.workingAtEnd = working(ask);
}

/** Each followed order gets a read within that time and its turn, where its stream reports nothing. */
const RECORD_END_MS = 60_000;

/**
 * For so long a record that should not come is waited for once all others are there. Without its fault it comes with the
 * account's stream, in a second; the long form waits as long as for any other.
 */
const UNRECORDED_MS = Number(process.env.UNRECORDED_SECONDS ?? 10) * 1_000;

/**
 * Waits until the record has the current state of the orders that the market reached, and reads it. The service reads a
 * venue's orders one after the other, each as slowly as the machine is: so long as ends come in, the others may be in line.
 */
export async function recordEnds(
  four: FourVenues,
  system: TradeSystem,
  trials: readonly TradeTrial[],
  isUnrecorded: (trial: TradeTrial) => boolean = () => false,
): Promise<readonly RecordedState[]> {
  const restingCount = trials.filter(({ answers }) => answers.at(-1)?.data?.execution.state === "RESTING").length;
  const awaited = trials.filter((trial) => !isUnrecorded(trial));
  let endMs = 0;
  let left = Number.POSITIVE_INFINITY;
  for (;;) {
    const recorded = await system.recorded();
    if (unrecordedCount(four, trials, recorded) === 0) return recorded;
    const awaitedLeft = unrecordedCount(four, awaited, recorded);
    if (awaitedLeft < left) {
      left = awaitedLeft;
      endMs = four.nowMs() + (left > 0 ? RECORD_END_MS + restingCount * READ_GAP_MS : UNRECORDED_MS);
    }
    if (four.nowMs() > endMs) return recorded;
    await pause(RECORD_LOOK_MS);
  }
}

const RECORD_LOOK_MS = 250;

/** Longest time that an order is unknown: ten minutes (DESIGN.md, section 5), from its first answer on. */
const UNKNOWN_MAX_MS = 600_000;

/**
 * Of many at once on a slow machine some are given up before their turn. This repeats until they may be unknown no
 * longer.
 */
export async function lateEnds(
  four: FourVenues,
  { clients }: TradeSystem,
  trials: readonly TradeTrial[],
  send: TradeSender,
): Promise<void> {
  const client = clients.at(-1);
  if (client === undefined) return;
  const late = trials.filter((trial) => !hasEnd(trial));
  await Promise.all(
    late.map((trial) => {
      const unknownMs = four.nowMs() - (trial.answers[0]?.answeredAtMs ?? four.nowMs());
      return untilFinal(four, client, trial, false, send, Math.max(LATE_END_MIN_MS, UNKNOWN_MAX_MS - unknownMs));
    }),
  );
}

/** Least time for one round of all repeated requests. */
const LATE_END_MIN_MS = 30_000;

/**
 * Adds the executions' final state as one more answer to each entry with protection. The service may place protection
 * after the answer that its caller took for the end, where an entry rested or had an unknown outcome.
 */
export async function newestWord(
  four: FourVenues,
  { clients: [client] }: TradeSystem,
  trials: readonly TradeTrial[],
): Promise<void> {
  if (client === undefined) return;
  for (const trial of trials) {
    const { stopLoss, takeProfit } = trial.terms;
    if (stopLoss !== null || takeProfit !== null) await askExecution(four, client, trial);
  }
}

/**
 * A new process resumes the orders of the one before with the next request of the account, so the caller asks again.
 * Nobody asks about an order that the current process has sent itself, so that a lost one stays lost. The request for
 * the execution follows too, as by any interested caller: the background's share of a venue's budget allows reads of a
 * few orders a minute, and a run leaves hundreds that rest.
 */
export async function askOnceMore(
  four: FourVenues,
  { clients: [client] }: TradeSystem,
  trials: ReadonlySet<TradeTrial>,
): Promise<void> {
  if (client === undefined) return;
  for (const trial of trials) {
    if (trial.reached === undefined && hasEnd(trial)) continue;
    await sendTrade(four, client, trial);
    await askExecution(four, client, trial);
  }
}
