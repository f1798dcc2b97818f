/** What became of the money of server wallets, and what they have. Another owner's is answered as one that nobody has. */
import { ServiceError } from "../../../engine/domain/errors.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { isPlace } from "../../../engine/transfers/transfer-book.js";
import type { VenueMoney } from "../../../engine/venue-money.js";
import { OPERATIONS } from "../../../schemas/operations.js";
import { compileSerialiser } from "../../../schemas/serialise.js";
import {
  TRANSFERS_LIMIT,
  transferReplySchema,
  transfersQuerySchema,
  transfersReplySchema,
  walletBalancesReplySchema,
} from "../../../schemas/transfers.js";
import { compileValidator } from "../../../schemas/validate.js";
import { isWalletId } from "../../accounts/names.js";
import type { TransferDeskPort } from "../../accounts/transfer-desk.js";
import { transferView } from "../../accounts/transfer-views.js";
import type { WalletDesk } from "../../accounts/wallet-desk.js";
import { type Ask, checkedQuery, jsonRoute } from "../../http/json-route.js";
import { invalidParameters } from "../../http/query.js";
import type { Route } from "../../http/route.js";
import type { RouteContext } from "./context.js";
import { checkedWalletName, walletOf } from "./wallets.js";

export interface MoneyContext extends RouteContext {
  readonly walletDesk: WalletDesk;
  readonly transferDesk: TransferDeskPort;
  readonly rails: ReadonlyMap<RoutableVenue, VenueMoney>;
}

/** Null without wallets. */
export function moneyContext(context: RouteContext): MoneyContext | null {
  const { walletDesk, transferDesk, rails } = context;
  if (walletDesk === undefined || transferDesk === undefined || rails === undefined) return null;
  return { ...context, walletDesk, transferDesk, rails };
}

/** None without wallets: their paths are then unknown ones. */
export function transferReadRoutes(context: RouteContext): Route[] {
  const withDesks = moneyContext(context);
  return withDesks === null ? [] : [transferRoute(withDesks), listRoute(withDesks), balancesRoute(withDesks)];
}

function transferRoute(context: MoneyContext): Route {
  const { clock, transferDesk, walletDesk } = context;
  const serialise = compileSerialiser(transferReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.transfer,
    headers: [],
    sends: false,
    async answer({ params, caller }) {
      const transferId = (params["transferId"] ?? "").toLowerCase();
      const row = isWalletId(transferId) ? await transferDesk.find(transferId) : null;
      if (row === null || walletDesk.find(row.walletId, caller.ownerId) === null)
        throw new ServiceError("TRANSFER_NOT_FOUND");
      const data = transferView(row, transferDesk.explorers);
      return { text: serialise({ success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

function listRoute(context: MoneyContext): Route {
  const { clock, transferDesk } = context;
  const validate = compileValidator(transfersQuerySchema);
  const serialise = compileSerialiser(transfersReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.walletTransfers,
    headers: [],
    sends: false,
    async answer(ask) {
      const { limit = TRANSFERS_LIMIT.default, cursor } = checkedQuery(validate, ask.query, ["limit"]);
      const { walletId } = namedWallet(context, ask);
      const { rows, next } = await transferDesk.list(walletId, cursor === undefined ? null : placeOf(cursor), limit);
      const transfers = rows.map((row) => transferView(row, transferDesk.explorers));
      const data = { transfers, nextCursor: next === null ? null : cursorOf(next) };
      return { text: serialise({ success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

function balancesRoute(context: MoneyContext): Route {
  const { clock, transferDesk } = context;
  const serialise = compileSerialiser(walletBalancesReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.walletBalances,
    headers: [],
    sends: false,
    async answer(ask) {
      const data = await transferDesk.readBalances(namedWallet(context, ask));
      return { text: serialise({ success: true, data, timestamp: clock.wallMs() }) };
    },
  });
}

/** Opaque to callers. It needs no signature: it is looked for among the rows of the wallet alone. */
function cursorOf(place: string): string {
  return Buffer.from(place, "latin1").toString("base64url");
}

/** Throws INVALID_PARAMETERS. */
function placeOf(cursor: string): string {
  const place = Buffer.from(cursor, "base64url").toString("latin1");
  if (!isPlace(place)) throw invalidParameters({ path: "cursor", problem: "is not the nextCursor of a page" });
  return place;
}

function namedWallet({ walletDesk }: MoneyContext, ask: Ask) {
  return walletOf(walletDesk, ask, checkedWalletName(ask.params["walletIdOrAddress"] ?? ""));
}
