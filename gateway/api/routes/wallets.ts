/**
 * Server wallets (interface spec 4.1): create, list, look up, sign. Checks go: body and names, then the wallet and its
 * owner, then its state. Another owner's wallet is answered as one that nobody has.
 */
import type { Wallet } from "../../../engine/custody/provider/wallet-provider.js";
import type { KeyView } from "../../../engine/custody/registration/key-views.js";
import { ServiceError } from "../../../engine/domain/errors.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import { compileValidator } from "../../../schemas/validate.js";
import {
  walletCreateRequestSchema,
  walletListQuerySchema,
  walletListReplySchema,
  walletReplySchema,
  WALLETS_LIMIT,
  walletSignReplySchema,
  walletSignRequestSchema,
} from "../../../schemas/wallets.js";
import type { WalletCall, WalletDesk } from "../../accounts/wallet-desk.js";
import { userIdProblem, walletNameProblem } from "../../accounts/wallet-names.js";
import { type Ask, checkedBody, checkedQuery, jsonRoute, replyText } from "../../http/json-route.js";
import { invalidParameters } from "../../http/query.js";
import type { Route } from "../../http/route.js";
import { readSigningRequest } from "../sign-request.js";
import { walletRow } from "../wallet-view.js";
import type { RouteContext } from "./context.js";

interface WalletContext extends RouteContext {
  readonly walletDesk: WalletDesk;
}

/** None without a wallet provider: their paths are then unknown ones. */
export function walletRoutes(context: RouteContext): Route[] {
  const { walletDesk } = context;
  if (walletDesk === undefined) return [];
  const withDesk = { ...context, walletDesk };
  return [createRoute(withDesk), listRoute(withDesk), lookupRoute(withDesk), signRoute(withDesk)];
}

function createRoute(context: WalletContext): Route {
  const { edge, clock, walletDesk } = context;
  const validate = compileValidator(walletCreateRequestSchema);
  const serialise = compileSerialiser(walletReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.walletCreate,
    headers: [],
    sends: true,
    async answer(ask) {
      const { userId } = checkedBody(validate, ask.body);
      const problem = userIdProblem(userId);
      if (problem !== null) throw invalidParameters({ path: "userId", problem });
      const { value, replayed } = await walletDesk.create(userId, callOf(ask));
      const reply = { success: true as const, ...walletRow(value, keysOf(context, value)), timestamp: clock.wallMs() };
      return { text: replyText(edge, serialise, reply), replayed };
    },
  });
}

function listRoute(context: WalletContext): Route {
  const { clock, walletDesk } = context;
  const validate = compileValidator(walletListQuerySchema);
  const serialise = compileSerialiser(walletListReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.walletList,
    headers: [],
    sends: false,
    async answer(ask) {
      const { limit = WALLETS_LIMIT.default, cursor = null } = checkedQuery(validate, ask.query, ["limit"]);
      const { wallets, next } = walletDesk.list(ask.caller.ownerId, cursor, limit);
      const data = { wallets: wallets.map((wallet) => walletRow(wallet, keysOf(context, wallet))), nextCursor: next };
      return { text: serialise({ success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

function lookupRoute(context: WalletContext): Route {
  const { clock, walletDesk } = context;
  const serialise = compileSerialiser(walletReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.wallet,
    headers: [],
    sends: false,
    async answer(ask) {
      const wallet = walletOf(walletDesk, ask, checkedName(ask));
      return {
        text: serialise({ success: true, ...walletRow(wallet, keysOf(context, wallet)), timestamp: clock.wallMs() }),
      };
    },
  });
}

function signRoute(context: WalletContext): Route {
  const { edge, clock, walletDesk } = context;
  const validate = compileValidator(walletSignRequestSchema);
  const serialise = compileSerialiser(walletSignReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.walletSign,
    headers: [],
    sends: true,
    async answer(ask) {
      const name = checkedName(ask);
      const request = readSigningRequest(checkedBody(validate, ask.body), ask.rawBody);
      const wallet = walletOf(walletDesk, ask, name);
      const { value, replayed } = await walletDesk.sign(wallet, request, callOf(ask));
      const data = { ...value, address: wallet.address, kind: request.kind };
      return { text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }), replayed };
    },
  });
}

function checkedName({ params }: Ask): string {
  return checkedWalletName(params["walletIdOrAddress"] ?? "");
}

/** Throws INVALID_PARAMETERS for a text that no wallet can have for a name. */
export function checkedWalletName(name: string): string {
  const problem = walletNameProblem(name);
  if (problem !== null) throw invalidParameters({ path: "walletIdOrAddress", problem });
  return name;
}

function keysOf({ keyDesk }: RouteContext, { walletId }: Wallet): readonly KeyView[] {
  return keyDesk?.list(walletId) ?? [];
}

/** Throws WALLET_NOT_FOUND. */
export function walletOf(desk: WalletDesk, { caller }: Ask, name: string): Wallet {
  const wallet = desk.find(name, caller.ownerId);
  if (wallet === null) throw new ServiceError("WALLET_NOT_FOUND");
  return wallet;
}

export function callOf({ caller, requestId, idempotencyKey, boundBytes }: Ask): WalletCall {
  return { ownerId: caller.ownerId, keyId: caller.keyId, requestId, idempotencyKey, boundBytes };
}
