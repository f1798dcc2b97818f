/** Faults with prices other than their caller's, and replies that misreport right prices. */
import type { OrderCommand } from "../../../../engine/domain/order.js";
import { protectPrice, tighterPrice } from "../../../../engine/domain/price-grid.js";
import type { VenueRoom } from "../../../../engine/ports.js";
import { below, hearing, saying } from "./traffic.js";
import { placing, type Plant } from "./planting.js";

/** Worsens the price for its sender by this share. */
function looser(command: OrderCommand, share: number): OrderCommand {
  const factor = command.side === "BUY" ? 1 + share : 1 - share;
  return { ...command, priceTicks: Math.round(command.priceTicks * factor) };
}

/** Treats a stop's limit as any other price of ours: no worse than the band around the venue's last mark allows. */
function intoTodaysBand(room: VenueRoom, command: OrderCommand): OrderCommand {
  const { instrument, side, trigger, type } = command;
  const edgePpm = side === "SELL" ? instrument.bandDownPpm : instrument.bandUpPpm;
  const mark = Number(room.markets.get(instrument.symbol)?.ticker.markPrice ?? "");
  if (trigger === undefined || type !== "LIMIT" || edgePpm === 0 || !(mark > 0)) return command;
  const edgeTicks = Math.round((mark * 10 ** instrument.priceDecimals * edgePpm) / 1_000_000);
  return { ...command, priceTicks: protectPrice(instrument, side, tighterPrice(side, command.priceTicks, edgeTicks)) };
}

const DEFAULT_BPS = 1_000;

export const PRICE_PLANTS: readonly Plant[] = [
  {
    name: "a stop's limit is moved to its trigger",
    scene: "stop",
    checks: ["stops"],
    wrong: () => ({
      room: placing((place) => (session, command, options) => {
        const { trigger } = command;
        return place(
          session,
          trigger === undefined ? command : { ...command, priceTicks: trigger.priceTicks },
          options,
        );
      }),
    }),
  },
  {
    name: "a stop's limit is moved into today's band",
    scene: "stop",
    checks: ["stops"],
    // Only where a venue has such a band, and accepts the moved limit all the same.
    seen: /^venuetwo .*a stop's limit \S+ was sent as/,
    wrong: () => ({
      room: (room) =>
        placing((place) => (session, command, options) => place(session, intoTodaysBand(room, command), options))(room),
    }),
  },
  {
    name: "a stop's limit is sent without its trigger",
    scene: "stop",
    checks: ["banded stops"],
    wrong: () => ({
      room: placing((place) => (session, command, options) => {
        const { trigger, ...live } = command;
        const isLost = trigger !== undefined && command.type === "LIMIT" && command.instrument.venue === "venuetwo";
        return place(session, isLost ? live : command, options);
      }),
    }),
  },
  {
    name: "a bound is sent beyond the venue's band",
    scene: "band",
    checks: ["band refusals", "bounds", "bounds told"],
    wrong: () => ({
      room: placing((place) => (session, command, options) => place(session, looser(command, 0.2), options)),
    }),
  },
  {
    name: "a second order of an execution forgets the bound of the first",
    scene: "retry",
    checks: ["bounds", "bounds told"],
    wrong: () => {
      let orders = 0;
      return {
        room: placing(
          (place) => (session, command, options) =>
            place(session, orders++ === 0 ? command : looser(command, 0.03), options),
        ),
      };
    },
  },
  {
    name: "a leg does not show its bound",
    scene: "retry",
    checks: ["bounds told"],
    wrong: () => ({
      client: saying((data) => {
        for (const leg of (below(data, "execution")["legs"] ?? []) as Record<string, unknown>[])
          leg["worstPrice"] = null;
      }),
    }),
  },
  {
    name: "a quote is not used up",
    scene: "quote",
    checks: ["quotes used"],
    wrong: () => ({
      client: hearing((body) => {
        body["quoteId"] = null;
      }),
    }),
  },
  {
    name: "a quote replaces the bound that is stated beside it",
    scene: "quote",
    checks: ["bounds"],
    wrong: () => ({
      client: hearing((body) => {
        if (body["quoteId"] !== null) below(body, "routingOptions")["maxSlippageBps"] = DEFAULT_BPS;
      }),
    }),
  },
  {
    name: "a reference is of a venue that is none of the trade's",
    scene: "split",
    checks: ["references"],
    wrong: () => ({
      client: saying((data) => {
        const reference = below(data, "routing", "reference");
        const candidates = (below(data, "routing")["candidates"] ?? []) as { exchange: string; eligible: boolean }[];
        const other = candidates.find(({ eligible }) => !eligible);
        if (other !== undefined) reference["exchange"] = other.exchange;
      }),
    }),
  },
  {
    name: "a reference mid is none that its venue had",
    scene: "split",
    checks: ["reference mids"],
    wrong: () => ({
      client: saying((data) => {
        const reference = below(data, "routing", "reference");
        const { worstPrice } = below(data, "routing", "limits");
        const mid = Number(reference["mid"]);
        // Moves to the side that allows more.
        reference["mid"] = String(mid * (Number(worstPrice) < mid ? 0.95 : 1.05));
      }),
    }),
  },
  {
    name: "a split is made of less than was asked for",
    scene: "split",
    checks: ["splits"],
    wrong: () => ({
      client: hearing((body) => {
        const size = Number(body["size"]);
        if (size === 9.5 || size === 190) body["size"] = "ALL";
      }),
    }),
  },
  {
    name: "a limit is improved",
    scene: "limit",
    checks: ["resting orders"],
    wrong: () => ({
      room: placing(
        (place) => (session, command, options) =>
          place(session, command.type === "LIMIT" && !command.reduceOnly ? looser(command, 0.001) : command, options),
      ),
    }),
  },
];
