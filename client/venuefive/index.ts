/** Trading at venuefive from a user's wallet, without a framework: the entry of the package. */
// biome-ignore lint/performance/noBarrelFile: a package has one entry, and its types have their own files.
export { createVenuefiveTrading } from "./trading.js";
export type {
  ClosePositionParameters,
  LimitOrderParameters,
  OpenPositionResult,
  UpdateLimitOrderParameters,
  UpdateMarginParameters,
  UpdateTpAndSlParameters,
  VenuefiveTrading,
} from "./trading.js";
export type { MarginKind, PriceUpdate, VenuefiveAddresses } from "./contract-calls.js";
export type { OpenPositionParameters, VenuefiveDirection, VenuefivePairs } from "./open-order.js";
export type { TradingClock, VenuefiveTimeouts, VenuefiveTradingOptions, WaitFor } from "./options.js";
export type { OnStep, VenuefiveOperation, VenuefiveStep, VenuefiveStepEvent } from "./steps.js";
export { VenuefiveTradeError } from "./trade-error.js";
export type { VenuefiveErrorCode, VenuefiveOutcome, VenuefiveStage } from "./trade-error.js";
export type { OperationOptions } from "./transact.js";
