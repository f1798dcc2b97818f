/**
 * Money of server wallets (interface spec 4.3 to 4.5): deposit, transfer within a venue, withdraw. Checks go: what is
 * missing, then the exchange, then the wallet and its owner, then the funds.
 */
import { divideBig, formatScaledBig, parseScaledBig, pow10Big } from "../../../engine/domain/decimal.js";
import type { Wallet } from "../../../engine/custody/provider/wallet-provider.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { Token, VenueMoney } from "../../../engine/venue-money.js";
import { MAX_DECIMAL_PLACES } from "../../../schemas/common.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import {
  chainOfNetwork,
  depositReplySchema,
  depositRequestSchema,
  internalTransferReplySchema,
  internalTransferRequestSchema,
  nativeWithdrawRequestSchema,
  networkOf,
  walletWithdrawRequestSchema,
  withdrawReplySchema,
} from "../../../schemas/transfers.js";
import { compileValidator } from "../../../schemas/validate.js";
import { NATIVE_VENUE, WALLET_VENUE } from "../../../schemas/venues.js";
import { requireSameWallet, WALLET_HEADER, walletIdHeader } from "../../accounts/account-access.js";
import { isWalletId } from "../../accounts/names.js";
import type { MoneyAnswer, WithdrawalOrder } from "../../accounts/transfer-desk.js";
import { type Answer, type Ask, checkedBody, jsonRoute, replyText } from "../../http/json-route.js";
import { invalidParameters } from "../../http/query.js";
import type { Route } from "../../http/route.js";
import type { RouteContext } from "./context.js";
import { type MoneyContext, moneyContext } from "./transfer-reads.js";
import { callOf, checkedWalletName, walletOf } from "./wallets.js";

/** Interface spec section 8. */
const DEFAULT_BROKER = 1000;
const BUFFER_DECIMALS = 18;

/** None without wallets: their paths are then unknown ones. */
export function transferRoutes(context: RouteContext): Route[] {
  const withDesks = moneyContext(context);
  if (withDesks === null) return [];
  return [
    depositRoute(withDesks),
    internalRoute(withDesks),
    nativeWithdrawRoute(withDesks),
    walletWithdrawRoute(withDesks),
  ];
}

function depositRoute(context: MoneyContext): Route {
  const { edge, clock, transferDesk } = context;
  const validate = compileValidator(depositRequestSchema);
  const serialise = compileSerialiser(depositReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.deposit,
    headers: [WALLET_HEADER],
    sends: true,
    async answer(ask) {
      const body = checkedBody(validate, ask.body);
      const { venue, rail } = railOf(context, ask.params["exchange"] ?? "");
      const wallet = walletOf(context.walletDesk, ask, checkedWalletName(body.walletIdOrAddress));
      requireSameWallet(wallet, ask.headers[WALLET_HEADER]);
      const token = depositToken(rail, venue, body);
      const order = {
        ...{ venue, chainId: token.chainId, network: body.network, symbol: token.symbol },
        amount: unitsOf("amount", body.amount, token),
        broker: venue === NATIVE_VENUE ? (body.broker ?? DEFAULT_BROKER) : null,
      };
      const call = callOf(ask);
      const answer = await dryOr(
        body.dryRun === true,
        () => transferDesk.tryDeposit(wallet, order, call),
        () => transferDesk.deposit(wallet, order, call),
      );
      const reply = { success: true as const, data: answer.data, timestamp: clock.wallMs() };
      return { text: replyText(edge, serialise, reply), replayed: answer.replayed };
    },
  });
}

function internalRoute(context: MoneyContext): Route {
  const { edge, clock, transferDesk } = context;
  const validate = compileValidator(internalTransferRequestSchema);
  const serialise = compileSerialiser(internalTransferReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${NATIVE_VENUE}Transfer`],
    headers: [WALLET_HEADER],
    sends: true,
    async answer(ask) {
      const body = checkedBody(validate, ask.body);
      railOf(context, NATIVE_VENUE);
      const wallet = walletOfBody(context, ask, body);
      requireSameWallet(wallet, ask.headers[WALLET_HEADER]);
      const order = {
        ...{ venue: NATIVE_VENUE, asset: body.asset.toUpperCase(), kindType: body.kindType },
        // As the ledger writes it: the same amount in other words is the same transfer.
        amount: plainOf(body.amount),
        clientTranId: body.clientTranId ?? null,
      };
      const call = callOf(ask);
      const answer = await dryOr(
        body.dryRun === true,
        () => transferDesk.tryMove(wallet, order, call),
        () => transferDesk.move(wallet, order, call),
      );
      const reply = { success: true as const, data: answer.data, timestamp: clock.wallMs() };
      return { text: replyText(edge, serialise, reply), replayed: answer.replayed };
    },
  });
}

function nativeWithdrawRoute(context: MoneyContext): Route {
  const validate = compileValidator(nativeWithdrawRequestSchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${NATIVE_VENUE}Withdraw`],
    headers: [WALLET_HEADER],
    sends: true,
    answer: withdrawing(context, (ask) => {
      const body = checkedBody(validate, ask.body);
      railOf(context, NATIVE_VENUE);
      const wallet = walletOf(context.walletDesk, ask, body.walletAddress);
      requireSameWallet(wallet, ask.headers[WALLET_HEADER]);
      const amount = BigInt(body.amount);
      const order = {
        ...{ venue: NATIVE_VENUE, chainId: body.chainId, network: networkOf(body.chainId) },
        ...{ symbol: body.asset.toUpperCase(), amount, amountToCheck: amount },
        ...{ receiver: body.receiver.toLowerCase(), accountType: body.accountType },
      };
      return { wallet, order, isDry: body.dryRun === true };
    }),
  });
}

function walletWithdrawRoute(context: MoneyContext): Route {
  const validate = compileValidator(walletWithdrawRequestSchema);
  return jsonRoute(context, {
    operation: OPERATIONS[`${WALLET_VENUE}Withdraw`],
    headers: [WALLET_HEADER],
    sends: true,
    answer: withdrawing(context, (ask) => {
      const walletId = walletIdHeader(ask);
      const body = checkedBody(validate, ask.body);
      const { rail } = railOf(context, WALLET_VENUE);
      const wallet = walletOf(context.walletDesk, ask, walletId);
      if (wallet.walletId !== walletId.toLowerCase()) throw new ServiceError("WALLET_NOT_FOUND");
      const named = context.walletDesk.find(checkedWalletName(body.walletIdOrAddress), ask.caller.ownerId);
      if (named?.walletId !== wallet.walletId) throw new ServiceError("INVALID_WALLET_ID");
      const token = rail.deposits.routes.find((route) => route.token.chainId === body.chainId)?.token;
      if (token === undefined)
        throw invalidParameters({ path: "chainId", problem: "is none that this venue pays out to" });
      const amount = unitsOf("amount", body.amount, token);
      const order = {
        ...{ venue: WALLET_VENUE, chainId: body.chainId, network: networkOf(body.chainId), symbol: token.symbol },
        ...{ amount, amountToCheck: buffered(amount, body.feeBuffer ?? "0") },
        ...{ receiver: body.destination.toLowerCase(), accountType: null },
      };
      return { wallet, order, isDry: body.dryRun === true };
    }),
  });
}

interface Withdrawing {
  readonly wallet: Wallet;
  readonly order: WithdrawalOrder;
  readonly isDry: boolean;
}

/** The two forms of interface spec 4.5 in one reply. */
function withdrawing(context: MoneyContext, read: (ask: Ask) => Withdrawing): (ask: Ask) => Promise<Answer> {
  const { edge, transferDesk } = context;
  const serialise = compileSerialiser(withdrawReplySchema);
  return async (ask) => {
    const { wallet, order, isDry } = read(ask);
    const call = callOf(ask);
    const { data, replayed } = await dryOr(
      isDry,
      () => transferDesk.tryWithdraw(wallet, order, call),
      () => transferDesk.withdraw(wallet, order, call),
    );
    const { withdrawalId, status, network, timestamp } = data;
    const reply = { success: true as const, withdrawalId, status, network, data, timestamp };
    return { text: replyText(edge, serialise, reply), replayed };
  };
}

/** What is checked alone has no earlier reply. */
async function dryOr<T>(
  isDry: boolean,
  check: () => Promise<T>,
  act: () => Promise<MoneyAnswer<T>>,
): Promise<MoneyAnswer<T>> {
  return isDry ? { data: await check(), replayed: false } : act();
}

/** Throws UNSUPPORTED_EXCHANGE: the interface moves money at these two alone. */
function railOf({ rails }: MoneyContext, exchange: string): { venue: RoutableVenue; rail: VenueMoney } {
  const venue = exchange === WALLET_VENUE || exchange === NATIVE_VENUE ? exchange : null;
  const rail = venue === null ? undefined : rails.get(venue);
  if (venue === null || rail === undefined)
    throw new ServiceError("UNSUPPORTED_EXCHANGE", { exchange, supported: [...rails.keys()] });
  return { venue, rail };
}

/** Throws INVALID_PARAMETERS where the venue does not take it over this network. */
function depositToken(
  { deposits }: VenueMoney,
  venue: RoutableVenue,
  { network, tokenSymbol }: { readonly network: string; readonly tokenSymbol: string },
): Token {
  const chainId = chainOfNetwork(network);
  const tokens = deposits.routes.map(({ token }) => token).filter((token) => token.chainId === chainId);
  if (tokens.length === 0) throw invalidParameters({ path: "network", problem: `is none that ${venue} takes` });
  const symbol = tokenSymbol.toUpperCase();
  const token = tokens.find((one) => one.symbol === symbol);
  if (token !== undefined) return token;
  const taken = tokens.map((one) => one.symbol).join(", ");
  throw invalidParameters({ path: "tokenSymbol", problem: `is not taken on this network, which takes ${taken}` });
}

/** Throws MISSING_PARAMETERS without a name, INVALID_PARAMETERS where two name two wallets, WALLET_NOT_FOUND. */
function walletOfBody(
  { walletDesk }: MoneyContext,
  ask: Ask,
  { walletId, address }: { readonly walletId?: string | null; readonly address?: string | null },
): Wallet {
  const names = [walletId, address].flatMap((name) => name ?? []);
  const [name, other] = names;
  if (name === undefined) {
    const fields = [{ path: "walletId", problem: "is required, or address" }];
    throw new ServiceError("MISSING_PARAMETERS", { fields });
  }
  if (typeof walletId === "string" && !isWalletId(walletId)) throw new ServiceError("WALLET_NOT_FOUND");
  const wallet = walletOf(walletDesk, ask, name);
  if (other !== undefined && other.toLowerCase() !== wallet.address.toLowerCase())
    throw invalidParameters({ path: "address", problem: "is not that of the wallet of walletId" });
  return wallet;
}

function plainOf(amount: string): string {
  return formatScaledBig(parseScaledBig(amount, MAX_DECIMAL_PLACES) ?? 0n, MAX_DECIMAL_PLACES);
}

/** The smallest unit. Throws INVALID_PARAMETERS for a finer amount. */
function unitsOf(path: string, amount: string, { decimals, symbol }: Token): bigint {
  const units = parseScaledBig(amount, decimals);
  if (units === null) throw invalidParameters({ path, problem: `must have at most ${decimals} decimals of ${symbol}` });
  return units;
}

/** Rounded up: it is compared with what is there. */
function buffered(amount: bigint, feeBuffer: string): bigint {
  const factor = parseScaledBig(feeBuffer, BUFFER_DECIMALS) ?? 0n;
  return divideBig(amount * factor, pow10Big(BUFFER_DECIMALS), "ceil");
}
