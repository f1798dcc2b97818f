/** `POST /api/trade/position/open`: routing design, sections 4 and 6. The reply is the close's, of mode BEST_ENTRY. */
import { type Static, Type } from "@sinclair/typebox";
import { closeReplySchema, tradeFields, tradeSymbol } from "./close.js";
import { optionalField, positiveDecimal, words } from "./common.js";
import { openingFlag } from "./spec-names.js";

export const LEVERAGE_BOUNDS = { min: 1, max: 1000 } as const;
export const HOLD_HOURS_MAX = 8760;

export const openRequestSchema = Type.Object(
  {
    symbol: tradeSymbol,
    direction: words(["LONG", "SHORT"], { description: "Direction of the position being opened." }),
    size: optionalField(positiveDecimal(), {
      description: "Base units. Exactly one of size and notionalUsd.",
      examples: ["0.25"],
    }),
    notionalUsd: optionalField(positiveDecimal(), {
      description: "Value of the position at the live mid: the size it comes to is rounded down.",
    }),
    orderType: optionalField(words(["MARKET", "LIMIT"]), {
      description: "MARKET, or LIMIT when limitPrice is given.",
    }),
    leverage: optionalField(Type.Integer({ minimum: LEVERAGE_BOUNDS.min, maximum: LEVERAGE_BOUNDS.max }), {
      description: "Set at the venue before anything is ordered (execution.adjustments); absent: as it is there.",
    }),
    marginMode: optionalField(words(["cross", "isolated"]), { description: "As leverage." }),
    takeProfit: optionalField(positiveDecimal(), {
      description: "Trigger price of a reduce-only order for what fills.",
    }),
    stopLoss: optionalField(positiveDecimal(), { description: "Trigger price of a reduce-only order for what fills." }),
    closeOnProtectionFailure: optionalField(Type.Boolean(), {
      default: false,
      description: "Close again at once where takeProfit or stopLoss is refused by the venue.",
    }),
    expectedHoldHours: optionalField(Type.Number({ minimum: 0, maximum: HOLD_HOURS_MAX }), {
      description: "Funding over this time counts in the choice of the venue; absent: it does not.",
    }),
    allowNetting: optionalField(Type.Boolean(), {
      default: false,
      description: "May the order reduce a position in the other direction? Otherwise the venue is OPPOSITE_POSITION.",
    }),
    ...tradeFields,
    ...openingFlag,
  },
  { $id: "OpenRequest" },
);
export type OpenRequestBody = Static<typeof openRequestSchema>;

/** Mode BEST_ENTRY; `execution.protection` and its orders are always there. */
export const openReplySchema = { ...closeReplySchema, $id: "OpenReply" };
