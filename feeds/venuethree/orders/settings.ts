/**
 * Leverage and margin mode of one market. The venue sets both by one transaction, so each change reads the other first
 * and sends it as it is. A market the account never touched has no row: then the market's own default counts.
 *
 * The API's yes is no outcome: the sequencer refuses another margin mode while a position or an order is open (21132).
 * A change is accepted only once its transaction says that it was executed; where that is not known in time it is unknown.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type {
  AccountSession,
  AccountSettings,
  CallOptions,
  Lane,
  Read,
  SettingOutcome,
  SymbolSettings,
} from "../../../engine/ports.js";
import { leverageProblem, settingsOf } from "../../shared/account/symbol-settings.js";
import { TimedCache } from "../../shared/account/timed-cache.js";
import { failedRead, refusedByRead, refusedOf } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { failureOf, OUT_OF_TIME } from "../../shared/orders/exchange-outcome.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import { leverageOf, marginFractionOf, marginOf } from "../account/normalize.js";
import type { VenuethreeAccountRest } from "../account/rest.js";
import type { KeyDirectory } from "../account/key-directory.js";
import { confirmSettings, SETTINGS_PENDING } from "./change-confirmation.js";
import { leverageTx, marginFractionFor } from "./request.js";
import { VenuethreeSession } from "../account/session.js";
import type { TxBudget } from "./tx-budget.js";
import type { TxConfirmationDeps } from "./tx-confirmation.js";
import type { VenuethreeExchange } from "./exchange.js";

/** A setting that takes effect late does no harm within this; one of unknown outcome may be executed until then. */
const EXPIRY_MS = 30_000;
/** A read may not show a change for so long after the venue executed it. */
const LAG_MS = 5_000;
/** Changes remembered; the least recently used one goes. */
const MAX_CHANGES = 4_096;

export interface VenuethreeSettingsDeps {
  readonly rest: VenuethreeAccountRest;
  readonly keys: KeyDirectory;
  readonly exchange: VenuethreeExchange;
  readonly confirmation: TxConfirmationDeps;
  /** Null when nothing is counted. */
  readonly budget: TxBudget | null;
  readonly clock: Clock;
  readonly clockOffsetMs: () => number;
}

interface Setting {
  /** Units of 1e-4. */
  readonly marginFraction: number;
  readonly marginMode: "cross" | "isolated";
}

interface SentSetting extends Setting {
  /** Monotonic: by then a read shows it, or the venue never executes it. */
  readonly untilMs: number;
}

export class VenuethreeSettings implements AccountSettings {
  readonly #deps: VenuethreeSettingsDeps;
  /**
   * What the venue took last, or may have taken, by account and market. It takes a change before it makes it, so a read
   * right after shows the old setting: sent along with the next change, that would undo this one.
   */
  readonly #sent: TimedCache<string, SentSetting>;
  /** The newest change under way, by the same name. The next one waits for it; it is removed when it ends. */
  readonly #underWay = new Map<string, Promise<unknown>>();

  constructor(deps: VenuethreeSettingsDeps) {
    this.#deps = deps;
    this.#sent = new TimedCache(deps.clock, MAX_CHANGES);
  }

  async read(session: AccountSession, instrument: Instrument, options: CallOptions): Promise<Read<SymbolSettings>> {
    const read = await this.#read(session, instrument, new Deadline(this.#deps.clock, options, session.payer));
    if (!read.ok) return read;
    const last = session instanceof VenuethreeSession ? this.#sent.get(nameOf(session.accountIndex, instrument)) : null;
    const shown = shownOf(read.value);
    if (last === null) return { ...read, value: shown };
    // While the two differ either may be in force: a caller who needs one of them has to set it.
    const sent = shownOf(last);
    const leverage = shown.leverage === sent.leverage ? sent.leverage : null;
    const marginMode = shown.marginMode === sent.marginMode ? sent.marginMode : null;
    return { ...read, value: { ...sent, leverage, marginMode } };
  }

  async setLeverage(
    session: AccountSession,
    instrument: Instrument,
    leverage: number,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const problem = leverageProblem(leverage, instrument);
    if (problem !== null) return problem;
    const marginFraction = marginFractionFor(leverage);
    return this.#change(session, instrument, (setting) => ({ ...setting, marginFraction }), options);
  }

  async setMarginMode(
    session: AccountSession,
    instrument: Instrument,
    marginMode: "cross" | "isolated",
    options: CallOptions,
  ): Promise<SettingOutcome> {
    return this.#change(session, instrument, (setting) => ({ ...setting, marginMode }), options);
  }

  waitMs(session: AccountSession, lane: Lane): number {
    return session instanceof VenuethreeSession ? (this.#deps.budget?.otherWaitMs(session.accountIndex, lane) ?? 0) : 0;
  }

  /** One after the other: two that read the same settings would each send the other's old one along. */
  async #change(
    session: AccountSession,
    instrument: Instrument,
    changed: (setting: Setting) => Setting,
    options: CallOptions,
  ): Promise<SettingOutcome> {
    const { clock, keys } = this.#deps;
    const deadline = new Deadline(clock, options, session.payer);
    // Before the queue: a caller whose key is not the account's holds up no change of it.
    const key = keys.resolveKnown(session) ?? (await keys.resolve(session, options));
    if (!key.ok) return refusedByRead(key);
    const name = nameOf(key.value.accountIndex, instrument);
    const earlier: Promise<unknown> = this.#underWay.get(name) ?? Promise.resolve();
    const own = this.#afterwards(earlier, deadline, () =>
      this.#changeAlone(session, instrument, changed, name, deadline),
    );
    // A change that gave up waiting does not let the next one start before the one it waited for.
    const ended = Promise.allSettled([earlier, own]);
    this.#underWay.set(name, ended);
    try {
      return await own;
    } finally {
      void ended.then(() => {
        if (this.#underWay.get(name) === ended) this.#underWay.delete(name);
      });
    }
  }

  async #afterwards(
    earlier: Promise<unknown>,
    deadline: Deadline,
    change: () => Promise<SettingOutcome>,
  ): Promise<SettingOutcome> {
    const left = deadline.left();
    if (left === null || !(await within(this.#deps.clock, earlier, left.timeoutMs)).done) return refusedByRead(NO_TIME);
    return change();
  }

  async #changeAlone(
    session: AccountSession,
    instrument: Instrument,
    changed: (setting: Setting) => Setting,
    name: string,
    deadline: Deadline,
  ): Promise<SettingOutcome> {
    const { clock, clockOffsetMs, exchange } = this.#deps;
    const before = await this.#read(session, instrument, deadline);
    if (!before.ok) return refusedByRead(before);
    const earlier = this.#sent.get(name);
    const onItsWay = earlier ?? before.value;
    const wanted = changed(onItsWay);
    const { marginFraction, marginMode } = wanted;
    const settings = shownOf(wanted);
    if (isSame(wanted, before.value) && isSame(wanted, onItsWay)) return { outcome: "accepted", settings };
    const prepared = leverageTx(instrument, marginFraction, marginMode);
    if (!prepared.ok) return refusedOf(prepared.why);
    const left = deadline.left();
    if (left === null) return failureOf(OUT_OF_TIME);
    const expiresAtMs = Math.round(clock.wallMs() + clockOffsetMs()) + EXPIRY_MS;
    const beganMs = monoMs(clock);
    const sent = await exchange.send(session, prepared.tx, expiresAtMs, left);
    if (sent.kind === "rejected") return failureOf(sent);
    this.#remember(name, wanted, beganMs + EXPIRY_MS + LAG_MS);
    if (sent.kind === "unknown") return failureOf(sent);
    const outcome = await this.#confirm(sent.answer.hash, settings, deadline);
    // The lag of reads begins with the execution, and what was refused is not to be sent along with the next change.
    if (outcome.outcome === "accepted") this.#remember(name, wanted, monoMs(clock) + LAG_MS);
    else if (outcome.outcome === "rejected") this.#restore(name, earlier);
    return outcome;
  }

  async #confirm(txHash: string | null, settings: SymbolSettings, deadline: Deadline): Promise<SettingOutcome> {
    const left = deadline.left();
    return txHash === null || left === null
      ? SETTINGS_PENDING
      : confirmSettings(this.#deps.confirmation, txHash, settings, left);
  }

  #remember(name: string, setting: Setting, untilMs: number): void {
    this.#sent.set(name, { ...setting, untilMs }, untilMs - monoMs(this.#deps.clock));
  }

  /** For the rest of its own time: the refusal of another change does not prolong it. */
  #restore(name: string, earlier: SentSetting | null): void {
    if (earlier === null) this.#sent.delete(name);
    else this.#remember(name, earlier, earlier.untilMs);
  }

  async #read(session: AccountSession, instrument: Instrument, deadline: Deadline): Promise<Read<Setting>> {
    const { keys, rest } = this.#deps;
    const first = deadline.left();
    if (first === null) return NO_TIME;
    const key = keys.resolveKnown(session) ?? (await keys.resolve(session, first));
    if (!key.ok) return key;
    const second = deadline.left();
    if (second === null) return NO_TIME;
    const account = await rest.accountByIndex(key.value.accountIndex, second);
    if (!account.ok) return account;
    const row = account.value.positions.find((position) => position.market_id === instrument.nativeId);
    if (row !== undefined) {
      const decoded = decodeWith(row, () => ({
        marginFraction: marginFractionOf(row),
        marginMode: marginOf(row).marginMode,
      }));
      if (!decoded.ok) return failedRead("BAD_RESPONSE", `account: ${decoded.problem}`);
      if (decoded.value.marginFraction > 0) return { ...account, value: decoded.value };
    }
    const third = deadline.left();
    if (third === null) return NO_TIME;
    const fallback = await rest.defaultMarginFraction(instrument.nativeId, third);
    return fallback.ok ? { ...fallback, value: { marginFraction: fallback.value, marginMode: "cross" } } : fallback;
  }
}

const NO_TIME = failedRead("TIMEOUT", "no time left for the settings");

function nameOf(accountIndex: number, { nativeId }: Instrument): string {
  return `${accountIndex} ${nativeId}`;
}

function isSame(left: Setting, right: Setting): boolean {
  return left.marginFraction === right.marginFraction && left.marginMode === right.marginMode;
}

function shownOf({ marginFraction, marginMode }: Setting): SymbolSettings {
  return settingsOf(leverageOf(marginFraction), marginMode);
}
