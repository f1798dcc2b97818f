/**
 * The kill switch of the operator (openings off, exits on) and the dead-man's switch of a caller (open orders are
 * cancelled unless a heartbeat comes). Its unguessable id alone prolongs and ends a dead-man's switch of the caller's own.
 */
import type { Static } from "@sinclair/typebox";
import type { SwitchAnswer } from "../../../engine/orders/single/switch-desk.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import {
  deadManReplySchema,
  deadManRequestSchema,
  killSwitchReplySchema,
  killSwitchRequestSchema,
} from "../../../schemas/order-changes.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import { ACCOUNT_HEADERS, callerBlock, exchangeOf, tradingRoom } from "../../accounts/account-access.js";
import { requireOperator } from "../../http/operator-access.js";
import { type Answer, type Ask, checkedBody, jsonRoute, replyText } from "../../http/json-route.js";
import type { Route } from "../../http/route.js";
import { checkOrderId } from "./order-id.js";
import type { TradingContext } from "./order-desk-call.js";
import { refusalError } from "../../accounts/order-refusal.js";

export function switchRoutes(context: TradingContext): Route[] {
  return [...killSwitchRoutes(context), ...deadManRoutes(context)];
}

const DEFAULT_REASON = "operator";

function killSwitchRoutes(context: TradingContext): Route[] {
  const { edge, clock, trading } = context;
  const { killSwitch } = trading;
  const validate = compileValidator(killSwitchRequestSchema);
  const serialise = compileSerialiser(killSwitchReplySchema);

  function state(): Answer {
    const { halts, usedToday } = killSwitch.status();
    const rows = halts.map(({ venue, reason, sinceMs }) => ({ exchange: venue, reason, since: sinceMs }));
    const data = { active: rows.length > 0, halts: rows, usedToday };
    return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }) };
  }

  return [
    jsonRoute(context, {
      operation: OPERATIONS.killSwitch,
      headers: [],
      sends: false,
      async answer(ask) {
        requireOperator(trading.operator, ask.origin, ask.caller);
        const body = checkedBody(validate, ask.body);
        await setOpenings(trading, ask.caller.keyId ?? "local", body);
        return state();
      },
    }),
    jsonRoute(context, {
      operation: OPERATIONS.killSwitchStatus,
      headers: [],
      sends: false,
      async answer(ask) {
        requireOperator(trading.operator, ask.origin, ask.caller);
        return state();
      },
    }),
  ];
}

/** Stops or resumes openings, and writes down who did. */
async function setOpenings(
  { killSwitch, recordAct }: TradingContext["trading"],
  who: string,
  { active, ...body }: Static<typeof killSwitchRequestSchema>,
): Promise<void> {
  const exchange = body.exchange ?? null;
  const reason = body.reason ?? DEFAULT_REASON;
  const what = active ? "trade.halt" : "trade.resume";
  const act = { who, what, subject: exchange ?? "", details: active ? { reason } : {} };
  try {
    if (active) await killSwitch.halt(exchange, reason);
    else await killSwitch.resume(exchange);
  } catch (error) {
    await recordAct({ ...act, outcome: "failed" });
    throw error;
  }
  await recordAct({ ...act, outcome: "done" });
}

function deadManRoutes(context: TradingContext): Route[] {
  const { edge, clock, view, trading } = context;
  const validate = compileValidator(deadManRequestSchema);
  const serialise = compileSerialiser(deadManReplySchema);

  function told(answer: SwitchAnswer): Answer {
    if (!answer.ok) throw refusalError(answer);
    const { switchId, venue, state, timeoutMs, expiresAtMs, venueArmed, venueSymbols } = answer.armed;
    const data = { switchId, exchange: venue, state, timeoutMs, expiresAt: expiresAtMs, venueArmed, venueSymbols };
    return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }) };
  }

  const switchId = (ask: Ask) => checkOrderId(ask.params["switchId"] ?? "", "switchId");
  return [
    jsonRoute(context, {
      operation: OPERATIONS.deadMan,
      headers: ACCOUNT_HEADERS,
      sends: true,
      async answer(ask) {
        const venue = exchangeOf(ask.params["exchange"] ?? "");
        const { timeoutMs } = checkedBody(validate, ask.body);
        tradingRoom(view, venue);
        const credentials = await callerBlock(trading.wallets, ask, venue);
        return told(
          await trading.orders.armSwitch(
            { venue, credentials, timeoutMs, payer: ask.caller.keyId },
            ask.caller.ownerId,
          ),
        );
      },
    }),
    jsonRoute(context, {
      operation: OPERATIONS.deadManHeartbeat,
      headers: [],
      sends: true,
      answer: async (ask) => told(await trading.orders.heartbeat(switchId(ask), ask.caller.ownerId)),
    }),
    jsonRoute(context, {
      operation: OPERATIONS.deadManEnd,
      headers: [],
      sends: true,
      answer: async (ask) => told(await trading.orders.disarmSwitch(switchId(ask), ask.caller.ownerId)),
    }),
  ];
}
