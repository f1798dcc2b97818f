/** The venue's own words, exact where a live reply or its documentation records them; the others are marked. */

export const TEXT_BAD_JSON = "Failed to parse the request body as JSON";
export const TEXT_BAD_SHAPE = "Failed to deserialize the JSON body into the target type";
export const TEXT_BAD_CONTENT_TYPE = "Expected request with `Content-Type: application/json`";

/** Refusals of a whole action: `{"status":"err","response":text}`. */
export const REFUSED = {
  unrecoverable: "Unable to recover signer.",
  unknownSigner: (address: string) => `User or API Wallet ${address} does not exist.`,
  mustDeposit: (address: string) => `Must deposit before performing actions. User: ${address}`,
  vaultUnknown: (address: string) => `Vault not registered: ${address}`,
  nonceDuplicate: (nonce: number) => `Invalid nonce: duplicate nonce ${nonce}`,
  nonceTooLow: (nonce: number, min: number) => `Invalid nonce: nonce too low ${nonce} < ${min}`,
  nonceTooHigh: (nonce: number, max: number) => `Invalid nonce: nonce too high ${nonce} > ${max}`,
  expired: "Action already expired",
  overWeight: "Signed action over weight limit of 200.",
  addressBudget: (used: number, cap: number, volume: string) =>
    `Too many cumulative requests sent (${used} > ${cap}) for cumulative volume traded $${volume}. Place taker orders to free up 1 request per USDC traded.`,
  modifyGone: "Cannot modify canceled or filled order",
  leverageTypeSwitch: "Cannot switch leverage type with open position.",
  notIsolated: "Position does not use isolated margin.",
  scheduleVolume: (required: string, traded: string) =>
    `Cannot set scheduled cancel time until enough volume traded. Required: $${required}. Traded: $${traded}.`,
  agentExpired: "Agent valid_until already expired.",
  agentUsed: "Extra agent already used.",
  agentRemovalPending: "User has pending agent removal",
  agentTooMany: (limit: number) => `Too many extra agents for cumulative volume traded. Current limit is ${limit}`,
  agentThirdParty: "Agent can only send asset to same user or their sub-accounts.",
  unifiedActive: "Action disabled when unified account is active",
  withdrawBalance: "Insufficient balance for withdrawal.",
  transferBalance: "Insufficient balance for token transfer",
  invalidSend: "Invalid send",
  unknownToken: (token: string) => `Unknown token ${token}`,
  invalidDex: "Invalid perp DEX",
  invalidDecimal: "Invalid decimal number",
  sendZero: "Send amount cannot be zero",
  invalidDecimals: "Invalid number of decimals",
  // Recorded nowhere; worded after the venue's other texts.
  leverageInvalid: "Invalid leverage value.",
  innerNonce: "Invalid nonce: action nonce does not match request nonce",
  scheduleTooEarly: "Scheduled cancel time must be at least 5 seconds in the future.",
  scheduleTooMany: "Too many scheduled cancels triggered today.",
  agentName: "Invalid agent name.",
  isolatedMarginAmount: "Insufficient margin to adjust isolated margin.",
  subAccountUnknown: (address: string) => `Sub-account not found: ${address}`,
  subAccountTooMany: "Too many sub-accounts.",
  builderFeeInvalid: "Invalid builder fee rate.",
  abstractionInvalid: "Invalid abstraction.",
} as const;

/** Refusals of one order or cancel; `perItem` adds the live suffix. */
export const ITEM = {
  tick: "Price must be divisible by tick size.",
  minimumValue: "Order must have minimum value of $10.",
  margin: "Insufficient margin to place order.",
  reduceOnly: "Reduce only order would increase position.",
  postOnly: (bid: string, ask: string) => `Post only order would have immediately matched, bbo was ${bid}@${ask}.`,
  noMatch: "Order could not immediately match against any resting orders.",
  triggerPrice: "Invalid TP/SL price.",
  band: "Order price cannot be more than 80% away from the reference price",
  invalidPrice: "Order has invalid price.",
  zeroSize: "Order has zero size.",
  notOpen: "Order was never placed, already canceled, or filled.",
  builderUnapproved: "Builder fee has not been approved",
  openInterest: "Order would increase open interest while open interest is capped",
  // Recorded nowhere; worded after the venue's other texts.
  tpslReduceOnly: "TP/SL orders must be reduce only.",
  modifyType: "Modified order must be post-only or resting.",
  duplicateCloid: "Order with this cloid is already open.",
  tooManyOrders: "Too many open orders.",
  unknownAsset: "Order has unknown asset.",
  delisted: "Trading is halted.",
} as const;

/** Texts that carry no ` asset=n`. */
export const BARE = {
  invalidSize: "Order has invalid size.",
  ordersEmpty: "Orders are empty.",
  spotBalance: (asset: number) => `Insufficient spot balance asset=${asset}`,
} as const;

/** The suffix that live per-order texts end with. */
export function perItem(text: string, asset: number): string {
  return `${text} asset=${asset}`;
}

export const SOCKET = {
  alreadySubscribed: (json: string) => `Already subscribed: ${json}`,
  alreadyUnsubscribed: (json: string) => `Already unsubscribed: ${json}`,
  invalidSubscription: (json: string) => `Invalid subscription ${json}`,
  unparsable: (frame: string) => `Error parsing JSON into valid websocket request: ${frame}`,
  tooManyPosts: (id: number) => `too many pending post requests id=${id}`,
  tooManyUsers: "Cannot track more than 15 total users.",
  // Recorded nowhere; the limits themselves are documented.
  tooManySubscriptions: "Cannot subscribe to more than 1000 channels.",
  tooManyMessages: "Cannot send more than 2000 messages per minute.",
} as const;
