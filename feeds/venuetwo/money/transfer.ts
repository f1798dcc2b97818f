/**
 * Transfers between the spot and the perp account of venuetwo (sheet section 9.2). The venue takes one of a name within
 * seven days, so the same transfer may be sent again; its list of them has no names.
 */
import { isPlainDecimal } from "../../../engine/domain/decimal.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type { InternalTransferAsk, InternalTransferRail, MoneyOutcome } from "../../../engine/venue-money.js";
import { compareDecimals } from "../../../engine/domain/decimal.js";
import { notSentAct } from "../../shared/orders/act-outcome.js";
import { decodeWith, idField, isFields, parseJsonExact, parseMoneyJson } from "../../shared/room/wire-fields.js";
import { incomeCall, walletTransferCall } from "../account/calls.js";
import type { VenuetwoRest } from "../account/rest.js";
import { NONCE_WINDOW_MS } from "../sign/nonces.js";
import { heldSession } from "./held-session.js";
import { outcomeOfSent } from "./outcome.js";
import { decodeTransferIncome } from "./wire.js";
import { AMOUNT_PLACES } from "./withdraw-act.js";

const NAME_CHARS_MAX = 64;
const INCOME_ROWS = 1_000;

export interface VenuetwoTransfersDeps {
  readonly rest: VenuetwoRest;
  readonly clock: Clock;
  /** Venue wall clock minus ours. */
  readonly clockOffsetMs: () => number;
}

export class VenuetwoTransfers implements InternalTransferRail {
  readonly placesMax = AMOUNT_PLACES;
  readonly looksBackMs = NONCE_WINDOW_MS;
  readonly #deps: VenuetwoTransfersDeps;

  constructor(deps: VenuetwoTransfersDeps) {
    this.#deps = deps;
  }

  async send(ask: InternalTransferAsk, session: AccountSession, options: CallOptions): Promise<MoneyOutcome> {
    const { amount, asset, clientTranId, kindType } = ask;
    const held = heldSession(session);
    if (!held.ok) return notSentAct(held.code);
    if (!isPlainDecimal(amount) || compareDecimals(amount, "0") <= 0) return notSentAct("AMOUNT");
    // Longer ones have a refusal whose code could be taken for that of a name in use.
    if (clientTranId === "" || clientTranId.length > NAME_CHARS_MAX) return notSentAct("CLIENT_TRAN_ID");
    const call = walletTransferCall([
      ["amount", amount],
      ["asset", asset],
      ["clientTranId", clientTranId],
      ["kindType", kindType],
    ]);
    const sent = await this.#deps.rest.send(held.session, call, options);
    return outcomeOfSent(sent, this.#deps.clock.wallMs() + this.#deps.clockOffsetMs(), tranIdOf);
  }

  /** By asset, direction, amount and time. */
  async look(
    { amount, asset, kindType }: InternalTransferAsk,
    sentAtMs: number,
    session: AccountSession,
    options: CallOptions,
  ): Promise<Read<readonly string[]>> {
    const held = heldSession(session);
    if (!held.ok) return held;
    const sinceMs = Math.floor(sentAtMs + this.#deps.clockOffsetMs() - this.looksBackMs);
    const call = incomeCall([
      ["incomeType", "TRANSFER"],
      ["startTime", String(sinceMs)],
      ["limit", String(INCOME_ROWS)],
    ]);
    const rows = await this.#deps.rest.read(held.session, call, decodeTransferIncome, options, parseMoneyJson);
    if (!rows.ok) return rows;
    const income = kindType === "SPOT_FUTURE" ? amount : `-${amount}`;
    const fitting = rows.value
      .filter((one) => one.asset === asset && one.time >= sinceMs && compareDecimals(one.income, income) === 0)
      .sort((one, other) => one.time - other.time);
    return { ...rows, value: [...new Set(fitting.map(({ tranId }) => tranId))] };
  }
}

/** `SUCCESS` with an id of up to 19 digits; anything else leaves open what became of it. */
function tranIdOf(body: string): string | null {
  const answer = parseJsonExact(body);
  if (!isFields(answer) || answer["status"] !== "SUCCESS") return null;
  const id = decodeWith(answer, () => idField(answer, "tranId"));
  return id.ok ? id.value : null;
}
