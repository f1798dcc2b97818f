/** Money of server wallets (interface spec 4.3 to 4.5): what a caller asks for and is told. */
import { type Static, Type } from "@sinclair/typebox";
import { walletIdText } from "./account-common.js";
import { decimal, nullable, optionalField, positiveDecimal, reply, timeMs, words } from "./common.js";
import { ROUTABLE_VENUE_WORDS } from "./common.js";
import { NATIVE_VENUE, WALLET_VENUE } from "./venues.js";
import { walletNameText } from "./wallets.js";

const HASH = "^0x[0-9a-f]{64}$";
const UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

const dryRun = optionalField(Type.Boolean(), {
  description: "true: every check is made and told; nothing is signed, sent or kept.",
});
const broker = optionalField(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), { default: 1000 });
const assetText = Type.String({
  minLength: 1,
  maxLength: 24,
  pattern: "^[A-Za-z0-9]+$",
  "x-kind": "asset",
  examples: ["USDT"],
});
const addressText = Type.String({
  pattern: "^0x[0-9a-fA-F]{40}$",
  maxLength: 42,
  "x-kind": "address",
  examples: ["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"],
});
const chainId = Type.Integer({ minimum: 1, examples: [56] });

/** Spellings of each chain that deposits take. */
export const NETWORKS: Readonly<Record<1 | 56 | 42161, readonly string[]>> = {
  1: ["network_eth", "1", "ethereum"],
  56: ["network_56", "56", "bsc"],
  42161: ["network_42161", "42161", "arbitrum"],
};

/** Of a chain without a name of its own: by its id, in the same form. */
export function networkOf(id: number): string {
  return id === 1 || id === 56 || id === 42161 ? (NETWORKS[id][0] ?? "") : `network_${id}`;
}

/** Null for a text that names none. */
export function chainOfNetwork(network: string): number | null {
  const found = Object.entries(NETWORKS).find(([, names]) => names.includes(network));
  return found === undefined ? null : Number(found[0]);
}

export const depositRequestSchema = Type.Object(
  {
    walletIdOrAddress: walletNameText,
    tokenSymbol: assetText,
    amount: positiveDecimal({ description: "In token units.", examples: ["25.5"] }),
    network: words(Object.values(NETWORKS).flat(), { description: `${WALLET_VENUE}: that of chain 42161 alone.` }),
    broker,
    dryRun,
  },
  { $id: "DepositRequest" },
);

const MOVES_ON = "It is followed until it is known; `GET /api/transfers/{transferId}` shows it.";
const transferId = nullable(Type.String({ pattern: UUID }), { description: "Null in a dry run." });
const txUrl = Type.String({ description: "Of the explorer that is configured for the chain; empty without one." });

const gasCheck = reply({
  needed: decimal("The most that its transactions and those under way may cost, in whole coins of the chain."),
  available: decimal(),
});

export const depositReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      txHash: nullable(Type.String({ pattern: HASH }), {
        description: "Of the deposit; null while a transaction before it (an approval) is not mined, and in a dry run.",
      }),
      txUrl,
      amount: decimal("In token units."),
      token: Type.String(),
      network: Type.String({ description: "As the request named it." }),
      decimals: Type.Integer({ minimum: 0 }),
      blockNumber: nullable(Type.Integer({ minimum: 0 }), { description: "Null: no block had it in time." }),
      transferId,
      status: words(["broadcast", "confirmed", "UNKNOWN", "DRY_RUN"], {
        description: `broadcast: the chain has it, or its approval. UNKNOWN: it may have been sent. ${MOVES_ON}`,
      }),
      check: Type.Optional(
        reply(
          {
            minimum: decimal(),
            available: decimal("Of the token, less what deposits under way will take."),
            gas: gasCheck,
            steps: Type.Array(words(["reset", "approve", "deposit"]), { description: "Transactions, in order." }),
          },
          { description: "Of a dry run." },
        ),
      ),
    }),
    timestamp: timeMs,
  },
  { $id: "DepositReply" },
);
export type DepositData = Static<typeof depositReplySchema>["data"];

const TRAN_ID_CHARS_MAX = 64;
const kindType = words(["SPOT_FUTURE", "FUTURE_SPOT"], { description: "SPOT_FUTURE: from spot to perp." });

/** One of `walletId` and `address` is required; the route checks that. */
export const internalTransferRequestSchema = Type.Object(
  {
    walletId: optionalField(walletIdText),
    address: optionalField(addressText),
    amount: positiveDecimal({ description: "In token units.", examples: ["100.5"] }),
    asset: assetText,
    clientTranId: optionalField(
      Type.String({
        minLength: 1,
        maxLength: TRAN_ID_CHARS_MAX,
        pattern: "^[A-Za-z0-9_.:-]+$",
        "x-kind": "orderId",
      }),
      {
        description:
          "The same transfer again under its name is the same one; another under it is 409. Without it the service makes one up.",
      },
    ),
    kindType,
    dryRun,
  },
  { $id: "InternalTransferRequest" },
);

export const internalTransferReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      tranId: Type.String({ description: "The venue's; clientTranId while it is not known." }),
      status: words(["SUCCESS", "UNKNOWN", "DRY_RUN"], {
        description: `UNKNOWN: the venue has not said. ${MOVES_ON}`,
      }),
      asset: Type.String(),
      amount: decimal(),
      kindType,
      clientTranId: Type.String(),
      timestamp: timeMs,
      transferId,
      check: Type.Optional(
        reply({ available: decimal("Of the account that pays.") }, { description: "Of a dry run." }),
      ),
    }),
    timestamp: timeMs,
  },
  { $id: "InternalTransferReply" },
);
export type InternalTransferData = Static<typeof internalTransferReplySchema>["data"];

export const nativeWithdrawRequestSchema = Type.Object(
  {
    walletAddress: addressText,
    chainId,
    asset: assetText,
    amount: Type.String({
      pattern: "^[1-9][0-9]*$",
      maxLength: 40,
      "x-kind": "rawUnits",
      description: "In the token's smallest unit.",
      examples: ["25000000000000000000"],
    }),
    broker,
    receiver: addressText,
    accountType: words(["spot", "perp"], { description: "Which account of the venue pays." }),
    dryRun,
  },
  { $id: "NativeWithdrawRequest" },
);

export const walletWithdrawRequestSchema = Type.Object(
  {
    walletIdOrAddress: walletNameText,
    destination: addressText,
    amount: positiveDecimal({ description: "In token units.", examples: ["25.5"] }),
    feeBuffer: optionalField(
      Type.String({
        pattern: "^(0|[1-9][0-9]{0,2})(\\.[0-9]{1,18})?$",
        maxLength: 22,
        "x-kind": "decimal",
        examples: ["1.1"],
      }),
      { default: "0", description: "The balance must hold so many times the amount; 0: the amount." },
    ),
    chainId,
    dryRun,
  },
  { $id: "WalletWithdrawRequest" },
);

const withdrawal = {
  withdrawalId: Type.String({ description: "The venue's; transferId while it is not known. Empty in a dry run." }),
  status: words(["submitted", "accepted", "pending", "completed", "UNKNOWN", "DRY_RUN"], {
    description: `submitted (${NATIVE_VENUE}), accepted (${WALLET_VENUE}): the venue has it. UNKNOWN: it may have it. ${MOVES_ON}`,
  }),
  network: Type.String({ examples: ["network_56"] }),
};

/** The two forms of interface spec 4.5 in one. */
export const withdrawReplySchema = reply(
  {
    success: Type.Literal(true),
    ...withdrawal,
    data: reply({
      ...withdrawal,
      timestamp: timeMs,
      transferId,
      amount: decimal("In token units."),
      asset: Type.String(),
      chainId,
      receiver: Type.String(),
      fee: decimal("What the venue keeps, in token units."),
      feeIsInside: Type.Boolean({ description: "The fee is a part of the amount, not on top of it." }),
      check: Type.Optional(reply({ minimum: decimal(), available: decimal() }, { description: "Of a dry run." })),
    }),
    timestamp: timeMs,
  },
  { $id: "WithdrawReply" },
);
export type WithdrawData = Static<typeof withdrawReplySchema>["data"];

export const transferIdText = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "`transferId` of a reply.",
  examples: ["7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f"],
});

const step = reply({
  name: words(["reset", "approve", "deposit"]),
  txHash: nullable(Type.String({ pattern: HASH }), { description: "Of the version that was mined, or of the newest." }),
  txUrl,
  nonce: Type.Integer({ minimum: 0 }),
  versions: Type.Integer({ minimum: 1, description: "Signed with the same nonce, each dearer than the one before." }),
  blockNumber: nullable(Type.Integer({ minimum: 0 })),
  confirmations: Type.Integer({ minimum: 0 }),
  isFinal: Type.Boolean(),
  succeeded: nullable(Type.Boolean()),
  gasCost: nullable(decimal(), { description: "In whole coins of the chain." }),
});

/** All kinds in one form: what a kind does not have is null. */
export const transferSchema = reply({
  transferId: Type.String({ pattern: UUID }),
  kind: words(["deposit", "withdrawal", "internal"], { description: "internal: between accounts of a venue." }),
  exchange: words(ROUTABLE_VENUE_WORDS),
  walletId: Type.String({ pattern: UUID }),
  address: Type.String(),
  state: words(["created", "signed", "broadcast", "confirmed", "failed", "unknown"], {
    description: "docs/transfers.md. confirmed and failed are for good; unknown is not failed.",
  }),
  reason: nullable(Type.String({ pattern: "^[A-Z][A-Z0-9_]+$" })),
  reasonText: Type.String({ description: "Of a chain or a venue; empty without one." }),
  createdAt: timeMs,
  updatedAt: timeMs,
  asset: Type.String(),
  amount: decimal("In token units."),
  venueId: nullable(Type.String(), { description: "The venue's own id of it." }),
  chainId: nullable(Type.Integer({ minimum: 1 })),
  network: nullable(Type.String()),
  txHash: nullable(Type.String(), { description: "Of a deposit, or of the payout where the venue says it." }),
  txUrl,
  steps: Type.Array(step, { description: "Transactions of a deposit." }),
  isCreditAwaited: Type.Boolean({ description: "A deposit is final on its chain, and the venue does not show it." }),
  receiver: nullable(Type.String()),
  accountType: nullable(words(["spot", "perp"])),
  fee: nullable(decimal(), { description: "Of a withdrawal, in token units." }),
  payout: nullable(words(["pending", "completed", "failed"]), { description: "What the venue has of a withdrawal." }),
  paid: nullable(decimal(), { description: "What it paid, in token units, where it says." }),
  kindType: nullable(kindType),
  clientTranId: nullable(Type.String()),
});
export type TransferView = Static<typeof transferSchema>;

export const transferReplySchema = reply(
  { success: Type.Literal(true), data: transferSchema, timestamp: timeMs },
  { $id: "TransferReply" },
);

export const TRANSFERS_LIMIT = { min: 1, max: 1000, default: 100 } as const;

export const transfersQuerySchema = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: TRANSFERS_LIMIT.min, maximum: TRANSFERS_LIMIT.max, default: TRANSFERS_LIMIT.default }),
  ),
  cursor: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9_-]{8,128}$",
      "x-kind": "cursor",
      description: "`nextCursor` of the page before.",
    }),
  ),
});

export const transfersReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      transfers: Type.Array(transferSchema, { description: "Newest first." }),
      nextCursor: nullable(Type.String(), { description: "Null: this is the last page." }),
    }),
    timestamp: timeMs,
  },
  { $id: "TransfersReply" },
);

const partError = Type.Optional(
  reply(
    { code: Type.String({ pattern: "^[A-Z][A-Z0-9_]+$" }), message: Type.String() },
    { description: "This part is not known now, which is not the same as nothing." },
  ),
);

export const walletBalancesReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      walletId: Type.String({ pattern: UUID }),
      address: Type.String(),
      chains: Type.Array(
        reply({
          chainId,
          network: Type.String(),
          native: nullable(decimal(), { description: "In whole coins. Null beside `error`." }),
          tokens: Type.Array(reply({ symbol: Type.String(), address: Type.String(), amount: decimal() }), {
            description: "Those that a venue takes there.",
          }),
          error: partError,
        }),
        { description: "Those that are configured." },
      ),
      venues: Type.Array(
        reply({
          exchange: words(ROUTABLE_VENUE_WORDS),
          balances: Type.Array(
            reply({ accountType: words(["spot", "perp"]), asset: Type.String(), free: decimal("In token units.") }),
          ),
          error: partError,
        }),
      ),
    }),
    timestamp: timeMs,
  },
  { $id: "WalletBalancesReply" },
);
export type WalletBalancesData = Static<typeof walletBalancesReplySchema>["data"];
